import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { ExportStats } from 'hookspan/tracing'
import { describe, expect, it } from 'vitest'
import type { FunctionOrder } from './processes/frozen-function.ts'
import { startAgent } from './support/agent.ts'
import { COMPILED } from './support/compiled.ts'
import { scene, wait } from './support/scene.ts'
import { tell } from './support/tell.ts'

const SCRIPT = fileURLToPath(new URL('./processes/frozen-function.ts', import.meta.url))
const SPANS_PER_CALL = 3

const at = scene()

interface Reply {
  readonly answer: string
  readonly stats: ExportStats
}

/** A function that is frozen whenever nobody calls it. */
class FrozenFunction implements AsyncDisposable {
  readonly child: ChildProcess
  readonly #ready: Promise<unknown>

  constructor(order: Omit<FunctionOrder, 'truth'>) {
    this.child = fork(SCRIPT, [JSON.stringify({ ...order, truth: at.truth() })], {
      silent: true,
      env: { ...process.env, ...COMPILED },
    })
    this.#ready = once(this.child, 'message')
  }

  async call(name: string): Promise<Reply> {
    await this.#ready
    this.child.kill('SIGCONT')
    this.child.send(name)
    const [reply] = (await once(this.child, 'message')) as [Reply]
    this.child.kill('SIGSTOP')
    await expect.poll(() => stateOf(this.child.pid)).toBe('T')
    return reply
  }

  async [Symbol.asyncDispose]() {
    this.child.kill('SIGKILL')
    if (this.child.exitCode === null && this.child.signalCode === null) await once(this.child, 'exit')
  }
}

/** `T` is stopped. */
function stateOf(pid: number | undefined): string | undefined {
  return /\) (\w)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1]
}

const noDisk = () => ({ endpoint: at.collector.url })

// Only Linux tells whether a process is stopped.
describe.runIf(process.platform === 'linux')('a function that is frozen after each answer', () => {
  it('without a disk, with 100 ms: loses what its last answer said was waiting when it is killed, and no more', async () => {
    const times = 40
    let queued = 0
    await using fn = new FrozenFunction({ tracing: noDisk(), timeoutMs: 100 })
    for (let call = 0; call < times; call++) {
      const { answer, stats } = await fn.call(`call ${call}`)
      expect(answer).toBe('answer')
      queued = stats.queued
    }
    await fn[Symbol.asyncDispose]()
    const made = at.told().ended.size
    expect(made).toBe(times * SPANS_PER_CALL)
    await expect.poll(() => at.collector.size()).toBeGreaterThanOrEqual(made - queued)
    const { doubled } = await at.collector.received()
    const lost = Math.max(0, made - queued - (await at.collector.size()))
    tell({ done: `frozen after each answer, no disk, 100 ms, ${made} spans`, times, lost, doubled })
    expect({ lost, doubled }).toEqual({ lost: 0, doubled: 0 })
  })

  it('sends after an outage what it was frozen with, at the next call', async () => {
    await using fn = new FrozenFunction({ tracing: noDisk(), timeoutMs: 100 })
    await fn.call('before')
    await at.collector.leave()
    for (let call = 0; call < 5; call++) expect((await fn.call(`away ${call}`)).answer).toBe('answer')
    await at.collector.comeBack()
    await expect
      .poll(async () => (await fn.call('after')).stats.queued, { timeout: 60_000, interval: 10 })
      .toBe(0)
    const { doubled } = await at.allThere()
    tell({ done: 'frozen over an outage, no disk', times: 5, lost: 0, doubled })
    expect(doubled).toBe(0)
  })

  it('loses nothing that was on its way when it was frozen, for longer than a request may take', async () => {
    const queue = { requestTimeoutMs: 300 }
    await using fn = new FrozenFunction({ tracing: { ...noDisk(), queue }, timeoutMs: 100 })
    const rounds = 5
    for (let round = 0; round < rounds; round++) {
      // Answered while the function is frozen, which reads of it after its own time is over.
      await at.collector.answerWith({ status: 200, delayMs: 200 })
      const { stats } = await fn.call(`on its way ${round}`)
      expect(stats.queued).toBeGreaterThan(0)
      await wait(400)
      await at.collector.answerWith({ status: 200 })
      await expect
        .poll(async () => (await fn.call(`next ${round}`)).stats.queued, { timeout: 60_000, interval: 10 })
        .toBe(0)
    }
    const { doubled } = await at.allThere()
    tell({ done: 'frozen with a request on its way', times: rounds, lost: 0, doubled })
    // Nobody can know whether it was taken: it is sent again, under the same ids.
    expect(doubled).toBeLessThanOrEqual(rounds * SPANS_PER_CALL)
  })

  it('leaves on disk what the next process delivers, when it is killed in its sleep', async () => {
    const tracing = { ...noDisk(), spoolDir: at.spoolDir }
    await at.collector.leave()
    const fn = new FrozenFunction({ tracing, timeoutMs: 100 })
    for (let call = 0; call < 5; call++) await fn.call(`away ${call}`)
    await fn[Symbol.asyncDispose]()
    await at.collector.comeBack()
    await using agent = startAgent({
      tracing,
      truth: at.truth(),
      spansPerSecond: 1_000,
      spans: 3,
      then: 'stay',
    })
    await agent.made
    const { doubled } = await at.allThere()
    tell({ done: 'killed while frozen, with a disk', times: 1, lost: 0, doubled })
    expect(doubled).toBe(0)
  })
})
