import { readFileSync, writeFileSync } from 'node:fs'
import fc from 'fast-check'
import {
  HookDispatcher,
  type HookEvent,
  type Operation,
  type ParkedOperation,
  type ToolOutcome,
} from 'hookspan'
import {
  type ApprovalRecord,
  type ApprovalStore,
  type Approvals,
  type AuditEntry,
  approvalRoutes,
  auditLog,
  createApprovals,
  redisStore,
  sqliteStore,
  verifyAudit,
} from 'hookspan/approval'
import type { ApprovalAnswer, ApprovalRequest } from 'hookspan/gates'
import { requireHuman } from 'hookspan/policies'
import { Webhook } from 'standardwebhooks'
import { afterEach, expect, it, vi } from 'vitest'
import { folder, redisUrl } from './support.ts'

/** More of them look further: `MODEL_RUNS=2000`. */
const RUNS = Number(process.env.MODEL_RUNS ?? 10)
const TOKENS = { ann: 'the token of ann, which is long', bob: 'the token of bob, which is long' }
const SECRET = `whsec_${Buffer.from('a secret that only we have').toString('base64')}`
const KEY = 'the key of the audit log'
const TIMEOUT_MS = 3_600_000

afterEach(() => void vi.useRealTimers())

const WAYS = ['desk', 'ann', 'bob', 'signed'] as const
const KINDS = [
  'approve',
  'approve',
  'edit',
  'reject',
  'stop',
  'wrong digest',
  'edit nothing',
  'misspelt',
  'stranger',
] as const

interface AnswerPlan {
  /** Of the requests that there are, from the newest. */
  readonly request: number
  readonly desk: number
  readonly way: (typeof WAYS)[number]
  readonly kind: (typeof KINDS)[number]
}

type CommandPlan =
  | { readonly do: 'ask'; readonly run: number; readonly approvers: boolean }
  /** At once. */
  | { readonly do: 'answer'; readonly answers: readonly AnswerPlan[] }
  | { readonly do: 'clock'; readonly byMs: number }
  | { readonly do: 'abort' | 'park' | 'complete'; readonly run: number }
  | {
      readonly do: 'answer and end'
      readonly answer: AnswerPlan
      readonly run: number
      readonly end: 'abort' | 'park'
    }

const answerPlan: fc.Arbitrary<AnswerPlan> = fc.record({
  request: fc.nat(2),
  desk: fc.nat(1),
  way: fc.constantFrom(...WAYS),
  kind: fc.constantFrom(...KINDS),
})
const run = fc.nat(1)
const commandPlan: fc.Arbitrary<CommandPlan> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('ask' as const), run, approvers: fc.boolean() }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('answer' as const),
      answers: fc.array(answerPlan, { minLength: 1, maxLength: 4 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('clock' as const),
      byMs: fc.constantFrom(TIMEOUT_MS / 2, TIMEOUT_MS + 1, -TIMEOUT_MS),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('abort', 'park', 'complete'), run }) },
  {
    weight: 1,
    arbitrary: fc.record({
      ...{ do: fc.constant('answer and end' as const), answer: answerPlan, run },
      end: fc.constantFrom('abort', 'park'),
    }),
  },
)

const ask = { do: 'ask', run: 0, approvers: false } as const
const answers = (...kinds: AnswerPlan['kind'][]): CommandPlan => ({
  do: 'answer',
  answers: kinds.map((kind, desk) => ({ request: 0, desk: desk % 2, way: 'signed', kind })),
})

/** What is always tried: each end of a call, and what was wrong once. */
const FOUND: [boolean, CommandPlan[]][] = [
  [false, [ask, answers('approve', 'approve')]],
  [false, [ask, answers('reject')]],
  [false, [ask, { do: 'clock', byMs: TIMEOUT_MS + 1 }]],
  [true, [ask, answers('edit'), { do: 'park', run: 0 }]],
  // A clock that was set back kept everybody from answering.
  [false, [ask, answers('misspelt'), { do: 'clock', byMs: -TIMEOUT_MS }, answers('approve')]],
]

/** One process: its own desk on the store and the log that it shares. */
class Desk {
  readonly approvals: Approvals
  readonly handle: ReturnType<typeof approvalRoutes>
  readonly dispatcher = new HookDispatcher()
  readonly humans: HookEvent<'afterHumanIntervention'>[] = []

