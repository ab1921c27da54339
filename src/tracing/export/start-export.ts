import { resolve } from 'node:path'
import { callBeside } from '../../internal/async.ts'
import { a, expected, type Fields, secret } from '../../internal/expect.ts'
import { consoleSpans } from './console-spans.ts'
import { exportersByEnv, isDisabledByEnv } from './environment.ts'
import { exporterSender } from './exporter-sender.ts'
import type { OtlpProtocol } from './otlp-encoder.ts'
import { otlpSender } from './otlp-sender.ts'
import { type OtlpTarget, otlpTarget } from './otlp-target.ts'
import { type Parcel, spanOf } from './parcel.ts'
import { postAtExit } from './post-at-exit.ts'
import { queueSettings, type SpanQueueOptions } from './queue-options.ts'
import { type Disk, type ExportStats, SpanQueue } from './span-queue.ts'
import { Leftovers } from './spool/leftovers.ts'
import { SetAside } from './spool/set-aside.ts'
import { Spool } from './spool/spool.ts'
import type { ReadableSpan, SpanExporter, SpanProcessor } from './types.ts'
import { ViewerLink } from './viewer-link.ts'

export interface ExportOptions {
  /**
   * Where the collector listens for OTLP/HTTP: `http://localhost:4318`, or the full URL of its traces route.
   *
   * @default OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, OTEL_EXPORTER_OTLP_ENDPOINT, else `http://localhost:4318`
   */
  endpoint?: string
  /** Sent with each request, for example an API key. Over those of OTEL_EXPORTER_OTLP_HEADERS. */
  headers?: Record<string, string>
  /**
   * How spans are written. Some collectors take only one of the two. Protobuf is a third shorter and takes a fraction
   * of the time to write.
   *
   * @default OTEL_EXPORTER_OTLP_TRACES_PROTOCOL, OTEL_EXPORTER_OTLP_PROTOCOL, else `http/protobuf`
   */
  protocol?: OtlpProtocol
  /**
   * A folder in which each span is kept from its start until it is delivered, so that it survives the process, SIGKILL
   * included. Any number of processes may share it, on one machine or volume whose file system has locks: what a dead one
   * left is delivered by the others, or by the next, once; spans that had not ended are told as interrupted. Costs two
   * file writes per span. @default none
   */
  spoolDir?: string
  /**
   * What may lie in `spoolDir`, in bytes. Past it the oldest spans are dropped, counted and told of. Minimum 1_048_576.
   *
   * @default 1_073_741_824
   */
  maxSpoolBytes?: number
  /** How spans wait and are sent. */
  queue?: SpanQueueOptions
  /** Sends to something else than OTLP/HTTP, for example an in-memory exporter. Over OTEL_TRACES_EXPORTER. */
  exporter?: SpanExporter
}

export const EXPORT_FIELDS: Fields<ExportOptions> = {
  endpoint: secret(a.string),
  headers: secret(a.object),
  protocol: a.value,
  spoolDir: a.value,
  maxSpoolBytes: a.value,
  queue: a.object,
  exporter: a.with('export', 'shutdown'),
}

/** What sends spans. No method throws or rejects. */
export interface SpanExport {
  /** Where spans go. */
  readonly target: OtlpTarget
  /** For the SDK's provider. */
  readonly processors: readonly SpanProcessor[]
  stats(): ExportStats
  /** Another process ends the span; `left`: it was never this one's. */
  handOver(span: ReadableSpan, left: boolean): void
  /** Sends what waits, once. */
  forceFlush(): Promise<void>
  /** The same, and for so many milliseconds what dead processes left in `spoolDir`. */
  flushAll(deadlineMs: number): Promise<void>
  shutdown(): Promise<void>
  /** Sends what waits while the process exits, and ends. In a hurry it ends without sending. */
  endAtExit(inHurry?: boolean): void
}

const DEFAULT_SPOOL_BYTES = 1024 * 1024 * 1024
const LEAST_SPOOL_BYTES = 1024 * 1024
const AT_EXIT_MS = 2_000
const NEEDED_BY = 'startTracing()'

/** Who is told of what is wrong. @default the console */
export function troubleOf({ queue }: Pick<ExportOptions, 'queue'>): (message: string) => void {
  const warn = (message: string) => console.warn(`[hookspan] ${message}`)
  const onTrouble = queue?.onTrouble
  if (typeof onTrouble !== 'function') return warn
  return (message) =>
    callBeside(
      () => onTrouble(message),
      () => warn(message),
    )
}

/**
 * What sends spans, as the options and the environment want it.
 *
 * @throws HookspanError `INVALID_OPTION`, `MISSING_DEPENDENCY`. Nothing is left running then.
 */
