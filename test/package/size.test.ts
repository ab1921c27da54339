import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { describe, expect, it } from 'vitest'
import { manifest, ROOT, SUBPATHS } from './support.ts'

/** Minified bytes of each subpath with all that it imports of ours. Raise one in the commit that needs it. */
const budget: Record<string, number> = JSON.parse(
  readFileSync(new URL('./bundle-budget.json', import.meta.url), 'utf8'),
)

async function bundledBytes(subpath: string): Promise<number> {
  const { default: file } = manifest.exports[subpath.replace(/^hookspan/, '.')]
  const { metafile } = await build({
    entryPoints: [join(ROOT, file)],
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    format: 'esm',
    platform: 'node',
    packages: 'external',
    outfile: 'bundle.js',
  })
  return metafile.outputs['bundle.js']?.bytes ?? Number.NaN
}

describe('the bundle', () => {
  it('has a budget for each subpath', () => {
    expect(Object.keys(budget).sort()).toEqual([...SUBPATHS].sort())
  })

  it.each(SUBPATHS)('of %s stays within its budget', async (subpath) => {
    expect(await bundledBytes(subpath)).toBeLessThanOrEqual(budget[subpath] ?? 0)
  })
})