  constructor(store: ApprovalStore, path: string, parks: boolean) {
    const audit = auditLog({ path, key: KEY })
    const mode = parks ? ('park' as const) : ('wait' as const)
    this.approvals = createApprovals({ store, audit, mode, pollMs: 2, defaultTimeoutMs: TIMEOUT_MS })
    this.handle = approvalRoutes({
      ...{ approvals: this.approvals, tokens: TOKENS, webhookSecret: SECRET, perMinute: 100_000 },
    })
    this.dispatcher.use(this.approvals)
    const handler = (event: HookEvent<'afterHumanIntervention'>) => void this.humans.push(event)
    this.dispatcher.use({ name: 'see', hooks: [{ id: 'see', type: 'afterHumanIntervention', handler }] })
    const by = (id: string, match: string, approvers?: string[]) =>
      requireHuman({ id, match, instructions: `why ${match}`, ...(approvers && { approvers }) })
    this.dispatcher.use({ name: 'gates', gates: [by('anybody', 'any_*'), by('ann alone', 'ann_*', ['ann'])] })
  }

  /** Whether it was taken; undefined where that is not known. */
  async answer(request: ApprovalRequest, way: AnswerPlan['way'], body: object): Promise<boolean> {
    if (way === 'desk') {
      const given = { approver: 'desk', ...body } as ApprovalAnswer
      return this.approvals.respond(request.id, given).then(
        () => true,
        (error) => {
          expect(error).toMatchObject({ code: expect.stringMatching(/^APPROVAL_|^INVALID_ANSWER$/) })
          return false
        },
      )
    }
    const sent = JSON.stringify(
      way === 'signed' ? { approver: 'signer', argsDigest: request.argsDigest, ...body } : body,
    )
    const signed = () => {
      const [id, at] = [crypto.randomUUID(), new Date()]
      return {
        'webhook-id': id,
        'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
        'webhook-signature': new Webhook(SECRET).sign(id, at, sent),
      }
    }
    const headers = way === 'signed' ? signed() : { authorization: `Bearer ${TOKENS[way]}` }
    const response = await this.handle(
      new Request(`http://host/hitl/approvals/${request.id}/respond`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: sent,
      }),
    )
    expect([200, 400, 403, 409, 410, 422]).toContain(response?.status)
    return response?.status === 200
  }
}

const EDITED = { by: 'a human' }

function bodyOf(kind: AnswerPlan['kind'], { argsDigest }: ApprovalRequest): object {
  switch (kind) {
    case 'approve':
      return { decision: 'approve', argsDigest, reason: 'fine' }
    case 'edit':
      return { decision: 'edit', argsDigest, args: EDITED }
    case 'reject':
      return { decision: 'reject', reason: 'no' }
    case 'stop':
      return { decision: 'reject', reason: 'no more', stop: true }
    case 'wrong digest':
      return { decision: 'approve', argsDigest: 'f'.repeat(64) }
    case 'edit nothing':
      return { decision: 'edit', argsDigest }
    case 'misspelt':
      return { decision: 'approve', argDigest: argsDigest }
    case 'stranger':
      return { decision: 'approve', argsDigest, approver: 'eve' }
  }
}

interface Call {
  readonly args: object
  readonly apiName: string
  readonly toolCallId: string
  ran: unknown[]
  outcome: ToolOutcome | undefined
  done: Promise<unknown>
}

class Run {
  op: Operation
  desk: Desk
  readonly calls: Call[] = []
  controller = new AbortController()
  parked: ParkedOperation | undefined

  constructor(desk: Desk, id: string) {
    this.desk = desk
    this.op = desk.dispatcher.startOperation({ operationId: id, signal: this.controller.signal })
  }

  get isOpen(): boolean {
    return (
      !this.op.ended &&
      this.parked === undefined &&
      this.op.stopRequested === undefined &&
      !this.controller.signal.aborted
    )
  }

  ask(approvers: boolean): void {
    const index = this.calls.length
    const apiName = approvers ? 'ann_tool' : 'any_tool'
    const call = {
      args: { index },
      apiName,
      toolCallId: `t${index}`,
      ran: [],
      outcome: undefined,
      done: Promise.resolve(),
    }
    this.calls.push(call)
    this.make(call)
  }

  make(call: Call): void {
    const { args, apiName, toolCallId } = call
    call.outcome = undefined
    call.done = this.op
      .toolCall({ apiName, args, toolCallId }, (given) => {
        call.ran.push(given)
        return 'ran'
      })
      .then((outcome) => {
        call.outcome = outcome
      })
  }
}

class World {
  readonly desks: Desk[]
  readonly runs: Run[]
  readonly path: string
  /** Answers that were taken, and attempts that were not. */
  readonly taken: { id: string; decision: unknown; approver: string }[] = []
  readonly refused: string[] = []

