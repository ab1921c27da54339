import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import manifest from '../package.json' with { type: 'json' }

it('lists the range of each package that hookspan attaches to', () => {
  const page = readFileSync(new URL('../docs/supported-versions.md', import.meta.url), 'utf8')
  const rows = [...page.matchAll(/^\| `([^`]+)` \| `([^`]+)` \|$/gm)].map(([, name, range]) => [name, range])
  expect(Object.fromEntries(rows)).toEqual({ node: manifest.engines.node, ...manifest.peerDependencies })
})
