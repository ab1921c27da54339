import { createHash, createHmac } from 'node:crypto'
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readSync,
  statSync,
} from 'node:fs'
import { dirname, resolve } from 'node:path'
import { delay } from '../internal/async.ts'
import { describeValue, errorSentence, HookspanError } from '../internal/errors.ts'
import { a, assertFields, type Fields, required, secret } from '../internal/expect.ts'
import { FileLock } from '../internal/file-lock.ts'
import { canonicalJson, digestOf } from '../internal/json.ts'
import { makeFolder } from '../internal/make-folder.ts'
import { isRecord } from '../internal/objects.ts'
import { makePrivateFile } from '../internal/private-file.ts'
import { withRegularFile } from '../internal/read-regular-file.ts'
import { realPath } from '../internal/real-path.ts'
import { writeWhole } from '../internal/write-whole.ts'

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

export interface AuditLog {
  append(event: AuditEvent): Promise<void>
  /**
   * Lets `work` write and act while nobody else writes, so that what it does is in the log, or is not done. It rejects
   * before `work` is begun where the log cannot be had. Absent: `work` is given `append`.
   */
  exclusively?<T>(work: (append: AuditLog['append']) => Promise<T>): Promise<T>
}

export interface AuditOptions {
  path: string
  /** Makes each hash an HMAC, so that nobody without it can write the whole file anew. */
  key?: string
}

const FIELDS: Fields<AuditOptions> = { path: required(a.name), key: secret(a.name) }

const FIRST = '0'.repeat(64)
const LOCK_TIMEOUT_MS = 5_000
const FIRST_WAIT_MS = 5
const LONGEST_WAIT_MS = 100
const READ_BYTES = 1_048_576

/**
 * An append-only file of one JSON object a line, each chained to the one before by hash. Several processes may write;
 * each entry is on the disk before `append` resolves.
 *
 * @throws HookspanError `INVALID_OPTION` for a path at which no file can be written.
 */
export function auditLog(options: AuditOptions): AuditLog {
  assertFields<AuditOptions>(options, FIELDS, 'auditLog')
  const { key } = options
  assertWritable(options.path)
  const path = resolve(options.path)
  let last: Promise<unknown> = Promise.resolve()
  let known: Written | undefined
  const append = async (event: AuditEvent) => {
    try {
      known = write(path, key, event, known)
    } catch (error) {
      throw error instanceof HookspanError ? error : notWritten(path, error)
    }
  }
  const exclusively = <T>(work: (append: AuditLog['append']) => Promise<T>): Promise<T> => {
    const next = last.then(() => withLock(path, () => work(append)))
    last = next.catch(() => {})
    return next
  }
  return { append: (event) => exclusively((write) => write(event)), exclusively }
}

/** @throws HookspanError `INVALID_OPTION`: it would be told when the first human answers, who could not. */
function assertWritable(path: string): void {
  try {
    makeFolder(dirname(path), { mode: 0o700 })
    // Asked below its folder, which may be a file.
    accessSync(`${dirname(path)}/.`, constants.W_OK)
    if (!existsSync(path)) return
    if (!statSync(path).isFile()) throw new Error('it is no file')
    accessSync(path, constants.R_OK | constants.W_OK)
  } catch (error) {
    const why = `The audit log ${describeValue(path)} cannot be written: ${errorSentence(error)} Name a file that can be.`
    throw new HookspanError('INVALID_OPTION', why, { cause: error })
  }
}

/** What the system says of a disk that is full names no file. Its code stays. */
function notWritten(path: string, cause: unknown): Error {
  const why = `The audit log "${path}" cannot be written: ${errorSentence(cause)} Until it can be, no answer is taken and no approved call runs.`
  return Object.assign(new Error(why, { cause }), { code: (cause as NodeJS.ErrnoException).code })
}

/** The last entry that this process wrote, and where. */
interface Written extends Pick<AuditEntry, 'seq' | 'hash'> {
  readonly line: Buffer
  readonly end: number
}

/** Whether it is there no more: others may have begun the file anew already, who know nothing of it. */
function isGone(file: number, { line, end }: Written): boolean {
  const there = Buffer.alloc(line.length)
  return readSync(file, there, 0, line.length, end - line.length) < line.length || !there.equals(line)
}

/** Gives what was written. `known`: what was before, to what may be another file by now. */
function write(
  path: string,
  key: string | undefined,
  event: AuditEvent,
  known: Written | undefined,
): Written | undefined {
  const file = openSync(path, 'a+', 0o600)
  try {
    const { size } = fstatSync(file)
    const { entry: before, torn } = tail(file)
    if (before !== undefined) assertOwn(before, path, key)
    let { seq, hash } = before ?? { seq: 0, hash: FIRST }
    if (torn === '' && isSame(before, event)) return known
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
    if (known !== undefined && isGone(file, known))
      chain({ event: 'begun_anew', lastSeq: known.seq, lastHash: known.hash })
    chain(event)
    writeOrNothing(file, text)
    const end = size + Buffer.byteLength(text)
    const line = Buffer.from(text.slice(text.lastIndexOf('\n', text.length - 2) + 1))
    const written = { seq, hash, line, end }
    if (fstatSync(file).size >= end) return written
    // It was emptied at this very moment: this may be gone with the rest, or hang on nothing.
    ftruncateSync(file, 0)
    return write(path, key, event, written)
  } finally {
    closeSync(file)
  }
}

