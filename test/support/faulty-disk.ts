import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

const PATCHED = ['openSync', 'closeSync', 'writeSync', 'ftruncateSync', 'unlinkSync', 'renameSync'] as const

export type DiskCall = (typeof PATCHED)[number]

/** What becomes of a call: it fails with that code, or writes only half of what it is given. */
export type Fault = 'ENOSPC' | 'EIO' | 'half' | undefined

export interface FaultyDisk extends Disposable {
  /** Asked at each call on a file of the folder. None at first. */
  fault: (call: DiskCall) => Fault
}

/** The files of a folder on a disk that fails when it is told to. One at a time. */
export function faultyDisk(folder: string): FaultyDisk {
  const real = Object.fromEntries(PATCHED.map((name) => [name, fs[name]])) as Pick<
    typeof fs,
    (typeof PATCHED)[number]
  >
  const fds = new Set<number>()
  const disk: FaultyDisk = {
    fault: () => undefined,
    [Symbol.dispose]() {
      Object.assign(fs, real)
      syncBuiltinESMExports()
    },
  }
  const isOurs = (target: unknown) =>
    typeof target === 'number' ? fds.has(target) : String(target).startsWith(folder)
  const patched = (name: DiskCall) =>
    function call(target: never, ...rest: never[]): unknown {
      const fault = isOurs(target) ? disk.fault(name) : undefined
      // As the system does it: whatever it says, the file is closed.
      if (name === 'closeSync' && fds.delete(target) && fault !== undefined) real.closeSync(target)
      if (fault === 'half' && name === 'writeSync') return writeHalf(target, ...(rest as unknown as [Buffer]))
      if (fault !== undefined) throw Object.assign(new Error(`${fault}: ${name}`), { code: fault })
      const result = (real[name] as (...args: unknown[]) => unknown)(target, ...rest)
      if (name === 'openSync' && isOurs(target)) fds.add(result as number)
      return result
    }
  function writeHalf(
    fd: number,
    bytes: Buffer | string,
    offset = 0,
    length = bytes.length,
    position?: number,
  ): number {
    return real.writeSync(fd, Buffer.from(bytes), offset, Math.floor(length / 2), position)
  }
  Object.assign(fs, Object.fromEntries(PATCHED.map((name) => [name, patched(name)])))
  syncBuiltinESMExports()
  return disk
}
