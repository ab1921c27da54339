import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { ExportStats } from 'hookspan/tracing'
import type { AgentOrder } from '../processes/traced-agent.ts'
import type { Received } from './collector.ts'
import { COMPILED } from './compiled.ts'
import { preferTo } from './prefer-to.ts'

const SCRIPT = fileURLToPath(new URL('../processes/traced-agent.ts', import.meta.url))

export interface TracedAgent extends AsyncDisposable {
  readonly child: ChildProcess
  /** What it said on stderr until now. */
  stderr(): string
  /** What it says of itself now. */
  stats(): Promise<AgentStats>
  /** It is at work. */
  readonly running: Promise<void>
  /** It has made all the spans that it should. */
  readonly made: Promise<void>
  /** Its exit code, or the signal that ended it. */
  readonly ended: Promise<number | string>
}

export interface AgentStats extends ExportStats {
  readonly rssBytes: number
  /** What is in use after the garbage was collected: heap and buffers. */
  readonly liveBytes: number
}

/** Starts a traced agent in a process of its own. `wrapper`: what it is started by, for example `unshare`. */
export function startAgent(order: AgentOrder, wrapper: readonly string[] = []): TracedAgent {
  const [command = '', ...args] = [
    ...wrapper,
    process.execPath,
    '--no-warnings',
    '--expose-gc',
    SCRIPT,
    JSON.stringify(order),
  ]
  const child = spawn(command, args, {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: { ...process.env, ...COMPILED },
  })
  preferTo(child.pid)
  let stderr = ''
  child.stderr?.on('data', (chunk) => {
    stderr += chunk
  })
  const ended = once(child, 'close').then(([code, signal]) => (code ?? signal) as number | string)
  const failed = ended.then((how) => {
    throw new Error(`The agent ended (${how}) before its spans were made:\n${stderr}`)
  })
  let said = ''
  const saying = (word: string) =>
    new Promise<void>((resolve) => {
      child.stdout?.on('data', (chunk) => {
        said += chunk
        if (said.includes(word)) resolve()
      })
    })
  const running = Promise.race([saying('running'), failed])
  const made = Promise.race([saying('made'), failed])
  for (const promise of [failed, running, made]) promise.catch(() => {})
  return {
    child,
    stderr: () => stderr,
    async stats() {
      child.send('stats')
      const [stats] = (await once(child, 'message')) as [AgentStats]
      return stats
    },
    running,
    made,
    ended,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await ended
    },
  }
}

/** What an agent says it started and ended. */
export interface Truth {
  readonly ended: ReadonlySet<string>
  readonly open: ReadonlySet<string>
}

export function truthOf(path: string): Truth {
  const ended = new Set<string>()
  const open = new Set<string>()
  for (const line of existsSync(path) ? readFileSync(path, 'utf8').split('\n') : []) {
    const [what, id = ''] = line.split(' ')
    // Cut off by a SIGKILL: hookspan was told, and the count must not ask for half an id.
    if (id.length !== 16) continue
    if (what === 's') open.add(id)
    if (what !== 'e') continue
    open.delete(id)
    ended.add(id)
  }
  return { ended, open }
}

/** Ended spans that never came, and open ones that neither came as interrupted nor as ended. */
export function missing({ ended, open }: Truth, { states }: Received): { ended: string[]; open: string[] } {
  return {
    ended: [...ended].filter((id) => states.get(id) !== 'ended'),
    open: [...open].filter((id) => !states.has(id)),
  }
}
