import { zstdDecompressSync } from 'node:zlib'

/** Larger ones are unpacked piece by piece, as Node does unasked. */
const MOST_AT_ONCE = 1024 * 1024
const HEADER_BYTES = 18

/** What a Zstandard frame holds, at half the cost where the frame says how much that is: in one piece. */
export function unpackedZstd(bytes: Uint8Array): Buffer {
  const size = contentSize(bytes)
  return size !== undefined && size < MOST_AT_ONCE
    ? zstdDecompressSync(bytes, { chunkSize: Math.max(size + 1, 64) })
    : zstdDecompressSync(bytes)
}

/** By RFC 8878, section 3.1.1.1. */
function contentSize(bytes: Uint8Array): number | undefined {
  if (bytes.length < HEADER_BYTES) return undefined
  const descriptor = bytes[4]!
  const flag = descriptor >> 6
  const isSingle = (descriptor & 0x20) !== 0
  const at = 5 + (isSingle ? 0 : 1) + [0, 1, 2, 4][descriptor & 3]!
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (flag === 0) return isSingle ? view.getUint8(at) : undefined
  if (flag === 1) return view.getUint16(at, true) + 256
  return flag === 2 ? view.getUint32(at, true) : undefined
}
