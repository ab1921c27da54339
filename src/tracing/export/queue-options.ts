import { describeValue, HookspanError } from '../../internal/errors.ts'
import { a, assertKnown, expected, keysOf } from '../../internal/expect.ts'

export interface SpanQueueOptions {
  /**
   * Spans kept in memory while the collector is away. Past it the oldest are dropped and counted; with `spoolDir` the
   * newest are left on disk, and nothing is dropped.
   *
   * @default OTEL_BSP_MAX_QUEUE_SIZE, else 50_000
   */
  maxQueueSpans?: number
  /** Spans per request. @default OTEL_BSP_MAX_EXPORT_BATCH_SIZE, else 512 */
  maxBatchSpans?: number
  /** Characters of attribute text per request, so that no request outgrows a collector's limit. @default 2_000_000 */
  maxBatchChars?: number
  /** Milliseconds between a span's end and its sending. @default OTEL_BSP_SCHEDULE_DELAY, else 1_000 */
  delayMs?: number
  /**
   * Milliseconds one request may take.
   *
   * @default OTEL_EXPORTER_OTLP_TRACES_TIMEOUT, OTEL_EXPORTER_OTLP_TIMEOUT, else 5_000
   */
  requestTimeoutMs?: number
  /**
   * Milliseconds after which a collector is believed that has answered nothing but that it takes no spans there, or not
   * like this (404, 405, 415, 501, redirects). From then on what waits in memory is dropped and counted at each such
   * answer; with `spoolDir` it stays on disk, for a process that is told better where to send it.
   *
   * @default 30_000
   */
  giveUpAfterMs?: number
  /** Told, once per outage, that sending fails, and when it works again. @default console.warn */
  onTrouble?: (message: string) => void
}

const KEYS = keysOf<SpanQueueOptions>({
  ...{ maxQueueSpans: true, maxBatchSpans: true, maxBatchChars: true, delayMs: true },
  ...{ requestTimeoutMs: true, giveUpAfterMs: true, onTrouble: true },
})

export type QueueSettings = Required<SpanQueueOptions>

const DEFAULTS = {
  maxQueueSpans: 50_000,
  maxBatchSpans: 512,
  maxBatchChars: 2_000_000,
  delayMs: 1_000,
  giveUpAfterMs: 30_000,
}

const VARIABLES = {
  maxQueueSpans: 'OTEL_BSP_MAX_QUEUE_SIZE',
  maxBatchSpans: 'OTEL_BSP_MAX_EXPORT_BATCH_SIZE',
  delayMs: 'OTEL_BSP_SCHEDULE_DELAY',
} as const

/**
 * From the options, else from the environment.
 *
 * @throws HookspanError `INVALID_OPTION`. What is wrong in the environment is only told.
 */
export function queueSettings(
  options: SpanQueueOptions,
  onTrouble: (message: string) => void,
): Omit<QueueSettings, 'requestTimeoutMs'> {
  assertKnown(options, [...KEYS], '`queue` of tracing')
  if (options.onTrouble !== undefined && !a.function.fits(options.onTrouble)) {
    throw expected('`queue.onTrouble` to be a function', options.onTrouble)
  }
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
  const settings = { ...DEFAULTS, ...byEnvironment(onTrouble), ...given, onTrouble }
  for (const [name, value] of Object.entries(settings)) {
    if (name !== 'onTrouble') assertAmount(`queue.${name}`, value, leastOf(name))
  }
  return settings
}

function byEnvironment(onTrouble: (message: string) => void): Record<string, number> {
  const found: Record<string, number> = {}
  for (const [name, variable] of Object.entries(VARIABLES)) {
    const text = process.env[variable]?.trim()
    if (!text) continue
    const value = Number(text)
    if (value >= leastOf(name)) found[name] = value
    else
      onTrouble(
        `${variable} is ${describeValue(text)}, which is no number >= ${leastOf(name)}, and is not held.`,
      )
  }
  return found
}

function leastOf(name: string): number {
  return name === 'delayMs' || name === 'giveUpAfterMs' ? 0 : 1
}

function assertAmount(name: string, value: unknown, least: number): void {
  if (typeof value === 'number' && value >= least) return
  throw new HookspanError(
    'INVALID_OPTION',
    `Expected \`${name}\` to be a number >= ${least}, got ${describeValue(value)}.`,
  )
}
