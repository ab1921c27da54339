import { writeSync } from 'node:fs'

/**
 * Writes all of a text, or throws. A disk that becomes full takes a part of it, and says so by a number alone: only who asks
 * for the rest hears of it.
 *
 * @throws what the system says; a part may be in the file then.
 */
export function writeWhole(file: number, text: string): void {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at)
}
