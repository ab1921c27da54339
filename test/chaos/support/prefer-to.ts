import { constants, setPriority } from 'node:os'

/** Where we may: on a busy machine others' work would stretch the moments between an answer and its noting. */
export function preferTo(pid: number | undefined): void {
  try {
    if (pid !== undefined) setPriority(pid, constants.priority.PRIORITY_HIGHEST)
  } catch {
    // Not allowed here.
  }
}
