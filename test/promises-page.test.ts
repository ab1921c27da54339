import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const PAGE = readFileSync(`${ROOT}docs/promises.md`, 'utf8')

/** What the page has to speak of, and at least how often. */
const SUBJECTS = {
  'Spans and the spool': 23,
  'The exporter': 12,
  'Guards never vanish': 18,
  'What was shown is what runs': 13,
  'Humans, and runs that wait': 25,
  'Observers change nothing': 10,
  'Streams under a gate': 9,
  'The viewer under fire': 9,
  Values: 8,
  'Compaction and sub-agents': 8,
}

/** Pages whose promises are among these: behind their sentences stand the names of tests. */
const PROMISING = ['README.md', 'docs/tracing.md', 'docs/gates-and-approvals.md', 'docs/durable-runs.md']
/** What they name that is about something else than loss, guards, observers, approvals and what is shown. */
const OTHER_SUBJECTS = new Set([
  'test/conformance/conformance.test.ts',
  'test/conformance/recordings.test.ts',
  'test/sdks/bun.test.ts',
  'test/sdks/comparison.test.ts',
  'test/sdks/conformance.test.ts',
  'test/mock/sources.test.ts',
  'test/package/bundled.test.ts',
  'test/package/sdk-sizes.test.ts',
  'test/package/sdk-versions.test.ts',
  'test/tracing/span-tree.test.ts',
])

const sections = PAGE.split(/^## /m)
  .slice(1)
  .map((section) => {
    const [title = '', ...lines] = section.split('\n')
    const rows = lines.flatMap((line) => {
      const [, promise = '', tests = ''] = /^\| (?!promise|---)(.+?) \| (.+) \|$/.exec(line) ?? []
      return promise === '' ? [] : [{ promise, tests: tests.split(/; (?=`)/).map(readTest) }]
    })
    return { title, rows }
  })
const rows = sections.flatMap((section) => section.rows)

function readTest(text: string): { path: string; title: string | undefined } {
  const [, path, title] = /^`([^`]+\.test\.ts)`(?:: (.+))?$/.exec(text) ?? []
  if (path === undefined) throw new Error(`docs/promises.md names no test by «${text}».`)
  return { path, title }
}

const sources = new Map<string, string>()
function sourceOf(path: string): string {
  const source = sources.get(path) ?? readFileSync(`${ROOT}${path}`, 'utf8')
  sources.set(path, source)
  return source
}

/** Whether a file has a test, or a group of tests, of exactly this title. */
function hasTitle(path: string, title: string): boolean {
  const literal = title.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
  return new RegExp(`\\(\\s*(['"\`])${literal}\\1`).test(sourceOf(path))
}

describe('docs/promises.md', () => {
  it('speaks of each subject', () => {
    const counts = sections.map(({ title, rows: { length } }) => [title, length])
    expect(Object.fromEntries(counts)).toEqual(SUBJECTS)
  })

  it.each(rows)('names tests that are there: $promise', ({ tests }) => {
    const missing = tests.filter(
      ({ path, title }) => !existsSync(`${ROOT}${path}`) || (title !== undefined && !hasTitle(path, title)),
    )
    expect(missing).toEqual([])
  })

  it('has what stands behind the sentences of the other pages', () => {
    const named = new Set(rows.flatMap(({ tests }) => tests.map(({ path }) => path)))
    const behind = PROMISING.flatMap((page) => {
      const text = readFileSync(`${ROOT}${page}`, 'utf8')
      return [...text.matchAll(/(?:test|src)\/[\w./-]+\.test\.ts/g)].map(([path]) => path)
    })
    expect(behind.length).toBeGreaterThan(30)
    expect([...new Set(behind)].filter((path) => !named.has(path) && !OTHER_SUBJECTS.has(path))).toEqual([])
  })
})
