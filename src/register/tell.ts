import { writeSync } from 'node:fs'

const told = new Set<string>()

/** One line on stderr, once: the program's own output stays as it is. Works within an `exit` handler, too. */
export function tell(message: string): void {
  if (told.has(message)) return
  told.add(message)
  try {
    writeSync(2, `hookspan: ${message}\n`)
  } catch {
    // Nobody reads.
  }
}
