import { diag } from '@opentelemetry/api'
import type { Plugin } from '../dispatcher/index.ts'
import { within } from '../internal/async.ts'
import { errorMessage, HookspanError } from '../internal/errors.ts'
import { a, assertFields, type Fields, shape, TIMEOUT } from '../internal/expect.ts'
import { withMethods } from '../internal/objects.ts'
import { ExitGuard } from './export/exit-guard.ts'
import type { ExportStats } from './export/span-queue.ts'
import { EXPORT_FIELDS, type ExportOptions, startExport } from './export/start-export.ts'
import type { ReadableSpan, SpanProcessor } from './export/types.ts'
import { type LinkedRun, type LinkSource, type TraceLink, traceLink } from './links/trace-link.ts'
import { TRACE_FIELDS, type TraceHooksOptions } from './options.ts'
import { keepRunning, runningTracing, textOf } from './running.ts'
import { isSdkRegistered } from './sdk/registered-sdk.ts'
import { findSdk, startSdk } from './sdk/start-sdk.ts'
import { tracedBy } from './trace-hooks.ts'

export interface StartTracingOptions extends Omit<TraceHooksOptions, 'tracer' | 'logger'>, ExportOptions {
  /** Shown as the service in Jaeger. @default OTEL_SERVICE_NAME, else `hookspan` */
  serviceName?: string
  /** Put on every span's resource. */
  resourceAttributes?: Record<string, string | number | boolean>
  /** Sends metrics, too: to `/v1/metrics` beside the traces route. Jaeger takes none. @default false */
  metrics?: boolean
  /** OpenTelemetry instrumentations, for example of undici, so that a tool's own calls are spans too. */
  instrumentations?: unknown[]
  /** See every span beside the sending of it, for example to keep a copy. */
  spanProcessors?: SpanProcessor[]
  /**
   * Ends what is open and sends what waits before the process ends: at SIGTERM, SIGINT, SIGHUP, SIGUSR2, when there is nothing
   * left to do, at `process.exit()` and at an exception that nobody catches. A handler of the application's own decides on
   * the exit; ours only delays it, by 3 seconds at most. @default true
   */
  flushOnExit?: boolean
}

const { tracer, logger, ...HOOKS } = TRACE_FIELDS
const PROCESSOR = a.with('onStart', 'onEnd', 'forceFlush', 'shutdown')
const FIELDS: Fields<StartTracingOptions> = {
  ...HOOKS,
  ...EXPORT_FIELDS,
  serviceName: a.string,
  resourceAttributes: a.object,
  metrics: a.boolean,
  // What gives many at once gives a list of them.
  instrumentations: shape(a.objects.words, (all) => Array.isArray(all) && a.objects.fits(all.flat())),
  spanProcessors: shape(
    `a list, each of it ${PROCESSOR.words}`,
    (all) => Array.isArray(all) && all.every(PROCESSOR.fits),
  ),
  flushOnExit: a.boolean,
}

/** A plugin, and the way to end it. */
export interface Tracing extends Plugin {
  /** Sends what waits. Never rejects. @param options.timeoutMs default 5 000 */
  forceFlush(options?: { timeoutMs?: number }): Promise<void>
  /** Sends what waits and ends. Never rejects. @param options.timeoutMs default 5 000 */
  shutdown(options?: { timeoutMs?: number }): Promise<void>
  /** What was sent, what waits and what was lost. */
  stats(): ExportStats
  /** Where spans go. */
  readonly tracesUrl: string
  /**
   * Sends what waits, asks who takes it, and says where a person looks at the run: `console.log((await
   * tracing.linkTo(op)).text)`. Where nobody answers, `text` says so. Never rejects for what is away.
   *
   * @throws HookspanError `INVALID_OPTION` for what is no operation and no `AgentRun`.
   */
  linkTo(run: LinkedRun): Promise<TraceLink>
}

const DEFAULT_DEADLINE_MS = 5_000
/** What a process that has nothing left to do waits for what others left. */
const IDLE_FLUSH_MS = 2_500

/**
 * Starts an OpenTelemetry SDK that sends the spans of operations over OTLP/HTTP, and gives the plugin for it. Called again
 * for the same service and destination, as where hot reloading evaluates a module once more, gives a plugin for the one that runs.
 *
 * @throws HookspanError `MISSING_DEPENDENCY` naming the `npm install` line, `INVALID_OPTION` for a malformed
 * endpoint or when an OpenTelemetry SDK runs already (then use `traceHooks()` with it).
 * @example
 * const tracing = startTracing({ serviceName: 'support-bot' })
 * dispatcher.use(tracing)
 */
