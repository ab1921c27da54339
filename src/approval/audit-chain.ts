/** Entries of an audit log, each chained to the one before by its hash. */
import { createHash, createHmac } from 'node:crypto'
import { canonicalJson, digestOf } from '../internal/json.ts'
import { isRecord } from '../internal/objects.ts'

/** What happened. Never the arguments themselves: their digest. */
export interface AuditEvent {
  readonly event:
    | 'requested'
    | 'allowed'
    | 'answered'
    | 'refused'
    | 'expired'
    | 'cancelled'
    | 'claimed'
    | 'settled'
    | 'torn_line'
    /** The file was moved away, removed or emptied while this process wrote to it: `lastSeq` and `lastHash` are those of what it wrote last. */
    | 'begun_anew'
  readonly requestId?: string
  /** The machine on which it happened. */
  readonly host?: string
  readonly [detail: string]: unknown
}

export interface AuditEntry extends AuditEvent {
  readonly seq: number
  /** ISO 8601, UTC. */
  readonly at: string
  /** Hash of the entry before; 64 zeros for the first. */
  readonly prev: string
  readonly hash: string
}

/** What the first one is chained to. */
export const FIRST = '0'.repeat(64)

export function hashOf(entry: object, key: string | undefined): string {
  const text = canonicalJson(entry)
  const hash = key === undefined ? createHash('sha256') : createHmac('sha256', key)
  return hash.update(text).digest('hex')
}

/** Undefined for what is none, or not whole. */
export function parseEntry(line: Buffer): AuditEntry | undefined {
  const text = line.toString()
  if (!text.endsWith('\n')) return undefined
  try {
    const entry: unknown = JSON.parse(text)
    // Nested so deeply that it has no canonical form, it is none of ours.
    canonicalJson(entry)
    return isRecord(entry) && typeof entry.hash === 'string' ? (entry as unknown as AuditEntry) : undefined
  } catch {
    return undefined
  }
}

export type AuditReport =
  | { readonly ok: true; readonly entries: number; readonly lastHash: string }
  | { readonly ok: false; readonly line: number; readonly problem: string }

/** Follows the chain of a log, which is given to it line by line, each with what ends it. */
export class AuditChain {
  readonly #key: string | undefined
  #held: { readonly line: Buffer; readonly entry: AuditEntry | undefined } | undefined
  #lines = 0
  #seq = 0
  #prev = FIRST
  #problem: Extract<AuditReport, { ok: false }> | undefined

  constructor(key: string | undefined) {
    this.#key = key
  }

  /** Whether all is as it was written up to what was given last. */
  get isWhole(): boolean {
    return this.#problem === undefined
  }

  get report(): AuditReport {
    return this.#problem ?? { ok: true, entries: this.#seq, lastHash: this.#prev }
  }

  /** Gives the entry of the line before, if that is one: what became of a half line, the next one says. Without a line, that of the last one. */
  next(line?: Buffer): AuditEntry | undefined {
    const held = this.#held
    const entry = line && parseEntry(line)
    this.#held = line && { line, entry }
    if (held === undefined) return undefined
    this.#lines++
    // Left by a process that was killed while it wrote; the entry that follows vouches for it.
    const isTorn =
      entry?.event === 'torn_line' && entry.tornDigest === digestOf(held.line.toString().replace(/\n$/, ''))
    if (isTorn) return undefined
    const problem = this.#problemOf(held.line, held.entry, line === undefined)
    if (problem !== undefined) this.#problem ??= { ok: false, line: this.#lines, problem }
    this.#seq = held.entry?.seq ?? this.#seq
    this.#prev = held.entry?.hash ?? this.#prev
    return held.entry
  }

  #problemOf(line: Buffer, entry: AuditEntry | undefined, isLast: boolean): string | undefined {
    if (entry === undefined) return isLast ? 'the line is not whole' : 'the line is not an entry'
    const { hash, ...rest } = entry
    // As it was written, to the byte: what readers do not agree on, as a key that is there twice, is no part of the hash.
    const written = Buffer.from(`${canonicalJson(entry)}\n`)
    if (hashOf(rest, this.#key) !== hash || !written.equals(line)) {
      return `the line was changed${this.#seq > 0 ? '' : orOtherKey(this.#key)}`
    }
    if (entry.prev !== this.#prev) return 'the line before was changed or removed, or this one was moved'
    if (entry.seq !== this.#seq + 1) return `expected entry ${this.#seq + 1}, found ${entry.seq}`
    return undefined
  }
}

/** Of a log whose first line does not fit nobody can tell. */
function orOtherKey(key: string | undefined): string {
  return key === undefined
    ? ', or the log has a key, which was not given'
    : ', or the log has another key, or none'
}
