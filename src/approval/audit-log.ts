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
import { makePrivateFile } from '../internal/private-file.ts'
import { realPath } from '../internal/real-path.ts'
import { writeWhole } from '../internal/write-whole.ts'
import { type AuditEntry, type AuditEvent, FIRST, hashOf, parseEntry } from './audit-chain.ts'

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

export const AUDIT_FIELDS: Fields<AuditOptions> = { path: required(a.name), key: secret(a.name) }

const LOCK_TIMEOUT_MS = 5_000
const FIRST_WAIT_MS = 5
const LONGEST_WAIT_MS = 100

/**
 * An append-only file of one JSON object a line, each chained to the one before by hash. Several processes may write;
 * each entry is on the disk before `append` resolves.
 *
 * @throws HookspanError `INVALID_OPTION` for a path at which no file can be written.
 */
export function auditLog(options: AuditOptions): AuditLog {
  assertFields<AuditOptions>(options, AUDIT_FIELDS, 'auditLog')
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
  const message = `The last line of the audit log was changed, or is chained with another key: ${path}. Nothing was written. Move the file away to begin another, with this key.`
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
  const entry = parseEntry(Buffer.from(`${line}\n`))
  if (entry === undefined)
    throw new HookspanError('INVALID_STATE', 'The last line of the audit log is not one of its own.')
  return { entry, torn }
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
