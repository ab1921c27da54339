import { globSync, readFileSync } from 'node:fs'
import { dirname, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const src = fileURLToPath(new URL('../../src', import.meta.url))

function importsOf(folder: string): { file: string; target: string }[] {
  return globSync(`${src}/${folder}/**/*.ts`).flatMap((file) => {
    if (file.endsWith('.test.ts')) return []
    const text = readFileSync(file, 'utf8')
    const names = [
      ...text.matchAll(/^(?:import|export|\})[^'\n]*\bfrom '([^']+)'$|import\('([^']+)'\)/gm),
    ].map((match) => (match[1] ?? match[2])!)
    return names.map((name) => ({
      file: relative(src, file),
      target: name.startsWith('.') ? relative(src, resolve(dirname(file), name)) : name,
    }))
  })
}

it('the viewer imports Node, itself, the shared helpers, prices, and what answers and requests of approvals are, and nothing else', () => {
  const all = importsOf('viewer')
  expect(all.length).toBeGreaterThan(100)
  expect(
    all.filter(
      ({ target }) =>
        !/^(node:|viewer\/|internal\/|wire\/prices\.ts$|approval\/(store|read-answer|answer-origin)\.ts$)/.test(
          target,
        ),
    ),
  ).toEqual([])
})

it('what the page shares with the server needs no Node', () => {
  const shared = [
    ...importsOf('viewer/model'),
    ...importsOf('viewer/otlp').filter(({ file }) => /plain|log-event/.test(file)),
    ...importsOf('internal').filter(({ file }) => /(otlp\/types|internal\/append)\.ts$/.test(file)),
  ]
  expect(
    shared.filter(
      ({ target }) =>
        !/^(viewer\/(model|otlp\/(plain|log-event))|internal\/(otlp\/types|append)\.ts$)/.test(target),
    ),
  ).toEqual([])
})
