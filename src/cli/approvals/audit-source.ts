/** Audit logs as files, plain or packed by gzip, read some at a time. */
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { FIRST, hashOf, parseEntry } from '../../approval/audit-chain.ts'
import { linesEndingIn } from '../../approval/audit-lines.ts'
import { errorSentence } from '../../internal/errors.ts'
import { UsageError } from '../failure.ts'
import { shown } from '../render/shown.ts'

export interface AuditFile {
  readonly path: string
  /** Of its first entry; empty where there is none. */
  readonly begins: string
  readonly key: string | undefined
}

/** The oldest first, each with that of the keys which its first entry is chained with. */
export async function auditFiles(paths: readonly string[], keys: readonly string[]): Promise<AuditFile[]> {
  const files: AuditFile[] = []
  const given = new Set(paths)
  for (const path of given) {
    // Of `audit.jsonl*`.
    if (path.endsWith('.lock') && given.has(path.slice(0, -'.lock'.length))) continue
    let first: ReturnType<typeof parseEntry>
    for await (const [line] of linesOf(path)) {
      if (line === undefined) continue
      first = parseEntry(line)
      break
    }
    const { hash, ...rest } = first ?? { hash: FIRST }
    const key = keys.find((one) => hashOf(rest, one) === hash) ?? keys[0]
    const isOpen = first !== undefined && hashOf(rest, undefined) === hash
    files.push({ path, begins: String(first?.at ?? ''), key: isOpen ? undefined : key })
  }
  return files.sort((one, other) => (one.begins < other.begins ? -1 : 1))
}

/** The lines of a file, as many at a time as come, each with what ends it. @throws UsageError for one that cannot be read. */
export async function* linesOf(path: string): AsyncGenerator<Buffer[]> {
  try {
    // Not blocking: to open a pipe waits for somebody who writes.
    const handle = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
    try {
      const stat = await handle.stat()
      if (!stat.isFile()) throw new Error(stat.isDirectory() ? 'it is a folder' : 'it is no regular file')
      const magic = Buffer.alloc(2)
      await handle.read(magic, 0, 2, 0)
      // What is written while it is read is left for the next time: its last line may be half there.
      const end = Math.max(0, stat.size - 1)
      const raw: Readable = handle.createReadStream({
        start: 0,
        end,
        highWaterMark: 1_048_576,
        autoClose: false,
      })
      const isPacked = magic[0] === 0x1f && magic[1] === 0x8b
      const unpacked = isPacked ? raw.pipe(createGunzip({ chunkSize: 1_048_576 })) : raw
      if (isPacked) raw.once('error', (error) => unpacked.destroy(error))
      if (stat.size > 0) yield* split(unpacked)
    } finally {
      await handle.close()
    }
  } catch (error) {
    const why = `"${shown(path)}" cannot be read: ${errorSentence(error)} Give the audit log.`
    throw new UsageError(why, { cause: error })
  }
}

async function* split(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer[]> {
  const begun: Buffer[] = []
  for await (const piece of pieces) yield [...linesEndingIn(piece, begun)]
  if (begun.length > 0) yield [Buffer.concat(begun)]
}
