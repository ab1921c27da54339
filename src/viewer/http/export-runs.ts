/** The runs that a query finds, or those that were picked, as one file. */
import { HookspanError } from '../../internal/errors.ts'
import { defined } from '../../internal/objects.ts'
import type { OtlpTraces } from '../../internal/otlp/types.ts'
import { conversing } from '../model/conversation.ts'
import { dataSetLine, type RunContent } from '../model/data-set.ts'
import type { InTurns } from '../model/in-turns.ts'
import { NEWEST_FIRST } from '../model/query-keys.ts'
import { runMarkdown } from '../model/run-markdown.ts'
import type { SpanCategory } from '../model/span.ts'
import type { Store } from '../store/store.ts'
import { testFile } from '../text/test-file.ts'
import { HttpError } from './body.ts'
import { writingJson } from './json-pieces.ts'

export interface ExportedFile {
  file: Buffer
  mediaType: string
  name: string
}

const MOST_RUNS = 10_000
/** It is put together in memory. */
const MOST_MIB = 256
const MOST_BYTES = MOST_MIB * 1024 * 1024

const FORMATS = {
  otlp: {
    mediaType: 'application/json',
    extension: 'otlp.json',
    start: '{"resourceSpans":[',
    between: ',',
    end: ']}',
  },
  jsonl: { mediaType: 'application/x-ndjson', extension: 'jsonl', start: '', between: '\n', end: '\n' },
} as const
type Format = keyof typeof FORMATS
/** What is written of a run whole: of a line of a data set only what tools said, as a prompt has all of those before it. */
const WRITTEN: Record<Format, SpanCategory | undefined> = { otlp: undefined, jsonl: 'tool' }
/** Runs that a test file is made of: more would be read by nobody. */
const MOST_TESTS = 100

/** @param ids of the runs, before a query. */
export function* exportingRuns(
  store: Store,
  { format, query, ids }: { format: string; query: string; ids: readonly string[] },
): InTurns<ExportedFile> {
  if (format !== 'vitest' && !Object.hasOwn(FORMATS, format))
    throw new HttpError(
      400,
      `Runs cannot be exported as "${format}". Export as ${Object.keys(FORMATS).join(', ')}, vitest.`,
    )
  const found = ids.length > 0 ? ids : yield* idsOf(store, query)
  if (format === 'vitest') return yield* exportingTests(store, found)
  const { mediaType, extension, start, between, end } = FORMATS[format as Format]
  const parts: Buffer[] = [Buffer.from(start)]
  let bytes = 0
  let runs = 0
  for (const id of found) {
    const size = yield* store.sizing(id, WRITTEN[format as Format], MOST_BYTES)
    const written =
      bytes + size > MOST_BYTES
        ? undefined
        : yield* format === 'otlp' ? writingOtlp(store, id) : writingLine(store, id)
    bytes += written?.length ?? size
    if (bytes > MOST_BYTES)
      throw found.length === 1
        ? tooLarge(id)
        : new HttpError(
            413,
            `The runs are more than ${MOST_MIB} MiB after ${runs + 1} of ${found.length}. Narrow the search.`,
          )
    if (!written || written.length === 0) continue
    if (runs++ > 0) parts.push(Buffer.from(between))
    parts.push(written)
  }
  if (runs === 0) throw new HttpError(404, 'No run matches.')
  parts.push(Buffer.from(end))
  const name = runs === 1 ? `run-${found[0]!.slice(0, 8)}` : `runs-${runs}`
  return { file: Buffer.concat(parts), mediaType, name: `${name}.${extension}` }
}

function* exportingTests(store: Store, ids: readonly string[]): InTurns<ExportedFile> {
  if (ids.length > MOST_TESTS)
    throw new HttpError(
      413,
      `${ids.length} runs match, and a test file is made of ${MOST_TESTS} at most. Narrow the search.`,
    )
  const runs: RunContent[] = []
  for (const id of ids) {
    const run = yield* store.reading(id)
    if (run) runs.push(run)
  }
  const [only] = runs
  if (!only) throw new HttpError(404, 'No run matches.')
  const name = runs.length === 1 ? `run-${only.summary.traceId.slice(0, 8)}` : `runs-${runs.length}`
  return {
    file: Buffer.from(writtenTest(runs)),
    mediaType: 'text/plain; charset=utf-8',
    name: `${name}.test.ts`,
  }
}

function writtenTest(runs: readonly RunContent[]): string {
  try {
    return testFile(runs).text
  } catch (error) {
    if (error instanceof HookspanError) throw new HttpError(422, error.message)
    throw error
  }
}

function* idsOf(store: Store, query: string): InTurns<string[]> {
  const { runs, total } = yield* store.listing(query, { limit: MOST_RUNS, offset: 0, sort: NEWEST_FIRST })
  if (total > MOST_RUNS)
    throw new HttpError(
      413,
      `${total} runs match, and no more than ${MOST_RUNS} are exported at once. Narrow the search.`,
    )
  return runs.map((run) => run.traceId)
}

/**
 * As OTLP, where there is such a run.
 *
 * @throws HttpError 413 before it is read, where it is too large to be put together.
 */
export function* exportingRun(store: Store, id: string): InTurns<OtlpTraces | undefined> {
  if ((yield* store.sizing(id, undefined, MOST_BYTES)) > MOST_BYTES) throw tooLarge(id)
  return yield* store.exportingRun(id)
}

function tooLarge(id: string): HttpError {
  return new HttpError(
    413,
    `Run ${id} is more than ${MOST_MIB} MiB, and no file of that size is made of one. \`hookspan show ${id} --span ID\` gives each of its spans.`,
  )
}

function* writingOtlp(store: Store, id: string): InTurns<Buffer | undefined> {
  const traces = yield* store.exportingRun(id)
  if (!traces) return undefined
  const parts: Buffer[] = []
  for (const group of traces.resourceSpans ?? []) {
    if (parts.length > 0) parts.push(Buffer.from(','))
    parts.push(yield* writingJson(group))
  }
  return Buffer.concat(parts)
}

function* writingLine(store: Store, id: string): InTurns<Buffer | undefined> {
  const run = yield* store.reading(id)
  return run && (yield* writingJson(yield* dataSetLine(run)))
}

/** For a language model. */
export function* writingMarkdown(store: Store, id: string, maxChars?: number): InTurns<string | undefined> {
  const run = yield* store.reading(id)
  if (!run) return undefined
  const conversation = yield* conversing(run.rows, run.open)
  return runMarkdown(run.summary, run.rows, conversation, { open: run.open, ...defined({ maxChars }) })
}
