import { dirname, relative, resolve, sep } from 'node:path'
import { didYouMean } from '../../internal/expect.ts'
import type { RunContent } from '../../viewer/model/data-set.ts'
import type { RunSource } from '../../viewer/run-source.ts'
import { type TestedAgent, testFile } from '../../viewer/text/test-file.ts'
import { writeOut } from '../export/written-file.ts'
import { UsageError } from '../failure.ts'
import { shown } from '../render/shown.ts'

const EXPORT_FORMATS = ['otlp', 'jsonl', 'vitest', 'markdown'] as const
type ExportFormat = (typeof EXPORT_FORMATS)[number]

export interface ExportFlags {
  format: string
  out?: string
  agent?: string
  run?: string
  maxChars: string
}

/** Runs that a test file or a text is made of: more would be read by nobody. */
const MOST_TESTS = 100

/** @throws UsageError for flags that do not go together, and for runs that lack what is asked for. */
export async function exportRuns(
  source: RunSource,
  words: readonly string[],
  flags: ExportFlags,
): Promise<void> {
  const format = formatOf(flags.format)
  if (format !== 'vitest' && (flags.agent ?? flags.run) !== undefined)
    throw new UsageError('--agent and --run are for --format vitest.')
  const selected = await select(source, words)
  if (format === 'otlp' || format === 'jsonl')
    return write(flags.out, await source.exportRuns(format, selected.query ?? '', selected.ids ?? []))
  const ids = selected.ids ?? (await idsOf(source, selected.query ?? ''))
  if (format === 'markdown') {
    const maxChars = charsOf(flags.maxChars)
    const each = Math.floor(maxChars / ids.length)
    const texts: string[] = []
    for (const id of ids) texts.push((await source.markdown(id, each)) ?? '')
    return write(flags.out, texts.join('\n').slice(0, maxChars))
  }
  const runs: RunContent[] = []
  for (const id of ids) {
    const run = await source.content(id)
    if (run) runs.push(run)
  }
  const { text, notes } = testFile(runs, testedOf(flags))
  for (const note of notes) console.error(shown(note))
  await write(flags.out, text)
}

/** One run by its id or `latest`, or those that a query finds. */
async function select(
  source: RunSource,
  words: readonly string[],
): Promise<{ query?: string; ids?: readonly string[] }> {
  const [only = ''] = words
  if (words.length !== 1 || !/^(latest|[0-9a-f]{4,32})$/i.test(only)) return { query: words.join(' ') }
  if (only !== 'latest') {
    const run = await source.run(only)
    // Words may look like an id.
    return run ? { ids: [run.summary.traceId] } : { query: only }
  }
  const { runs } = await source.listRuns('', 1)
  return { ids: runs.map(({ traceId }) => traceId) }
}

async function idsOf(source: RunSource, query: string): Promise<string[]> {
  const { runs, total, problems } = await source.listRuns(query, MOST_TESTS)
  for (const problem of problems) console.error(shown(problem))
  if (total === 0) throw new UsageError(`No run matches \`${query}\`. \`hookspan runs\` lists them.`)
  if (total > MOST_TESTS)
    throw new UsageError(`${total} runs match \`${query}\`, and ${MOST_TESTS} are the most here. Narrow it.`)
  return runs.map(({ traceId }) => traceId)
}

function formatOf(text: string): ExportFormat {
  const format = EXPORT_FORMATS.find((one) => one === text)
  if (format) return format
  throw new UsageError(
    `Expected --format to be one of ${EXPORT_FORMATS.join(', ')}, got \`${text}\`.${didYouMean(text, EXPORT_FORMATS)}`,
  )
}

function charsOf(text: string): number {
  const chars = Number(text)
  if (Number.isInteger(chars) && chars >= 1_000) return chars
  throw new UsageError(`Expected --max-chars to be a whole number of at least 1000, got \`${text}\`.`)
}

/** Relative to where the test will be: that is how it imports. */
function testedOf({ agent, run, out }: ExportFlags): TestedAgent | undefined {
  const given = agent ?? run
  if (given === undefined) return undefined
  if (agent !== undefined && run !== undefined) throw new UsageError('Expected --agent or --run, got both.')
  const [, file, name] = /^(.+)#([\p{ID_Start}$_][\p{ID_Continue}$]*)$/u.exec(given) ?? []
  if (file === undefined || name === undefined)
    throw new UsageError(
      `Expected ${agent === undefined ? '--run' : '--agent'} to be a file and the name that it exports, such as ./src/agent.ts#support, got \`${given}\`.`,
    )
  const kind = agent === undefined ? 'run' : 'agent'
  // A package's name is one anywhere.
  if (!/^\.{0,2}\//.test(file)) return { specifier: file, name, kind }
  const path = relative(dirname(resolve(out ?? 'x')), resolve(file)).replaceAll(sep, '/')
  return { specifier: path.startsWith('.') ? path : `./${path}`, name, kind }
}

async function write(out: string | undefined, data: string | Uint8Array): Promise<void> {
  if (out === undefined) process.stdout.write(data)
  else await writeOut(out, data)
}