export function startTracing(options: StartTracingOptions = {}): Tracing {
  // All that may throw comes before the SDK starts, which nobody could stop after.
  assertFields<StartTracingOptions>(options, FIELDS, 'tracing')
  const asked = askedOf(options)
  const running = runningTracing<(options: StartTracingOptions) => Tracing>()
  if (running?.asked === asked) return running.give(options)
  if (running?.isShared) {
    const shared = running.give(options)
    console.warn(
      `[hookspan] hookspan/register traced a run before this startTracing(): its spans go to ${shared.tracesUrl}, as those of ` +
        'that run, without its own service and destination. Called before the first run it has them.',
    )
    return shared
  }
  refuseSecondSdk(running !== undefined)
  const found = findSdk(options)
  const sending = startExport(options)
  const tracesUrl = sending.target.url
  const sdk = startSdk(found, sending, options)
  const flush = async (): Promise<void> => {
    await Promise.all([sending.forceFlush(), sdk.forceFlush()])
  }
  const exitGuard = new ExitGuard({
    flush,
    flushIdle: async () => {
      await Promise.all([sending.flushAll(IDLE_FLUSH_MS), sdk.forceFlush()])
    },
    lastChance: ({ inHurry }) => sending.endAtExit(inHurry),
  })
  if (options.flushOnExit !== false) exitGuard.install()
  let ending: Promise<void> | undefined
  const end = async (): Promise<void> => {
    if (runningTracing() === ours) keepRunning(undefined)
    await sdk.shutdown().catch((error: unknown) => diag.warn(`hookspan: ${errorMessage(error)}`))
    exitGuard.remove()
    await sending.shutdown()
  }
  const links: LinkSource = {
    tracesUrl: options.exporter === undefined ? tracesUrl : undefined,
    flush: () => within(DEFAULT_DEADLINE_MS, flush()),
    stats: () => sending.stats(),
  }
  // One that a module hands over once more, evaluated again, is in the place of the one before: spans are told once.
  const given = new WeakSet<Plugin>()
  const pluginOf = (own: StartTracingOptions): Plugin => ({
    replaces: (other) => given.has(other),
    ...tracedBy(
      { ...own, ...(sdk.logger && { logger: sdk.logger }) },
      (span, left) => sending.handOver(span as unknown as ReadableSpan, left),
      sdk.own,
    ),
    attached: (dispatcher) => exitGuard.watch(dispatcher),
  })
  const methods: Omit<Tracing, keyof Plugin> = {
    tracesUrl,
    stats: () => sending.stats(),
    linkTo: (run) => traceLink(run, links),
    forceFlush: (asked = {}) => within(deadlineOf(asked, 'forceFlush()'), flush()),
    shutdown: (asked = {}) => {
      const deadlineMs = deadlineOf(asked, 'shutdown()')
      ending ??= end()
      return within(
        deadlineMs,
        ending.catch(() => {}),
      )
    },
  }
  const ours = {
    asked,
    give: (own: StartTracingOptions): Tracing => {
      const tracing = withMethods<Plugin, Omit<Tracing, keyof Plugin>>(pluginOf(own), methods)
      given.add(tracing)
      return tracing
    },
  }
  keepRunning(ours)
  return ours.give(options)
}

/** What of the options the SDK and its export have; the rest are each plugin's own. */
function askedOf(options: StartTracingOptions): string {
  return textOf(
    Object.fromEntries(
      Object.entries(options)
        .filter(([key]) => !Object.hasOwn(HOOKS, key))
        .sort(),
    ),
  )
}

function deadlineOf(asked: { timeoutMs?: number }, whose: string): number {
  assertFields(asked, TIMEOUT, whose)
  return asked.timeoutMs ?? DEFAULT_DEADLINE_MS
}

function refuseSecondSdk(isOurs: boolean): void {
  if (!isSdkRegistered()) return
  const [whose, mend] = isOurs
    ? [
        ': an earlier startTracing() for another service or destination',
        'Restart the process for this one; with an SDK of your own use',
      ]
    : ['', 'Use']
  throw new HookspanError(
    'INVALID_OPTION',
    `An OpenTelemetry SDK is already running in this process${whose}, and spans of startTracing() would go nowhere. ` +
      `${mend} \`dispatcher.use(traceHooks())\` with it, or shut the other one down and call \`trace.disable()\` of @opentelemetry/api first.`,
  )
}
