/**
 * Random races of processes that make runs, go on from them and answer, over one store: in process, by HTTP, by the command line
 * and by the viewer's route, while some are killed, end, or shut down.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import {
  type ApprovalRecord,
  type AuditEntry,
  auditLog,
  createApprovals,
  redisStore,
  sqliteStore,
  verifyAudit,
} from 'hookspan/approval'
import type { ApprovalAnswer } from 'hookspan/gates'
import { startViewer } from 'hookspan/viewer'
import { expect, it, onTestFinished } from 'vitest'
import { folder, redisUrl } from '../approval/support.ts'
import { runCli } from '../support/run-cli.ts'
import type { Order, Place } from './processes/deciding.ts'
import { COMPILED } from './support/compiled.ts'
import { tell } from './support/tell.ts'

/** More of them look further: `HOOKSPAN_RACES=100`, `HOOKSPAN_RACE_SEED=17` for one of them. */
const ROUNDS = Number(process.env.HOOKSPAN_RACES ?? 3)
const FIRST = Number(process.env.HOOKSPAN_RACE_SEED ?? 1)
const SCRIPT = fileURLToPath(new URL('./processes/deciding.ts', import.meta.url))
const TOKENS = { ann: 'the token of ann, which is long', bob: 'the token of bob, which is long' }
const RUNS = 6
/** Nobody waits longer for whatever he asked. */
const PATIENCE_MS = 30_000

/** The same numbers for the same seed. */
class Dice {
  #state: number

  constructor(seed: number) {
    this.#state = seed * 2_654_435_761
  }

  below(limit: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) % limit
  }

  of<T>(...choices: readonly T[]): T {
    return choices[this.below(choices.length)] as T
  }
}

type Said = {
  readonly n?: number
  readonly url?: string
  readonly code?: string
  readonly message?: string
} & Record<string, unknown>

class Worker {
  readonly child: ChildProcess
  readonly #waiting = new Map<number, (said: Said) => void>()
  readonly #url: Promise<string>
  #n = 0
  /** How it was told to end. */
  ending: 'killed' | 'exited' | 'shut down' | undefined

  constructor(place: Place) {
    this.child = spawn(process.execPath, ['--no-warnings', SCRIPT, JSON.stringify(place)], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      env: { ...process.env, ...COMPILED },
    })
    const url = Promise.withResolvers<string>()
    this.#url = url.promise
    this.child.on('message', (said: Said) => {
      if (said.url !== undefined) return url.resolve(said.url)
      this.#waiting.get(said.n as number)?.(said)
      this.#waiting.delete(said.n as number)
    })
    this.child.on('close', () => {
      url.reject(new Error('The process ended.'))
      for (const resolve of this.#waiting.values()) resolve({ gone: true })
    })
    url.promise.catch(() => {})
    onTestFinished(() => void this.child.kill('SIGKILL'))
  }

  get url(): Promise<string> {
    return this.#url
  }

  does(order: Order): Promise<Said> {
    const { promise, resolve } = Promise.withResolvers<Said>()
    const n = this.#n++
    if (!this.child.connected) return Promise.resolve({ gone: true })
    this.#waiting.set(n, resolve)
    this.child.send({ ...order, n }, (error) => error && resolve({ gone: true }))
    return promise
  }

  end(how: 'killed' | 'exited' | 'shut down'): void {
    this.ending = how
    if (how === 'killed') this.child.kill('SIGKILL')
    else if (how === 'shut down') this.child.kill('SIGTERM')
    else void this.does({ do: 'exit' })
  }

  async ended(): Promise<number | null> {
    if (this.child.exitCode === null && this.child.signalCode === null) await once(this.child, 'close')
    return this.child.exitCode
  }
}

/** An answer that somebody gave, and what he was told. */
interface Attempt {
  readonly id: string
  readonly approver: string
  readonly way: string
  /** `unknown`: the process ended before it told him. `nothing`: it was to tell him. */
  told: 'taken' | 'refused' | 'unknown' | 'nothing'
  how: string
}

