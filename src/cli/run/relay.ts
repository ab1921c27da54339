import type { ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { HEARD } from '../../internal/run-report.ts'

/** A program that has had a signal itself has said so by then. */
const SAID_MS = 200

/**
 * Passes signals on to a program, but not those that were sent to the program, too: a service manager, a shell that ends and a
 * terminal that is closed signal all processes at once, and a second signal would end a program in the middle of its shutdown.
 */
export class Relay {
  readonly #child: ChildProcess
  readonly #report: string | undefined
  readonly #passed: { readonly signal: string; readonly at: number }[] = []

  constructor(child: ChildProcess, report: string | undefined) {
    this.#child = child
    this.#report = report
  }

  pass(signal: NodeJS.Signals): void {
    if (this.#report === undefined) return void this.#child.kill(signal)
    const since = Date.now() - SAID_MS
    setTimeout(() => {
      if (this.#hasItself(signal, since)) return
      this.#passed.push({ signal, at: Date.now() })
      this.#child.kill(signal)
    }, SAID_MS).unref()
  }

  /** Some process of it heard more of them than it was passed. */
  #hasItself(signal: string, since: number): boolean {
    const passed = this.#passed.filter((one) => one.signal === signal && one.at >= since).length
    const heardBy = new Map<string, number>()
    for (const line of this.#lines()) {
      const [name, pid, at] = line.split(' ')
      if (name === signal && Number(at) >= since) heardBy.set(pid ?? '', (heardBy.get(pid ?? '') ?? 0) + 1)
    }
    return Math.max(0, ...heardBy.values()) > passed
  }

  #lines(): string[] {
    try {
      const lines = readFileSync(this.#report ?? '', 'utf8').split('\n')
      return lines.filter((line) => line.startsWith(HEARD)).map((line) => line.slice(HEARD.length))
    } catch {
      // Nobody has said anything.
      return []
    }
  }
}
