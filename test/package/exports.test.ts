import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { manifest, ROOT, SUBPATHS } from './support.ts'

interface Names {
  readonly values: readonly string[]
  readonly types: readonly string[]
}

/** The names that a subpath's declarations re-export: an index.ts does nothing else (test/architecture.test.ts). */
function namesOf(subpath: string): Names {
  const { types: file } = manifest.exports[subpath.replace(/^hookspan/, '.')]
  const values: string[] = []
  const types: string[] = []
  for (const [, kind, list = ''] of readFileSync(join(ROOT, file), 'utf8').matchAll(
    /export (type )?\{([^}]*)\}/g,
  )) {
    for (const item of list.split(',').map((text) => text.trim())) {
      if (item === '') continue
      const name = item.replace(/^type /, '').replace(/^.* as /, '')
      if (kind !== undefined || item.startsWith('type ')) types.push(name)
      else values.push(name)
    }
  }
  return { values: values.sort(), types: types.sort() }
}

const exported = new Map(SUBPATHS.map((subpath) => [subpath, namesOf(subpath)]))

it('exports the names on the list: a name that goes is a breaking change (`vitest -u` writes the list)', async () => {
  const lines = [...exported].flatMap(([subpath, { values, types }]) => [
    subpath,
    ...values.map((name) => `  ${name}`),
    ...types.map((name) => `  type ${name}`),
  ])

  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('exports.txt')
})

it.each(SUBPATHS)('%s has at run time what its declarations say', async (subpath) => {
  const { default: file } = manifest.exports[subpath.replace(/^hookspan/, '.')]

  expect(Object.keys(await import(join(ROOT, file))).sort()).toEqual(exported.get(subpath)?.values)
})
