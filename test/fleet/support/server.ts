import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const GUARD = fileURLToPath(new URL('../../support/guard.cjs', import.meta.url))

export interface ServerPlan {
  readonly name: string
  readonly command: string
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** What it says goes here. */
  readonly log: string
  readonly ready: () => Promise<boolean>
  /** @default 180_000 */
  readonly readyTimeoutMs?: number
}

/** A program of the fleet, that can be killed and started again as what it was. It never outlives this process. */
export class Server {
  readonly plan: ServerPlan
  #guard: ChildProcess | undefined

  constructor(plan: ServerPlan) {
    this.plan = plan
  }

  /** Again, where it ends before it is ready: it found something away, or too slow, that it needs. So do compose and Kubernetes. */
  async start(attempts = 5): Promise<this> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#startOnce()
      } catch (error) {
        if (attempt === attempts) throw error
      }
    }
  }

  async #startOnce(): Promise<this> {
    const { name, command, args, env, log, ready, readyTimeoutMs = 180_000 } = this.plan
    const out = openSync(log, 'a')
    const guard = spawn(process.execPath, [GUARD, '', command, ...args], {
      stdio: ['pipe', out, out],
      env: { ...process.env, ...env },
    })
    closeSync(out)
    this.#guard = guard
    const deadline = Date.now() + readyTimeoutMs
    while (!(await ready().catch(() => false))) {
      const trouble =
        guard.exitCode !== null
          ? `ended with ${guard.exitCode}`
          : Date.now() > deadline
            ? `was not ready after ${readyTimeoutMs} ms`
            : undefined
      if (trouble !== undefined) {
        await this.kill()
        throw new Error(`${name} ${trouble}. Its log ends with:\n${readFileSync(log, 'utf8').slice(-3_000)}`)
      }
      await sleep(100)
    }
    return this
  }

  /** SIGKILL. */
  async kill(): Promise<void> {
    const guard = this.#guard
    this.#guard = undefined
    if (guard === undefined || guard.exitCode !== null) return
    const exit = once(guard, 'exit')
    guard.stdin?.end()
    await exit
  }

  async restart(): Promise<void> {
    await this.kill()
    await this.start()
  }

  /** The program's own process, below the guard's. */
  get pid(): number {
    const guard = this.#guard?.pid
    const children = readFileSync(`/proc/${guard}/task/${guard}/children`, 'utf8').trim()
    return Number(children.split(' ')[0])
  }

  /** What it has used until now: seconds of processor, and the most bytes of memory at once. */
  usage(): { cpuSeconds: number; peakBytes: number } {
    const stat = readFileSync(`/proc/${this.pid}/stat`, 'utf8')
    const [, , , , , , , , , , , user = '0', system = '0'] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const status = readFileSync(`/proc/${this.pid}/status`, 'utf8')
    const peak = /^VmHWM:\s+(\d+) kB/m.exec(status)?.[1] ?? '0'
    // In ticks of 10 ms, on every Linux that Node runs on.
    return { cpuSeconds: (Number(user) + Number(system)) / 100, peakBytes: Number(peak) * 1024 }
  }

  log(): string {
    return readFileSync(this.plan.log, 'utf8')
  }
}

/** Whether somebody listens. */
export function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    const done = (open: boolean) => {
      socket.destroy()
      resolve(open)
    }
    socket.on('connect', () => done(true)).on('error', () => done(false))
  })
}

export async function healthy(port: number): Promise<boolean> {
  return (await fetch(`http://127.0.0.1:${port}/status`)).ok
}
