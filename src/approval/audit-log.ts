import { createHash, createHmac } from 'node:crypto'
import {
  closeSync,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  writeSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { delay } from '../internal/async.ts'
import { HookspanError } from '../internal/errors.ts'
import { a, assertFields, type Fields, required, secret } from '../internal/expect.ts'
import { canonicalJson, digestOf } from '../internal/json.ts'

/** What happened. Never the arguments themselves: their digest. */
export interface AuditEvent {
  readonly event:
    | 'requested'
    | 'answered'
    | 'refused'
    | 'expired'
    | 'cancelled'
    | 'claimed'
    | 'settled'
    | 'torn_line'
  readonly requestId?: string
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

export interface AuditLog {
  append(event: AuditEvent): Promise<void>
}

export interface AuditOptions {
  path: string
  /** Makes each hash an HMAC, so that nobody without it can write the whole file anew. */
  key?: string
}

const FIELDS: Fields<AuditOptions> = { path: required(a.name), key: secret(a.string) }

const FIRST = '0'.repeat(64)
const LOCK_TIMEOUT_MS = 5_000

/**
 * An append-only file of one JSON object a line, each chained to the one before by hash. Several processes may write;
 * each entry is on the disk before `append` resolves.
 */
export function auditLog(options: AuditOptions): AuditLog {
  assertFields<AuditOptions>(options, FIELDS, 'auditLog')
  const { path, key } = options
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  let last: Promise<void> = Promise.resolve()
  return {
    append(event) {
      const next = last.then(() => withLock(`${path}.lock`, () => write(path, key, event)))
      last = next.catch(() => {})
      return next
    },
  }
}

function write(path: string, key: string | undefined, event: AuditEvent): void {
  const file = openSync(path, 'a+', 0o600)
  try {
    let { seq, hash, torn } = tail(file)
    let text = ''
    const chain = (one: AuditEvent) => {
      const entry = { seq: seq + 1, at: new Date().toISOString(), ...one, prev: hash }
      seq = entry.seq
      hash = hashOf(entry, key)
      text += `${canonicalJson({ ...entry, hash })}\n`
    }
    if (torn !== '') {
      text = '\n'
      chain({ event: 'torn_line', tornDigest: digestOf(torn) })
    }
    chain(event)
    writeSync(file, text)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

/** The last whole entry, and what a process that was killed while it wrote left behind it. */
function tail(file: number): { seq: number; hash: string; torn: string } {
  const { size } = fstatSync(file)
  let from = size
  let text = ''
  while (from > 0) {
    const length = Math.min(65_536, from)
    from -= length
    const chunk = Buffer.alloc(length)
    readSync(file, chunk, 0, length, from)
    text = chunk.toString('latin1') + text
    if (text.slice(0, text.lastIndexOf('\n')).includes('\n')) break
  }
  text = Buffer.from(text, 'latin1').toString()
  const end = text.lastIndexOf('\n')
  const torn = text.slice(end + 1)
  const line = text.slice(text.lastIndexOf('\n', end - 1) + 1, Math.max(end, 0))
  if (line === '') return { seq: 0, hash: FIRST, torn }
  try {
    const { seq, hash } = JSON.parse(line) as AuditEntry
    return { seq, hash, torn }
  } catch (error) {
    throw new HookspanError('INVALID_STATE', 'The last line of the audit log is not one of its own.', {
      cause: error,
    })
  }
}

function hashOf(entry: object, key: string | undefined): string {
  const text = canonicalJson(entry)
  const hash = key === undefined ? createHash('sha256') : createHmac('sha256', key)
  return hash.update(text).digest('hex')
}

/**
 * Runs it while no other process writes. The lock is that of an empty SQLite file: the system lets go of it however its
 * holder dies.
 */
async function withLock(path: string, run: () => void): Promise<void> {
  closeSync(openSync(path, 'a', 0o600))
  // Loaded late: programs without an audit log need no SQLite.
  const sqlite = createRequire(import.meta.url)('node:sqlite') as typeof import('node:sqlite')
  const lock = new sqlite.DatabaseSync(path, { timeout: 0 })
  try {
    const until = performance.now() + LOCK_TIMEOUT_MS
    while (!isTaken(lock)) {
      if (performance.now() > until) {
        throw new HookspanError('INVALID_STATE', `The audit log is locked by another process: ${path}.`)
      }
      await delay(5)
    }
    run()
  } finally {
    lock.close()
  }
}

const SQLITE_BUSY = 5

function isTaken(lock: DatabaseSync): boolean {
  try {
    // No journal: it would be a second file, and nothing is written.
    lock.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
    return true
  } catch (error) {
    if (((error as { errcode?: number }).errcode ?? 0) % 256 === SQLITE_BUSY) return false
    throw error
  }
}

export type AuditReport =
  | { readonly ok: true; readonly entries: number; readonly lastHash: string }
  | { readonly ok: false; readonly line: number; readonly problem: string }

/**
 * Reads an audit log from its beginning and finds the first line that was changed, removed, added or moved. The end
 * cut off is only found where the number of entries, or the last hash, is known from elsewhere.
 */
export function verifyAudit(options: AuditOptions): AuditReport {
  assertFields<AuditOptions>(options, FIELDS, 'verifyAudit')
  const { path, key } = options
  const lines = readFileSync(path, 'utf8').split('\n')
  const last = lines.pop()
  if (last !== '') lines.push(last ?? '')
  let seq = 0
  let prev = FIRST
  for (const [index, line] of lines.entries()) {
    const fail = (problem: string): AuditReport => ({ ok: false, line: index + 1, problem })
    const entry = parse(line)
    if (entry === undefined) {
      const next = parse(lines[index + 1] ?? '')
      // Left by a process that was killed while it wrote; the entry that follows vouches for it.
      if (next?.event === 'torn_line' && next.tornDigest === digestOf(line)) continue
      return fail(index === lines.length - 1 ? 'the line is not whole' : 'the line is not an entry')
    }
    const { hash, ...rest } = entry
    if (hashOf(rest, key) !== hash) return fail('the line was changed')
    if (entry.prev !== prev) return fail('the line before was changed or removed, or this one was moved')
    if (entry.seq !== seq + 1) return fail(`expected entry ${seq + 1}, found ${entry.seq}`)
    seq = entry.seq
    prev = hash
  }
  return { ok: true, entries: seq, lastHash: prev }
}

function parse(line: string): AuditEntry | undefined {
  try {
    const entry = JSON.parse(line) as AuditEntry
    return typeof entry === 'object' && entry !== null && typeof entry.hash === 'string' ? entry : undefined
  } catch {
    return undefined
  }
}
