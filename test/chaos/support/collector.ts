import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Answer, Count, Order } from '../processes/collector.ts'
import { COMPILED } from './compiled.ts'
import { preferTo } from './prefer-to.ts'

const SCRIPT = fileURLToPath(new URL('../processes/collector.ts', import.meta.url))

export interface Collector extends AsyncDisposable {
  /** Base of the endpoint. It stays the same while the collector is away. */
  readonly url: string
  /** Nobody listens at the URL any more; what is under way is cut off. */
  leave(): Promise<void>
  comeBack(): Promise<void>
  answerWith(answer: Answer): Promise<void>
  /** Lets go of what came until now. */
  forget(): Promise<void>
  /** Of how many spans something came. Cheap, for whoever waits. */
  size(): Promise<number>
  received(): Promise<Received>
}

/** What a collector has taken, by span id. */
export interface Received {
  readonly states: ReadonlyMap<string, string>
  readonly names: readonly string[]
  /** How many spans came more often than once, counted once for each time too many. */
  readonly doubled: number
  readonly requests: number
}

/** Starts a collector in a process of its own. */
export async function startCollectorProcess(): Promise<Collector> {
  const child = fork(SCRIPT, {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, ...COMPILED },
  })
  preferTo(child.pid)
  let last: Promise<unknown> = Promise.resolve()
  const ask = (order: Order): Promise<unknown> => {
    last = last.then(async () => {
      child.send(order)
      const [{ result }] = (await once(child, 'message')) as [{ result: unknown }]
      return result
    })
    return last
  }
  const url = (await ask({ order: 'listen' })) as string
  return {
    url,
    leave: async () => void (await ask({ order: 'leave' })),
    comeBack: async () => void (await ask({ order: 'listen' })),
    answerWith: async (answer) => void (await ask({ order: 'answer', answer })),
    forget: async () => void (await ask({ order: 'forget' })),
    size: async () => (await ask({ order: 'size' })) as number,
    async received() {
      const { spans, requests } = (await ask({ order: 'count' })) as Count
      return {
        states: new Map(spans.map(([id, , state]) => [id, state])),
        names: spans.map(([, , , name]) => name),
        doubled: spans.reduce((sum, [, times]) => sum + times - 1, 0),
        requests,
      }
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    },
  }
}
