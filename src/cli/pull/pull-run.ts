/** `hookspan runs pull`: a run of a team's Jaeger into the store of this machine. */
import type { OtlpSpan, OtlpTraces } from '../../internal/otlp/types.ts'
import { formatWhole } from '../../viewer/model/format.ts'
import type { RunSource } from '../../viewer/run-source.ts'
import { shown } from '../render/shown.ts'
import { printJson } from '../render/terminal.ts'
import { findRun } from '../run-source.ts'
import { openPullTarget, type PullTarget, type TargetFlags } from './pull-target.ts'

/** Of one request; a viewer takes some times as much. */
const BATCH_CHARS = 4 * 1024 * 1024

/** By its id, the beginning of one, or `latest`. What is there already is not sent again. */
export async function pullRun(
  source: RunSource,
  given: string,
  flags: TargetFlags & { json?: boolean },
): Promise<void> {
  const { summary, rows } = await findRun(source, given)
  const { traceId } = summary
  const sent = await source.exportRuns('otlp', '', [traceId])
  const target = await openPullTarget(flags)
  try {
    const here = await target.spanIds(traceId)
    const added = rows.filter(({ spanId }) => !here.has(spanId)).length
    // Whole, also where some of it is there: it may be there as it was before it ended.
    if (added > 0) await send(target, JSON.parse(Buffer.from(sent).toString()) as OtlpTraces)
    const told = { traceId, spans: rows.length, added, from: source.from, into: target.name }
    if (flags.json) printJson(told)
    else console.log(sentence(told))
  } finally {
    target.close()
  }
}

interface Pulled {
  traceId: string
  spans: number
  added: number
  from: string
  into: string
}

function sentence({ traceId, spans, added, from, into }: Pulled): string {
  const all = `${formatWhole(spans)} ${spans === 1 ? 'span' : 'spans'}`
  const place = shown(into)
  if (added === 0) return `Run ${traceId} is in ${place} already: ${all}.`
  const what = added < spans ? `${formatWhole(added)} more of the ${all} of run` : `${all} of run`
  return `Copied ${what} ${traceId} from ${shown(from)} into ${place}.`
}

async function send(target: PullTarget, traces: OtlpTraces): Promise<void> {
  for (const { resource, scopeSpans } of traces.resourceSpans ?? []) {
    for (const { scope, spans } of scopeSpans ?? []) {
      for (const some of inBatches(spans ?? []))
        await target.add(
          `{"resourceSpans":[${JSON.stringify({ resource, scopeSpans: [{ scope, spans: some }] })}]}`,
        )
    }
  }
}

function* inBatches(spans: readonly OtlpSpan[]): Generator<OtlpSpan[]> {
  let batch: OtlpSpan[] = []
  let chars = 0
  for (const span of spans) {
    const size = JSON.stringify(span).length
    if (batch.length > 0 && chars + size > BATCH_CHARS) {
      yield batch
      batch = []
      chars = 0
    }
    batch.push(span)
    chars += size
  }
  if (batch.length > 0) yield batch
}
