import { readFileSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'
import { NO_VIEWER, RUN_REPORT, UNTAKEN } from '../internal/run-report.ts'
import { report } from './report.ts'
import type { RunBounds } from './run-bounds.ts'
import { tell } from './tell.ts'
import type { FirstRunTracing } from './trace-first-run.ts'

/** Ends what the script began. */
export function endAtExit(bounds: RunBounds): void {
  process.prependListener('beforeExit', () => bounds.end(Number(process.exitCode ?? 0)))
  process.on('exit', (code) => bounds.end(code))
}

/** Says where to look. Called at the first run, behind the tracing that sends what is left at the exit. */
export function tellAtExit(tracing: FirstRunTracing): void {
  if (!isMainThread) return
  process.on('exit', () => {
    const { runs, last } = tracing
    if (runs === 0 || tracing.off) return
    const { HOOKSPAN_RUN_VIEWER: where, HOOKSPAN_RUN_SHOW: show } = process.env
    const [, traceId, , flags] = last?.traceparent?.split('-') ?? []
    const sent = tracing.tracing?.tracesUrl
    const { exported = 0, dropped = 0 } = tracing.tracing?.stats() ?? {}
    const isUntaken = dropped > 0 && exported === 0
    if (isUntaken) report(UNTAKEN)
    const look =
      where !== undefined && traceId !== undefined && sent?.startsWith(where)
        ? hasNoViewer()
          ? 'kept nowhere, as no viewer could be started'
          : show === undefined
            ? `${where}/run/${traceId}`
            : `${show} ${traceId}`
        : sent === undefined
          ? Number.parseInt(flags ?? '0', 16) % 2 === 1
            ? 'traced by the OpenTelemetry SDK of the program'
            : 'left out by the sampler of the OpenTelemetry SDK of the program'
          : isUntaken
            ? `not taken by ${sent}`
            : `sent to ${sent}`
    tell(`${runs === 1 ? '1 run' : `${runs} runs, the last`}: ${look}`)
  })
}

/** Known once the program runs. */
function hasNoViewer(): boolean {
  try {
    return readFileSync(process.env[RUN_REPORT] ?? '', 'utf8')
      .split('\n')
      .includes(NO_VIEWER)
  } catch {
    return false
  }
}