  constructor(stores: ApprovalStore[], path: string, parks: boolean) {
    this.path = path
    this.desks = stores.map((store) => new Desk(store, path, parks))
    this.runs = this.desks.map((desk, index) => new Run(desk, `run-${index}-${crypto.randomUUID()}`))
  }

  async requests(): Promise<ApprovalRecord[]> {
    return (this.desks[0] as Desk).approvals.list({ limit: 1_000 })
  }

  /** Every call that waits has its question in the store. */
  async settle(): Promise<void> {
    const until = performance.now() + 20_000
    for (let quiet = 0; quiet < 3; ) {
      expect(performance.now(), 'a call neither ends nor waits').toBeLessThan(until)
      await new Promise((resolve) => setTimeout(resolve, 3))
      const waits = this.runs
        .flatMap((one) => (one.isOpen ? one.calls : []))
        .filter((call) => call.outcome === undefined)
      const open = (await this.requests()).filter(({ status }) => status === 'pending')
      quiet = open.length >= waits.length ? quiet + 1 : 0
    }
  }

  async answer({ request, desk, way, kind }: AnswerPlan, records: ApprovalRecord[]): Promise<void> {
    const record = records.at(-1 - request)
    if (record === undefined) return
    const body = bodyOf(kind, record.request)
    // Who has a token of his own is who he is, whatever he says.
    const known = way === 'ann' || way === 'bob'
    const given = known ? body : { approver: way, ...body }
    const approver = known ? way : (given as { approver: string }).approver
    if (await (this.desks[desk] as Desk).answer(record.request, way, given)) {
      this.taken.push({ id: record.request.id, decision: (body as { decision: unknown }).decision, approver })
    } else this.refused.push(record.request.id)
  }

  async do(command: CommandPlan): Promise<void> {
    if (command.do === 'clock') {
      vi.setSystemTime(Date.now() + command.byMs)
      return
    }
    if (command.do === 'answer') {
      const known = await this.requests()
      await Promise.all(command.answers.map((one) => this.answer(one, known)))
      return
    }
    const one = this.runs[command.run] as Run
    if (!one.isOpen) return
    if (command.do === 'ask') one.ask(command.approvers)
    else if (command.do === 'answer and end') {
      const known = await this.requests()
      const answered = this.answer(command.answer, known)
      await this.end(one, command.end)
      await answered
    } else await this.end(one, command.do)
  }

  end(one: Run, how: 'abort' | 'park' | 'complete'): unknown {
    if (how === 'abort') return one.controller.abort()
    if (how === 'complete') return one.op.complete()
    return this.goOnElsewhere(one)
  }

  /** What waits goes on in the other process, as it would be asked there again. */
  async goOnElsewhere(one: Run): Promise<void> {
    if (one.calls.some(({ outcome }) => outcome === undefined)) return
    const state = JSON.parse(JSON.stringify(one.op.park({ waitingFor: 'human' }))) as ParkedOperation
    one.parked = state
    // The store has been told of it, too, before the other one asks.
    await one.desk.approvals.list()
    one.parked = undefined
    one.desk = this.desks[1 - this.desks.indexOf(one.desk)] as Desk
    one.controller = new AbortController()
    const { signal } = one.controller
    one.op = one.desk.dispatcher.startOperation({ resume: state, signal })
    for (const call of one.calls) if (call.outcome?.state === 'waiting') one.make(call)
  }

  /** Ends what is open, and looks at all of it. */
  async finish(): Promise<void> {
    await this.settle()
    for (const one of this.runs) if (!one.op.ended) await one.op.complete()
    await Promise.all(this.runs.flatMap(({ calls }) => calls.map(({ done }) => done)))
    const records = await this.requests()
    for (const { approvals } of this.desks) await approvals.close()
    expect(new Set(this.taken.map(({ id }) => id)).size, 'one answer of each request is taken').toBe(
      this.taken.length,
    )
    for (const one of this.runs) for (const call of one.calls) this.#checkCall(one, call, records)
    this.#checkAudit(records)
  }

