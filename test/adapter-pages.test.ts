import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'

const FOLDER = new URL('../docs/adapters/', import.meta.url)
/** Pages of the folder that are not about one SDK. */
const ABOUT_ALL = new Set(['index.md', 'compared.md', 'recorded.md', 'without-code.md'])
const PAGES = readdirSync(FOLDER).filter((page) => !ABOUT_ALL.has(page))

/** The sections of each page, in their order. A page may have more between them. */
const SECTIONS = ['What is a run', 'Asking a human', 'In a test', 'Spans of the SDK', 'What it cannot do']

/** A page without its code: what stands in a block is no heading. */
const withoutCode = (text: string) => text.replaceAll(/^```.*?^```$/gms, '```')

describe('the pages of adapters', () => {
  it('are there, one for each adapter that has none elsewhere', () => {
    expect(PAGES).toHaveLength(11)
  })

  it.each(PAGES)('%s shows a whole program before it says more', (page) => {
    const [beginning = ''] = readFileSync(new URL(page, FOLDER), 'utf8').split(/^## /m)
    expect(beginning).toMatch(/<!-- examples\/\S+\.ts -->\n```ts/)
    // What a reader meets before the program is a paragraph, not the small print.
    expect(beginning.split('<!-- examples/')[0]?.split('\n').length).toBeLessThan(10)
  })

  it.each(PAGES)('%s has the sections of every page, in their order', (page) => {
    const text = withoutCode(readFileSync(new URL(page, FOLDER), 'utf8'))
    const headings = [...text.matchAll(/^## (.*)$/gm)].map(([, heading = '']) => heading)
    expect(headings.filter((heading) => SECTIONS.includes(heading))).toEqual(SECTIONS)
  })
})
