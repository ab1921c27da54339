import { readFileSync } from 'node:fs'
import { HOOKSPAN } from 'hookspan/tracing'
import { expect, it } from 'vitest'

it('documents every attribute of our own', () => {
  const page = readFileSync(new URL('../../docs/attributes.md', import.meta.url), 'utf8')
  const listed = [...page.matchAll(/^\| `(hookspan\.[\w.]+)` +\|/gm)].map(([, name]) => name)
  expect(listed.sort()).toEqual(Object.values(HOOKSPAN).sort())
})
