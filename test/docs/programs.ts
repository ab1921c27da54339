/** The programs of test/docs/programs: what each takes from its page, and the page's blocks put into it. */
import { execFile } from 'node:child_process'
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { BLOCKS, type Block } from './blocks.ts'

const FOLDER = fileURLToPath(new URL('programs', import.meta.url))
/** A line of its own, an expression, or a shell command as a text. */
const MARKER = /\b(snippet|command)\(("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')\)/g

export interface PageProgram {
  /** `backends/grafana-tempo.cloud`. */
  readonly name: string
  /** The blocks that it runs. */
  readonly blocks: readonly Block[]
  /** It with the blocks in it, as they stand on the page. */
  readonly source: string
}

/** The beginning that a marker says, which is a literal of JavaScript. */
const textOf = (literal: string): string =>
  JSON.parse(literal.startsWith("'") ? `"${literal.slice(1, -1).replaceAll('"', '\\"')}"` : literal)

function programOf(path: string): PageProgram {
  const name = path.replace(/\.mjs$/, '')
  const page = `docs/${name.replace(/\.[\w-]+$/, '')}.md`
  const file = join(FOLDER, path)
  const blocks: Block[] = []
  const filled = readFileSync(file, 'utf8').replaceAll(MARKER, (_, how: string, literal: string) => {
    const begins = textOf(literal)
    const found = BLOCKS.filter(({ at, code }) => at.startsWith(`${page}:`) && code.startsWith(begins))
    const [block] = found
    if (block === undefined || found.length > 1)
      throw new Error(
        `${path}: ${found.length} blocks of ${page} begin with ${literal}, and it has to be one.`,
      )
    blocks.push(block)
    const code = block.code.trim()
    return how === 'command' ? JSON.stringify(code) : code
  })
  // It is run elsewhere, so that hookspan is found as in a project.
  const source = filled.replaceAll(
    /(from |import )'(\.[^']+)'/g,
    (_, before: string, to: string) => `${before}'${new URL(to, pathToFileURL(file))}'`,
  )
  return { name, blocks, source: `import '${pathToFileURL(join(FOLDER, 'outside.mjs'))}'\n${source}` }
}

export const PROGRAMS: readonly PageProgram[] = globSync('**/*.mjs', { cwd: FOLDER })
  .map((path) => path.replaceAll('\\', '/'))
  .filter((path) => /\b(snippet|command)\(/.test(readFileSync(join(FOLDER, path), 'utf8')))
  .sort()
  .map(programOf)

/** Runs a program in an empty folder. Rejects with what it said when it fails. */
export async function runPageProgram(
  { name, source }: PageProgram,
  folder: string,
  { args = [], env: more = {} }: { args?: string[]; env?: Record<string, string> } = {},
) {
  const file = join(folder, name, 'program.mts')
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, source)
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([key]) => !/^(OTEL_|HOOKSPAN_|VITEST|OPENAI_|ANTHROPIC_)/.test(key)),
  )
  return promisify(execFile)(process.execPath, [...args, file], {
    cwd: dirname(file),
    env: { ...env, ...more, NODE_NO_WARNINGS: '1', NO_COLOR: '1' },
    timeout: 120_000,
    killSignal: 'SIGKILL',
  })
}

/** Whether a program runs the block. */
export const inProgram = (block: Block): boolean => PROGRAMS.some(({ blocks }) => blocks.includes(block))

/** Programs that need Restate, or DBOS and Postgres. */
export const ENGINES = 'durable-engines'
