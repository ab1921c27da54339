import { homedir, userInfo } from 'node:os'

/** Where the user's files are. A container may run as a number that has neither a home nor a name. */
export function homeFolder(): string | undefined {
  try {
    return homedir() || undefined
  } catch {
    return undefined
  }
}

/** In whose name acts who gives none. */
export function userName(): string {
  try {
    return userInfo().username
  } catch {
    return `uid ${process.getuid?.()}`
  }
}
