import { readFileSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'
import { NO_VIEWER, RUN_REPORT } from '../internal/run-report.ts'
import type { RunBounds } from './run-bounds.ts'
import { tell } from './tell.ts'
import type { FirstRunTracing } from './trace-first-run.ts'

/** Ends what the script began, and says where to look. */
export function tellAtExit(of: { readonly bounds: RunBounds; readonly tracing: FirstRunTracing }): void {
  const { bounds, tracing } = of
  process.prependListener('beforeExit', () => bounds.end(Number(process.exitCode ?? 0)))
  process.on('exit', (code) => {
    bounds.end(code)
    if (!isMainThread) return
    const { runs, last } = tracing
    if (runs === 0 || tracing.off) return
    const { HOOKSPAN_RUN_VIEWER: where, HOOKSPAN_RUN_SHOW: show } = process.env
    const [, traceId, , flags] = last?.traceparent?.split('-') ?? []
    const sent = tracing.tracing?.tracesUrl
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