export function startExport(options: ExportOptions): SpanExport {
  const onTrouble = troubleOf(options)
  const { endpoint, headers, protocol, exporter } = options
  const timeoutMs = checkedTimeout(options.queue?.requestTimeoutMs)
  // With an exporter of one's own, what the environment says of OTLP is nobody's concern.
  const onNote = exporter === undefined ? onTrouble : () => {}
  const target = otlpTarget({ endpoint, headers, protocol, timeoutMs }, onNote)
  const { requestTimeoutMs: _, ...queueOptions } = options.queue ?? {}
  const settings = queueSettings(queueOptions, onTrouble)
  const maxBytes = checkedBytes(options.maxSpoolBytes)
  const chosen = exporter === undefined ? exportersByEnv(onTrouble) : { otlp: false, console: false }
  const isOff = isDisabledByEnv()
  const printed = chosen.console && !isOff ? [consoleSpans(NEEDED_BY)] : []
  if (isOff || (exporter === undefined && !chosen.otlp)) return { ...nothing, target, processors: printed }
  const sender = exporter === undefined ? otlpSender(target) : exporterSender(exporter, target.timeoutMs)
  const disk = options.spoolDir === undefined ? undefined : openDisk(options.spoolDir, maxBytes, onTrouble)
  const queue = new SpanQueue({
    sender,
    settings,
    disk,
    sinks: exporter === undefined ? [new ViewerLink(sender, target.url)] : [],
    keepsSpans: exporter !== undefined || target.protocol === 'http/json',
  })
  const tellLost = () => {
    if (queue.lost === 0) return
    const hint = disk
      ? '`spoolDir` did not take them.'
      : 'With startTracing({ spoolDir }) the next process sends them.'
    onTrouble(`${queue.lost} spans were not delivered before the end and are lost. ${hint}`)
  }
  const sendBatches = (batches: Parcel[][]) =>
    exporter === undefined ? postAtExit(target, batches, AT_EXIT_MS) : exportAtExit(exporter, batches)
  return {
    target,
    processors: [queue, ...printed],
    stats: () => queue.stats(),
    handOver: (span, left) => queue.handOver(span, left),
    forceFlush: () => queue.forceFlush(),
    flushAll: (deadlineMs) => queue.flushAll(deadlineMs),
    async shutdown() {
      await queue.shutdown()
      tellLost()
    },
    endAtExit(inHurry) {
      // Who did not answer a moment ago is not asked again.
      if (!inHurry && queue.stats().lastError === undefined) queue.sendAtExit(sendBatches)
      queue.closeAtExit()
      tellLost()
    },
  }
}

/** What the environment wants where nothing is to be sent. */
const nothing: Omit<SpanExport, 'target' | 'processors'> = {
  stats: () => ({ queued: 0, exported: 0, dropped: 0 }),
  handOver: () => {},
  forceFlush: async () => {},
  flushAll: async () => {},
  shutdown: async () => {},
  endAtExit: () => {},
}

function openDisk(spoolDir: unknown, maxBytes: number, onTrouble: (message: string) => void): Disk {
  if (typeof spoolDir !== 'string' || spoolDir === '') {
    throw expected('`spoolDir` to be the path of a folder', spoolDir)
  }
  // The process may go to another folder.
  const folder = resolve(spoolDir)
  const setAside = new SetAside(folder)
  const leftovers = new Leftovers({ folder, setAside, onTrouble })
  const spool: Spool = new Spool({
    folder,
    maxBytes,
    setAside,
    onTrouble,
    otherBytes: () => leftovers.bytesBeside(spool.path),
    dropLeftover: () => leftovers.dropOldest(spool.path),
  })
  return { spool, leftovers, setAside }
}

/** An exporter that writes to a file or to memory is done at once; nothing can be done for the others. */
function exportAtExit(exporter: SpanExporter, batches: readonly Parcel[][]): number {
  let sent = 0
  for (const batch of batches) {
    let isDone = false
    exporter.export(batch.map(spanOf), ({ code }) => {
      isDone = code === 0
    })
    if (!isDone) break
    sent++
  }
  return sent
}

function checkedBytes(value = DEFAULT_SPOOL_BYTES): number {
  if (typeof value === 'number' && value >= LEAST_SPOOL_BYTES) return value
  throw expected(`\`maxSpoolBytes\` to be a number >= ${LEAST_SPOOL_BYTES}`, value)
}

function checkedTimeout(value: number | undefined): number | undefined {
  if (value === undefined || (typeof value === 'number' && value >= 1)) return value
  throw expected('`queue.requestTimeoutMs` to be a number >= 1', value)
}