/** Whoever writes without the log's key would break its chain, which nobody could tell from a forger's. */
function assertOwn({ hash, ...rest }: AuditEntry, path: string, key: string | undefined): void {
  if (hashOf(rest, key) === hash) return
  const message = `The last line of the audit log was changed, or is chained with another key: ${path}. Nothing was written.`
  throw new HookspanError('INVALID_STATE', message)
}

/** What could not be written whole is taken back: what is in the log is what `append` said is. */
function writeOrNothing(file: number, text: string): void {
  const { size } = fstatSync(file)
  try {
    writeWhole(file, text)
    fsyncSync(file)
  } catch (error) {
    try {
      if (fstatSync(file).size > size) ftruncateSync(file, size)
    } catch {
      // The half line stays, and the next entry tells of it.
    }
    throw error
  }
}

/** Written by a process that was killed before the store took the answer, or the claim, which is now given once more. */
function isSame(before: AuditEntry | undefined, event: AuditEvent): boolean {
  if (before?.event !== event.event || event.requestId === undefined) return false
  if (event.event !== 'answered' && !(event.event === 'claimed' && event.state === 'run')) return false
  const { seq: _seq, at: _at, prev: _prev, hash: _hash, ...told } = before
  return canonicalJson(told) === canonicalJson(event)
}

/** The last whole entry, and what a process that was killed while it wrote left behind it. */
function tail(file: number): { entry?: AuditEntry; torn: string } {
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
  if (line === '') return { torn }
  const entry = parse(Buffer.from(`${line}\n`))
  if (entry === undefined)
    throw new HookspanError('INVALID_STATE', 'The last line of the audit log is not one of its own.')
  return { entry, torn }
}

function hashOf(entry: object, key: string | undefined): string {
  const text = canonicalJson(entry)
  const hash = key === undefined ? createHash('sha256') : createHmac('sha256', key)
  return hash.update(text).digest('hex')
}

/** Runs it while no other process writes. */
async function withLock<T>(log: string, run: () => Promise<T>): Promise<T> {
  try {
    makePrivateFile(log)
  } catch (error) {
    throw notWritten(log, error)
  }
  const path = `${realPath(log)}.lock`
  makePrivateFile(path, log)
  const until = performance.now() + LOCK_TIMEOUT_MS
  let lock = FileLock.take(path)
  let waitMs = FIRST_WAIT_MS
  while (lock === undefined) {
    if (performance.now() > until) {
      const message = `The audit log is locked by another process: ${path}. Nothing was done that it would have to tell of.`
      throw new HookspanError('INVALID_STATE', message)
    }
    // Each look takes of the processor's time that whoever has the lock needs: of many who wait, none may look often.
    await delay(waitMs * (0.5 + Math.random() / 2))
    waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS)
    lock = FileLock.take(path)
  }
  try {
    return await run()
  } finally {
    lock.release()
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
  return withRegularFile(path, (file, size) => verified(linesOf(file, size), key))
}

function verified(lines: Iterator<Buffer, undefined>, key: string | undefined): AuditReport {
  let seq = 0
  let prev = FIRST
  let line = lines.next().value
  let entry = line && parse(line)
  for (let at = 1; line !== undefined; at++) {
    const fail = (problem: string): AuditReport => ({ ok: false, line: at, problem })
    const nextLine = lines.next().value
    const next = nextLine && parse(nextLine)
    // Left by a process that was killed while it wrote; the entry that follows vouches for it.
    const isTorn =
      next?.event === 'torn_line' && next.tornDigest === digestOf(line.toString().replace(/\n$/, ''))
    if (!isTorn) {
      if (entry === undefined) {
        return fail(nextLine === undefined ? 'the line is not whole' : 'the line is not an entry')
      }
      const { hash, ...rest } = entry
      // As it was written, to the byte: what readers do not agree on, as a key that is there twice, is no part of the hash.
      const written = Buffer.from(`${canonicalJson(entry)}\n`)
      if (hashOf(rest, key) !== hash || !written.equals(line)) {
        return fail(`the line was changed${seq > 0 ? '' : orOtherKey(key)}`)
      }
      if (entry.prev !== prev) return fail('the line before was changed or removed, or this one was moved')
      if (entry.seq !== seq + 1) return fail(`expected entry ${seq + 1}, found ${entry.seq}`)
      seq = entry.seq
      prev = hash
    }
    line = nextLine
    entry = next
  }
  return { ok: true, entries: seq, lastHash: prev }
}

/** Of a log whose first line does not fit nobody can tell. */
function orOtherKey(key: string | undefined): string {
  return key === undefined
    ? ', or the log has a key, which was not given'
    : ', or the log has another key, or none'
}

/** Each with what ends it. A log of years is not held as a whole. */
function* linesOf(file: number, size: number): Generator<Buffer, undefined> {
  const parts: Buffer[] = []
  for (let at = 0; at < size; ) {
    const block = Buffer.alloc(Math.min(READ_BYTES, size - at))
    const length = readSync(file, block, 0, block.length, at)
    if (length === 0) break
    at += length
    let from = 0
    for (let end = block.indexOf('\n'); end >= 0 && end < length; end = block.indexOf('\n', from)) {
      parts.push(block.subarray(from, end + 1))
      yield Buffer.concat(parts.splice(0))
      from = end + 1
    }
    if (from < length) parts.push(block.subarray(from, length))
  }
  if (parts.length > 0) yield Buffer.concat(parts)
  return undefined
}

/** Undefined for what is none, or not whole. */
function parse(line: Buffer): AuditEntry | undefined {
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
