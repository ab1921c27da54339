/** The fenced blocks of the pages, and what is done with each. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { sections } from '../../docs/.vitepress/pages.ts'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))

export interface Block {
  /** `docs/start.md:12`. */
  readonly at: string
  readonly language: string
  readonly code: string
  /** What the comment straight above it says. */
  readonly note: string
  /** The block without a language that follows: what it prints. */
  readonly output: string | undefined
}

export const PAGES: readonly string[] = [
  'README.md',
  'skills/hookspan/SKILL.md',
  'docs/index.md',
  ...sections().flatMap(({ pages }) => pages.map(({ path }) => `docs/${path}.md`)),
]

const read = (page: string) => readFileSync(`${ROOT}${page}`, 'utf8')

const FENCE = /(?:^<!-- ([^\n]*?) -->\n+)?^```([\w-]*)[^\n]*\n([\s\S]*?)^```$/gm

function blocksOf(page: string): Block[] {
  const text = read(page)
  const found = [...text.matchAll(FENCE)]
  return found.map((match, index) => {
    const [whole, note = '', language = '', code = ''] = match
    const next = found[index + 1]
    const between = next === undefined ? 'x' : text.slice(match.index + whole.length, next.index)
    const output = between.trim() === '' && next?.[2] === '' ? next[3] : undefined
    const line = text.slice(0, match.index + whole.indexOf('```')).split('\n').length
    return { at: `${page}:${line}`, language, code, note, output }
  })
}

export const BLOCKS: readonly Block[] = PAGES.flatMap(blocksOf)

/** How a block is held; docs/snippets.md has a row for each. */
export type Kind = 'quoted' | 'run' | 'code' | 'command' | 'data' | 'output' | 'followed' | 'shown'

const CODE = ['ts', 'mts', 'js', 'mjs', 'tsx', 'jsx', 'typescript', 'javascript']
const DATA = ['yaml', 'yml', 'json', 'toml']

/** The rows of docs/snippets.md that let a block be: how its page and first line begin, and why. */
const SHOWN = [...read('docs/snippets.md').matchAll(/^\| `([^`|]+\.md)` \| `([^`|]+)` \| (.+) \|$/gm)].map(
  ([, page = '', begins = '']) => ({ page, begins }),
)

export function kindOf({ at, language, code, note }: Block): Kind {
  if (SHOWN.some(({ page, begins }) => at.startsWith(`${page}:`) && code.startsWith(begins))) return 'shown'
  if (/^(file|append|change): /.test(note)) return 'followed'
  if (/^examples\//.test(note)) return 'quoted'
  if (note === 'run') return 'run'
  if (CODE.includes(language)) return 'code'
  if (['sh', 'bash', 'shell', 'console'].includes(language)) return 'command'
  if (DATA.includes(language)) return 'data'
  if (['', 'text', 'txt'].includes(language)) return 'output'
  throw new Error(
    `${at}: nobody says how a block of ${language} is held. Add its kind to docs/snippets.md and test/docs/blocks.ts.`,
  )
}

/** The rows of exceptions that fit no block any more. */
export const STALE = SHOWN.filter(
  ({ page, begins }) => !BLOCKS.some(({ at, code }) => at.startsWith(`${page}:`) && code.startsWith(begins)),
)
