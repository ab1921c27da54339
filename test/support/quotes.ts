import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { readReadme } from './readme.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** The README and every page of docs/, by their paths. */
export const PAGES = [
  'README.md',
  ...['docs', 'docs/adapters', 'docs/backends'].flatMap((folder) =>
    readdirSync(`${ROOT}/${folder}`).map((name) => `${folder}/${name}`),
  ),
].filter((path) => path.endsWith('.md'))

/** What they quote of examples/. */
export const quotes = PAGES.flatMap((page) =>
  readReadme(readFileSync(`${ROOT}/${page}`, 'utf8')).map((quote) => ({ page, ...quote })),
)

/** What a page says that an example prints. */
export function outputOf(name: string): string[] {
  const output = quotes.find(({ example }) => example === `examples/${name}`)?.output
  if (output === undefined) throw new Error(`No page says what ${name} prints.`)
  return output.split('\n')
}
