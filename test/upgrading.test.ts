import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { slugify } from '../docs/.vitepress/slug.ts'

const read = (path: string) => readFileSync(fileURLToPath(new URL(`../${path}`, import.meta.url)), 'utf8')

/** What is under each `### Breaking` of the changelog, an entry each, on one line. */
const breaking = read('CHANGELOG.md')
  .split(/^(?=##+ )/m)
  .filter((section) => section.startsWith('### Breaking'))
  .flatMap((section) => section.split(/^- /m).slice(1))
  .map((entry) => entry.replaceAll(/\s+/g, ' ').trim())

/** The notes for one version after another: by anchor, what is said. */
const notes = new Map(
  read('docs/upgrading.md')
    .split(/^(?=##+ )/m)
    .filter((section) => section.startsWith('### '))
    .map((section) => {
      const [heading = '', ...lines] = section.split('\n')
      return [slugify(heading.slice('### '.length)), lines.join('\n')] as const
    }),
)

const noteOf = (entry: string) => / \[Upgrading\]\(docs\/upgrading\.md#([^)]+)\)$/.exec(entry)?.[1]

it.each(breaking)('has an upgrade note, which the changelog ends with: %s', (entry) => {
  expect([...notes.keys()]).toContain(noteOf(entry))
})

it('has no upgrade note of which the changelog does not speak', () => {
  expect(breaking.length).toBeGreaterThan(10)
  expect([...notes.keys()].sort()).toEqual([...new Set(breaking.map(noteOf))].sort())
})

describe('an upgrade note', () => {
  it.each([...notes])('%s says what was, what is, and what to change', (_anchor, text) => {
    expect([...text.matchAll(/^- \*\*(\w+):\*\* \S/gm)].map(([, part]) => part)).toEqual([
      'Before',
      'Now',
      'Change',
    ])
  })
})
