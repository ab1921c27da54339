/** Sums of runs that come whole in one request, made of what is in hand: most do, and need not be read again later. */
import type { InTurns } from '../model/in-turns.ts'
import type { RunUse } from '../model/run-uses.ts'
import type { AskedInRun, RunSummary } from '../model/span.ts'
import { summing } from '../model/summary.ts'
import type { IncomingSpans } from '../otlp/incoming.ts'
import type { NotedSpans } from '../otlp/noted-spans.ts'
import { plainSpan } from '../otlp/plain.ts'
import { type Chunk, openChunk } from './chunk.ts'
import { originFacts } from './origins.ts'
import { RunSpans } from './run-spans.ts'

export interface SummedRun {
  summary: RunSummary
  uses: RunUse[]
}

interface Arrived extends SummedRun {
  asked: AskedInRun | undefined
}

export interface ArrivedRuns {
  /** `undefined` for a run that is to be summed later, and once something else is true of it. */
  get(traceId: string): SummedRun | undefined
}

type Asked = (traceId: string) => AskedInRun | undefined

/** Of the runs of which `isNew` knows nothing. */
export function* summingArrived(
  batch: readonly IncomingSpans[],
  isNew: (traceId: string) => boolean,
  askedOf: Asked,
): InTurns<ArrivedRuns> {
  const arrived = new Map<string, Arrived>()
  for (const [traceId, parts] of partsByRun(batch)) {
    if (!parts.some((part) => part.hasRoot) || !isNew(traceId)) continue
    const asked = askedOf(traceId)
    const summed = yield* summingWhole(traceId, parts, asked)
    if (summed) arrived.set(traceId, { ...summed, asked })
  }
  return {
    get(traceId) {
      const run = arrived.get(traceId)
      return run && run.asked?.open === askedOf(traceId)?.open ? run : undefined
    },
  }
}

function partsByRun(batch: readonly IncomingSpans[]): Map<string, IncomingSpans[]> {
  const byRun = new Map<string, IncomingSpans[]>()
  for (const part of batch) {
    const parts = byRun.get(part.traceId)
    if (parts) parts.push(part)
    else byRun.set(part.traceId, [part])
  }
  return byRun
}

/** `undefined` for what may change with time, or looks as if more of it were on its way; and for what cannot be read. */
function* summingWhole(
  traceId: string,
  parts: readonly IncomingSpans[],
  asked: AskedInRun | undefined,
): InTurns<SummedRun | undefined> {
  const spans = new RunSpans(true)
  const chunks: (NotedSpans | Chunk)[] = []
  const origins = parts.map(({ origin }) => originFacts(origin.resource, origin.scope))
  for (const [at, { body, noted }] of parts.entries()) {
    chunks.push(noted ?? openChunk(body))
    spans.add(at, chunks[at]!, at, origins[at]!.service)
    yield
  }
  if (!spans.isWhole) return undefined
  try {
    return yield* summing({
      traceId,
      rows: spans.ordered().map(({ row }) => row),
      asked,
      conversationId: spans.conversationId,
      reasonOf: (spanId) => spans.get(spanId)?.reason ?? '',
      open(spanId) {
        const stored = spans.get(spanId)
        const span = stored && chunks[stored.chunk]!.span(stored.index)
        return span && plainSpan(span, origins[stored.chunk]!.otlpResource, origins[stored.chunk]!.otlpScope)
      },
    })
  } catch {
    // Summed later, it is told what is wrong with it.
    return undefined
  }
}