class Race {
  readonly dice: Dice
  readonly place: Place
  readonly attempts: Attempt[] = []
  readonly #what: string

  constructor(seed: number, redis: string | undefined) {
    this.dice = new Dice(seed)
    const path = folder()
    this.place = {
      folder: path,
      ...(redis !== undefined && { redis }),
      tokens: TOKENS,
      mode: this.dice.of('park', 'wait'),
      toolMs: this.dice.of(0, 0, 50),
      thread: this.dice.of(false, false, true),
    }
    this.#what = `HOOKSPAN_RACE_SEED=${seed} HOOKSPAN_RACES=1`
  }

  get store() {
    const { folder: path, redis } = this.place
    return redis === undefined
      ? sqliteStore({ path: `${path}/approvals.db` })
      : redisStore({ url: redis, prefix: path })
  }

  get audit(): string {
    return `${this.place.folder}/audit.jsonl`
  }

  within<T>(what: string, work: Promise<T>): Promise<T> {
    const late = sleep(PATIENCE_MS, undefined, { ref: false }).then(() =>
      Promise.reject(new Error(`${what} hangs`)),
    )
    return Promise.race([work, late])
  }

  #answer({ request }: ApprovalRecord): ApprovalAnswer {
    const { argsDigest } = request
    return this.dice.of<ApprovalAnswer>(
      { decision: 'approve', argsDigest },
      { decision: 'approve', argsDigest },
      { decision: 'edit', argsDigest, args: { by: 'a human' } },
      { decision: 'reject', argsDigest, reason: 'no' },
    )
  }

  /** Gives one answer, in one of all ways. */
  async give(
    record: ApprovalRecord,
    workers: readonly Worker[],
    page: { url: string; token: string },
  ): Promise<void> {
    const { dice } = this
    const worker = workers[dice.below(workers.length)] as Worker
    const answer = this.#answer(record)
    const { id } = record.request
    const ways = [
      'process',
      'process',
      'ann',
      'bob',
      'page',
      ...(this.place.redis === undefined ? ['line'] : []),
    ]
    const way = dice.of(...ways)
    const approver = way === 'process' ? `process ${this.attempts.length}` : way
    const attempt: Attempt = { id, way, approver, told: 'unknown', how: '' }
    this.attempts.push(attempt)
    await sleep(dice.below(100))
    attempt.how = await this.within(`${way} for ${id}`, this.#by(attempt, worker, answer, page)).catch(
      (error: Error) => {
        if (error.message.endsWith('hangs')) throw error
        return `${error.message}: ${error.cause}`
      },
    )
    if (attempt.how === 'taken') attempt.told = 'taken'
    else if (/^(\d{3}|[A-Z_]{5,}|undefined) |ECONNREFUSED|answered already/.test(attempt.how))
      attempt.told = 'refused'
    else if (way !== 'process' && worker.ending !== 'killed' && worker.ending !== 'exited')
      // Whoever shuts down reads no more: what it has read it answers.
      attempt.told = /ECONNRESET|other side closed/.test(attempt.how) ? 'refused' : 'nothing'
  }

  async #by(
    { way, id, approver }: Attempt,
    worker: Worker,
    answer: ApprovalAnswer,
    page: { url: string; token: string },
  ): Promise<string> {
    if (way === 'process') {
      const said = await worker.does({ do: 'answer', id, answer: { ...answer, approver } })
      return said.taken === true ? 'taken' : said.gone === true ? 'gone' : `${said.code} ${said.message}`
    }
    if (way === 'line') {
      const { folder: path } = this.place
      const how = answer.decision === 'reject' ? ['reject', id] : ['approve', id]
      const args = answer.args === undefined ? [] : ['--args', JSON.stringify(answer.args)]
      const flags = ['--db', `${path}/approvals.db`, '--audit', this.audit, '--as', 'line']
      const { code, stderr, stdout } = await runCli(['approvals', ...how, ...args, ...flags])
      return code === 0 ? 'taken' : `${stderr}${stdout}`
    }
    const isPage = way === 'page'
    const base = isPage ? `${page.url}/api/approvals/` : `${await worker.url}/hitl/approvals/`
    const token = isPage ? page.token : TOKENS[way as keyof typeof TOKENS]
    const response = await fetch(`${base}${id}/respond`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(answer),
    })
    const text = await response.text()
    return response.ok ? 'taken' : `${response.status} ${text}`
  }

  /** Of three processes, some of which end meanwhile, and of a viewer. */
  async answers(): Promise<void> {
    const { dice, place } = this
    const workers = Array.from({ length: 3 }, () => new Worker(place))
    await this.within('a start', Promise.all(workers.map(({ url }) => url)))
    const started = Array.from({ length: RUNS }, (_, run) =>
      workers[run % 3]?.does({ do: 'start', run: `run-${run}` }),
    )
    const { store } = this
    await expect.poll(() => store.list({ status: 'pending' })).toHaveLength(RUNS)
    if (place.mode === 'park') await this.within('parking', Promise.all(started))
    const approvals = createApprovals({ store: this.store, audit: auditLog({ path: this.audit }) })
    const viewer = await startViewer({ port: 0, db: ':memory:', approvals, approver: 'page' })
    const ends = workers.map(async (worker) => {
      const how = dice.of('killed', 'exited', 'shut down', 'shut down', undefined)
      await sleep(dice.below(250))
      if (how !== undefined) worker.end(how)
    })
    const records = await store.list()
    const given = records.flatMap((record) =>
      Array.from({ length: 1 + dice.below(3) }, () => this.give(record, workers, viewer)),
    )
    await Promise.all([...given, ...ends])
    await viewer.close()
    await approvals.close()
    for (const worker of workers) if (worker.ending === undefined) worker.end('shut down')
    for (const worker of workers) {
      const code = await this.within(`a process that is ${worker.ending}`, worker.ended())
      if (worker.ending !== 'killed') expect([worker.ending, code], this.#what).toEqual([worker.ending, 0])
    }
    await store.dispose?.()
  }

  /** What nobody answered is refused, and all that is parked goes on, in processes of which some are killed. */
  async resumes(): Promise<Map<string, Said>> {
    const { dice, place } = this
    const ended = new Map<string, Said>()
    if (place.mode === 'wait') return ended
    const { store } = this
    for (const { request } of await store.list({ status: 'pending' })) {
      this.attempts.push({ id: request.id, approver: 'end', way: 'end', told: 'taken', how: '' })
      const approvals = createApprovals({ store: this.store, audit: auditLog({ path: this.audit }) })
      await approvals.respond(request.id, { decision: 'reject', approver: 'end' })
      await approvals.close()
    }
    await store.dispose?.()
    // On Redis what a dead process held is free after half a minute.
    const mayKill = place.redis === undefined
    for (let round = 0; ended.size < RUNS; round++) {
      expect(round, this.#what).toBeLessThan(5)
      const workers = Array.from({ length: 2 }, () => new Worker(place))
      await this.within('a start', Promise.all(workers.map(({ url }) => url)))
      const kill =
        mayKill && round < 2 ? sleep(dice.below(60)).then(() => workers[0]?.end('killed')) : undefined
      const open = Array.from({ length: RUNS }, (_, run) => `run-${run}`).filter((run) => !ended.has(run))
      const went = open.flatMap((run) =>
        workers.map(async (worker) => {
          const said = await this.within(`resuming ${run}`, worker.does({ do: 'resume', run }))
          if (said.gone === true || said.code === 'STATE_CLAIMED') return
          expect(
            ended.has(run),
            `${this.#what}: ${run} went on twice: ${JSON.stringify([ended.get(run), said])}`,
          ).toBe(false)
          ended.set(run, said)
        }),
      )
      await Promise.all([...went, kill])
      for (const worker of workers) if (worker.ending === undefined) worker.end('shut down')
      for (const worker of workers) await this.within('the end of a process', worker.ended())
    }
    return ended
  }

  async check(ended: ReadonlyMap<string, Said>): Promise<void> {
    const { store } = this
    const records = await store.list()
    await store.dispose?.()
    const { folder: path, mode } = this.place
    const ran = existsSync(`${path}/ran.log`)
      ? readFileSync(`${path}/ran.log`, 'utf8')
          .trimEnd()
          .split('\n')
          .map((line) => JSON.parse(line) as { run: string; args: unknown })
      : []
    expect(verifyAudit({ path: this.audit }), this.#what).toMatchObject({ ok: true })
    const log = readFileSync(this.audit, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as AuditEntry)
    expect(records).toHaveLength(RUNS)
    for (const { request, status, answer } of records) {
      const { id, operationId } = request
      const tried = this.attempts.filter((one) => one.id === id)
      const trail = log.filter(({ requestId }) => requestId === id)
      const why = `${this.#what}: ${JSON.stringify({ operationId, status, answer, tried, trail: trail.map(({ event, approver, decision, code }) => [event, approver, decision, code]), said: ended.get(operationId) }, undefined, 1)}`
      const taken = tried.filter(({ told }) => told === 'taken')
      expect(taken.length, why).toBeLessThanOrEqual(1)
      expect(
        tried.filter(({ told }) => told === 'nothing'),
        why,
      ).toEqual([])
      if (taken[0] !== undefined) expect(answer?.approver, why).toBe(taken[0].approver)
      else if (status === 'answered')
        expect(
          tried.filter(({ told }) => told === 'unknown').map(({ approver }) => approver),
          why,
        ).toContain(answer?.approver)
      // The last that did not fail is what counts: one before it is of a process that was killed.
      const answered = trail.filter(({ event }) => event === 'answered')
      if (status === 'answered')
        expect([answered.at(-1)?.approver, answered.at(-1)?.decision], why).toEqual([
          answer?.approver,
          answer?.decision,
        ])
      if (!tried.some(({ told }) => told === 'unknown'))
        expect(answered.length, why).toBe(status === 'answered' ? 1 : 0)
      const times = ran.filter(({ run, args }) => run === operationId && args !== undefined)
      expect(times.length, why).toBeLessThanOrEqual(1)
      if (times.length > 0) {
        expect(['approve', 'edit'], why).toContain(answer?.decision)
        expect(times[0]?.args, why).toEqual(answer?.decision === 'edit' ? { by: 'a human' } : request.args)
      }
      if (mode === 'wait') continue
      const { state, code } = ended.get(operationId) as { state?: string; code?: string }
      if (state === 'completed') expect(times.length, why).toBe(1)
      else if (answer?.decision === 'reject') expect([state, times.length], why).toEqual(['rejected', 0])
      else expect([state, code], why).toEqual(['denied', 'execution_unknown'])
    }
  }
}

const redis = await redisUrl()
const stores: [string, string | undefined][] = [
  ['one file', undefined],
  ...(redis === undefined ? [] : [['Redis', redis] as [string, string]]),
]

it.each(stores)(
  'of all who answer at once on %s one wins, each yes runs its tool once, and nobody hangs',
  async (name, url) => {
    let answered = 0
    for (let seed = FIRST; seed < FIRST + ROUNDS; seed++) {
      const race = new Race(seed, url)
      await race.answers()
      await race.check(await race.resumes())
      answered += race.attempts.length
    }
    tell({
      done: `answers at once on ${name}, by HTTP, the page, the command line and in processes that end`,
      times: answered,
      lost: 0,
      doubled: 0,
    })
  },
  Math.max(600_000, ROUNDS * 60_000),
)
