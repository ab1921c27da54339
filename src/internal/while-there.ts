import { statSync } from 'node:fs'
import { realPath } from './real-path.ts'

/**
 * Makes what throws once the file that is open is not the one of that name any more: what is written then is in a file that
 * nobody finds again. `mend`: what to do then.
 */
export function whileThere(file: string, mend: string): () => void {
  if (file === ':memory:') return () => {}
  const path = realPath(file)
  const inode = () => statSync(path, { bigint: true, throwIfNoEntry: false })?.ino
  const opened = inode()
  return () => {
    if (inode() !== opened) throw new Error(`${file} was removed, or another file has its name. ${mend}`)
  }
}