  #checkCall(one: Run, call: Call, records: ApprovalRecord[]): void {
    const { ran, outcome } = call
    // Nobody went on with it.
    if (outcome?.state === 'waiting') expect(ran).toEqual([])
    expect(ran.length).toBeLessThanOrEqual(1)
    const record = records.find(({ request }) => {
      return request.operationId === one.op.operationId && request.toolCallId === call.toolCallId
    })
    if (record === undefined) return expect(ran).toEqual([])
    const { answer, status } = record
    const taken = this.taken.find(({ id }) => id === record.request.id)
    expect([answer?.decision, answer?.approver]).toEqual([taken?.decision, taken?.approver])
    expect(status === 'answered').toBe(taken !== undefined)
    if (ran.length > 0) expect(ran).toEqual([answer?.decision === 'edit' ? EDITED : call.args])
    if (outcome?.state === 'completed') expect(['approve', 'edit']).toContain(answer?.decision)
    if (outcome?.state === 'rejected') expect([answer?.decision, ran]).toEqual(['reject', []])
    if (call.apiName === 'ann_tool' && status === 'answered') expect(answer?.approver).toBe('ann')
  }

  #checkAudit(records: ApprovalRecord[]): void {
    const read = () => readFileSync(this.path, 'utf8')
    if (records.length === 0) return
    const entries = read()
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as AuditEntry)
    expect(verifyAudit({ path: this.path, key: KEY })).toMatchObject({ ok: true, entries: entries.length })
    for (const record of records) this.#checkTrail(record, entries)
    // One sign of one line is another one.
    const text = read()
    const at = Math.floor(Math.random() * (text.length - 1))
    const other = text[at] === '7' ? '8' : '7'
    writeFileSync(this.path, `${text.slice(0, at)}${other}${text.slice(at + 1)}`)
    expect(verifyAudit({ path: this.path, key: KEY })).toMatchObject({ ok: false })
  }

  #checkTrail({ request, status, answer, execution }: ApprovalRecord, all: AuditEntry[]): void {
    const trail = all.filter(({ requestId }) => requestId === request.id)
    const of = (event: string) => trail.filter((entry) => entry.event === event)
    const what = JSON.stringify(trail.map(({ hash: _hash, prev: _prev, ...entry }) => entry))
    expect(of('requested'), what).toMatchObject([
      { apiName: request.apiName, argsDigest: request.argsDigest },
    ])
    expect(trail[0]?.event).toBe('requested')
    const answered = of('answered')
    // What was cancelled between the log and the store is followed by why it does not count.
    const counts = status === 'answered' ? 1 : 0
    expect(answered.length, what).toBeLessThanOrEqual(counts + of('refused').length)
    expect(answered.length, what).toBeGreaterThanOrEqual(counts)
    if (answer !== undefined) {
      const { decision, approver, reason, stop } = answer
      const told = {
        decision,
        argsDigest: request.argsDigest,
        ...(approver && { approver }),
        ...(reason && { reason }),
        ...(stop && { stop }),
      }
      expect(answered.at(-1), what).toMatchObject(told)
    }
    expect(of('refused').length, what).toBe(this.refused.filter((id) => id === request.id).length)
    expect([of('expired').length, of('cancelled').length], what).toEqual([
      status === 'expired' ? 1 : 0,
      status === 'cancelled' ? 1 : 0,
    ])
    expect(status).not.toBe('pending')
    expect(of('claimed').filter(({ state }) => state === 'run').length, what).toBe(
      execution === undefined ? 0 : 1,
    )
    expect(of('settled').length, what).toBe(execution === 'settled' ? 1 : 0)
  }
}

// Here, and not in the test: its end is that of the file.
const redis = await redisUrl()

it.each(['SQLite', 'Redis'] as const)(
  'has one winner, who is told, and a whole trail, whoever answers what at once: %s',
  async (kind) => {
    const url = kind === 'Redis' ? redis : undefined
    if (kind === 'Redis' && url === undefined) return
    const seen = new Set<string>()
    await fc.assert(
      fc.asyncProperty(
        fc.boolean(),
        fc.array(commandPlan, { minLength: 4, maxLength: 14 }),
        async (parks, commands) => {
          vi.useFakeTimers({ toFake: ['Date'] })
          const place = folder()
          const prefix = `${crypto.randomUUID()}:`
          const store = () =>
            url === undefined ? sqliteStore({ path: `${place}/approvals.db` }) : redisStore({ url, prefix })
          const world = new World([store(), store()], `${place}/audit.jsonl`, parks)
          for (const command of commands) {
            await world.do(command)
            await world.settle()
          }
          await world.finish()
          for (const { calls } of world.runs) for (const { outcome } of calls) seen.add(`${outcome?.state}`)
        },
      ),
      { numRuns: RUNS + FOUND.length, examples: FOUND },
    )
    expect([...seen]).toEqual(expect.arrayContaining(['completed', 'rejected', 'denied']))
  },
  Math.max(60_000, RUNS * 1_000),
)
