import {
  appendFileSync,
  closeSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readFileSync,
  unlinkSync,
} from 'node:fs'
import { join } from 'node:path'
import { makeFolder } from '../../internal/make-folder.ts'
import { HOOKSPAN } from '../../spans/names.ts'
import type { SpanSink } from './span-queue.ts'
import { snapshotSpan } from './start-snapshot.ts'
import type { ReadableSpan } from './types.ts'

/** Turns spans into one OTLP JSON request. */
export type SerializeSpans = (spans: ReadableSpan[]) => string

const FILE = /^spans-(\d+)-[0-9a-z]+\.ndjson$/
const LINES_PER_REQUEST = 200

/**
 * Keeps what has not been sent in a file, so that spans survive the process, SIGKILL included: each line is one
 * span, at its start and at its end. The next process with the same folder delivers what a dead one left; spans
 * that had not ended are shown as interrupted.
 */
export class Spool implements SpanSink {
  readonly #fd: number
  readonly #path: string
  readonly #serialize: SerializeSpans
  readonly #open = new Map<string, ReadableSpan>()

  /** @throws when the folder cannot be written. */
  constructor(folder: string, serialize: SerializeSpans) {
    makeFolder(folder)
    this.#path = join(folder, `spans-${process.pid}-${Date.now().toString(36)}.ndjson`)
    this.#fd = openSync(this.#path, 'a', 0o600)
    this.#serialize = serialize
  }

  started(span: ReadableSpan): void {
    this.#open.set(span.spanContext().spanId, span)
    this.#write(snapshotSpan(span, 'interrupted'))
  }

  ended(span: ReadableSpan): void {
    this.#open.delete(span.spanContext().spanId)
    this.#write(span)
  }

  /** Another process ends it: it is not interrupted with this one. */
  handedOver(span: ReadableSpan): void {
    this.#open.delete(span.spanContext().spanId)
    this.#write(snapshotSpan(span, 'parked'))
  }

  /** What was sent need not be kept; what is open is written again. */
  allSent(): void {
    ftruncateSync(this.#fd)
    for (const span of this.#open.values()) this.#write(snapshotSpan(span, 'interrupted'))
  }

  /** After a clean end nothing is left. */
  close(options: { keep: boolean }): void {
    closeSync(this.#fd)
    if (!options.keep) unlinkSync(this.#path)
  }

  #write(span: ReadableSpan): void {
    appendFileSync(this.#fd, `${this.#serialize([span])}\n`)
  }
}

interface OtlpRequest {
  resourceSpans: { scopeSpans: { spans: OtlpSpan[] }[] }[]
}

interface OtlpSpan {
  spanId: string
  attributes?: { key: string; value: { stringValue?: string } }[]
}

/**
 * Delivers what dead processes left in the folder.
 *
 * @returns how many spans were delivered. Files that cannot be delivered stay for the next time. Never rejects.
 */
export async function deliverSpooled(
  folder: string,
  post: (body: string) => Promise<boolean>,
): Promise<number> {
  let delivered = 0
  for (const name of list(folder)) {
    const pid = Number(FILE.exec(name)?.[1])
    if (!pid || pid === process.pid || isAlive(pid)) continue
    const path = join(folder, name)
    const requests = readRequests(path)
    try {
      for (let i = 0; i < requests.length; i += LINES_PER_REQUEST) {
        const part = requests.slice(i, i + LINES_PER_REQUEST)
        if (
          !(await post(JSON.stringify({ resourceSpans: part.flatMap((request) => request.resourceSpans) })))
        )
          return delivered
        delivered += part.length
      }
      unlinkSync(path)
    } catch {
      // The file stays and is tried again.
    }
  }
  return delivered
}

function list(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => FILE.test(name))
  } catch {
    return []
  }
}

/** The last state of each span. A line that the death of the process cut off is left out. */
function readRequests(path: string): OtlpRequest[] {
  const bySpan = new Map<string, OtlpRequest>()
  for (const line of readFileSync(path, 'utf8').split('\n')) {
    try {
      const request = JSON.parse(line) as OtlpRequest
      const span = request.resourceSpans[0]?.scopeSpans[0]?.spans[0]
      if (span === undefined) continue
      const started = span.attributes?.some(({ key }) => key === HOOKSPAN.spanState)
      if (!started || !bySpan.has(span.spanId)) bySpan.set(span.spanId, request)
    } catch {
      // Cut off, or empty.
    }
  }
  return [...bySpan.values()]
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as { code?: string }).code === 'EPERM'
  }
}
