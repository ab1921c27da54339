import { readSync } from 'node:fs'
import { assertFields } from '../internal/expect.ts'
import { withRegularFile } from '../internal/read-regular-file.ts'
import { AuditChain, type AuditReport } from './audit-chain.ts'
import { linesEndingIn } from './audit-lines.ts'
import { AUDIT_FIELDS, type AuditOptions } from './audit-log.ts'

const READ_BYTES = 1_048_576

/**
 * Reads an audit log from its beginning and finds the first line that was changed, removed, added or moved. The end
 * cut off is only found where the number of entries, or the last hash, is known from elsewhere.
 */
export function verifyAudit(options: AuditOptions): AuditReport {
  assertFields<AuditOptions>(options, AUDIT_FIELDS, 'verifyAudit')
  const { path, key } = options
  return withRegularFile(path, (file, size) => verified(linesOf(file, size), key))
}

function verified(lines: Iterable<Buffer>, key: string | undefined): AuditReport {
  const chain = new AuditChain(key)
  for (const line of lines) {
    chain.next(line)
    if (!chain.isWhole) break
  }
  chain.next()
  return chain.report
}

/** Each with what ends it. A log of years is not held as a whole. */
function* linesOf(file: number, size: number): Generator<Buffer> {
  const begun: Buffer[] = []
  for (let at = 0; at < size; ) {
    const block = Buffer.alloc(Math.min(READ_BYTES, size - at))
    const piece = block.subarray(0, readSync(file, block, 0, block.length, at))
    if (piece.length === 0) break
    at += piece.length
    yield* linesEndingIn(piece, begun)
  }
  if (begun.length > 0) yield Buffer.concat(begun)
}
