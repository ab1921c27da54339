import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const PAGES = [
  'README.md',
  ...readdirSync(`${ROOT}docs`, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.md') && !path.includes('node_modules'))
    .map((path) => `docs/${path}`),
]

/** Behind a sentence that promises something stands, in the page's source, which tests hold it. */
const NAMED = /<!--\s*((?:test|src)\/[^>]*?)\s*-->/g

const promises = PAGES.flatMap((page) =>
  [...readFileSync(`${ROOT}${page}`, 'utf8').matchAll(NAMED)].map(
    ([, tests = '']) => [page, tests.split(/\s*,\s*/)] as const,
  ),
)

describe('the tests that pages name behind their promises', () => {
  it('are many', () => {
    expect(promises.length).toBeGreaterThan(50)
  })

  it('are there, and are tests', () => {
    const missing = promises.flatMap(([page, tests]) =>
      tests.filter((test) => !isTest(test)).map((test) => `${page} names ${test}`),
    )
    expect(missing).toEqual([])
  })
})

/** A file of tests, or a folder that is a suite. */
function isTest(path: string): boolean {
  if (!existsSync(`${ROOT}${path}`)) return false
  if (/\.test(-d)?\.ts$/.test(path)) return true
  return !path.endsWith('.ts') && readdirSync(`${ROOT}${path}`).some((name) => name.endsWith('.test.ts'))
}
