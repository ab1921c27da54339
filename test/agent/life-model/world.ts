import { HookDispatcher, type HookEvent } from 'hookspan'
import { type Agent, type AgentRun, type AgentTool, execAgent, resumeAgent } from 'hookspan/agent'
import type { ApprovalAnswer, ApprovalRequest, Gate, ParkedApproval } from 'hookspan/gates'
import { traceHooks } from 'hookspan/tracing'
import type { SpanLine } from '../../kill/trace.ts'
import { statelessModel } from '../../support/stateless-model.ts'
import { ALL_TYPES } from '../../support/told-events.ts'
import { tracerTelling } from '../../support/told-spans.ts'
import { KeptRuns } from '../kept-runs.ts'
import type { AgentPlan, CallPlan, LifePlan, ToolKind } from './plan.ts'
import { TOOLS } from './plan.ts'

export const ID = 'run-1'

const never = () => new Promise<never>(() => {})
const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

/** One process of the run. What it does after its death is not seen by anybody. */
export interface Life {
  readonly number: number
  readonly plan: LifePlan | undefined
  readonly controller: AbortController
  moments: number
  dead: boolean
  /** Before its part of the run had ended. */
  killed: boolean
  /** Aborted while a tool, a model, a gate or a human was at work. */
  abortedBefore: boolean
  /** Told to whoever waits for its end. */
  readonly died: PromiseWithResolvers<'died'>
  readonly events: HookEvent[]
  readonly spans: SpanLine[]
}

/** The effects of a run, over all its processes. */
export class World {
  readonly plan: AgentPlan
  readonly plans = new Map<string, AgentPlan>()
  readonly callPlans = new Map<string, CallPlan>()
  readonly lives: Life[] = []
  readonly store = new KeptRuns()
  /** The bodies that were begun: which call, under which key, with what, in which process. */
  readonly begun: { call: string; key: string; args: unknown; life: number }[] = []
  /** Questions by their call. */
  readonly asked = new Map<string, Set<string>>()
  /** That a model gave, to whichever process. */
  replies = 0
  readonly #tally: (what: string) => void

  constructor(plan: AgentPlan, tally: (what: string) => void) {
    this.plan = plan
    this.#tally = tally
    this.#name('0', plan)
  }

  #name(id: string, plan: AgentPlan): void {
    this.plans.set(id, plan)
    for (const [step, calls] of plan.steps.entries()) {
      for (const [index, call] of calls.entries()) {
        const name = `${id}_${step}_${index}`
        this.callPlans.set(name, call)
        if (call.kind === 'agent') this.#name(name, call.agent)
      }
    }
  }

  get hasEnded(): boolean {
    return this.lives.some(({ events }) =>
      events.some((e) => e.operationId === ID && e.hookType === 'onComplete'),
    )
  }

  /** Lets one process have the run, until it ends, waits or dies. */
  async live(plan: LifePlan | undefined): Promise<AgentRun | 'died'> {
    const life: Life = {
      number: this.lives.length,
      plan,
      controller: new AbortController(),
      moments: 0,
      dead: false,
      killed: false,
      abortedBefore: false,
      died: Promise.withResolvers(),
      events: [],
      spans: [],
    }
    this.lives.push(life)
    const options = this.#options(life)
    const started = this.store.runs.get(ID)?.records.length
    const run = started
      ? resumeAgent({ ...options, operationId: ID })
      : execAgent({ ...options, prompt: 'go', operationId: ID })
    const ended = await Promise.race([run, life.died.promise])
    life.dead = true
    // The system lets go of what a dead process had.
    const kept = this.store.runs.get(ID)
    if (kept) delete kept.token
    return ended
  }

  /** Something outside of the process happens, or has: it may be the last. */
  async #moment(life: Life, what: string): Promise<void> {
    if (life.dead) return never()
    const { plan } = life
    const moment = life.moments++
    if (plan?.dies !== undefined && moment === plan.moment + 1 + plan.dies) return this.#dies(life)
    if (plan?.moment !== moment) return
    this.#tally(`${plan.end} ${what}`)
    if (plan.end === 'is aborted') {
      life.controller.abort()
      life.abortedBefore = !/record|release|claim/.test(what)
    }
    if (plan.end === 'dies') return this.#dies(life)
  }

  #dies(life: Life): Promise<never> {
    life.dead = true
    life.killed = true
    life.died.resolve('died')
    return never()
  }

  #options(life: Life) {
    const dispatcher = new HookDispatcher()
    const tell = (line: SpanLine) => {
      if (!life.dead) life.spans.push({ ...line, pid: life.number })
    }
    dispatcher.use(traceHooks({ tracer: tracerTelling(tell) }))
    const handler = (event: HookEvent) => {
      if (!life.dead) life.events.push(event)
    }
    const hooks = ALL_TYPES.map((type) => ({
      id: type,
      type,
      handler,
      ...(type === 'beforeToolCall' && { mocks: false }),
    }))
    dispatcher.use({ name: 'see', hooks: hooks as never })
    const moment = (what: string) => this.#moment(life, what)
    return {
      agent: this.#agent(life, '0', this.plan),
      client: this.#model(moment),
      priceOf: () => 1,
      dispatcher,
      gates: [this.#gate(moment)],
      approver: (request: ApprovalRequest) => this.#human(request, moment),
      signal: life.controller.signal,
      checkpoint: new StoreOf(this.store, life, moment),
    }
  }

  #agent(life: Life, id: string, plan: AgentPlan): Agent {
    const subAgents = plan.steps.flatMap((calls, step) =>
      calls.flatMap((call, index) => {
        if (call.kind !== 'agent') return []
        return [this.#agent(life, `${id}_${step}_${index}`, call.agent)]
      }),
    )
    return {
      name: `agent_${id}`,
      instructions: id,
      model: 'stateless',
      tools: TOOLS.map((kind) => this.#tool(life, kind)),
      ...(subAgents.length > 0 && { subAgents }),
    }
  }

  #tool(life: Life, kind: ToolKind): AgentTool<{ call: string }> {
    return {
      name: kind,
      parameters: { type: 'object', properties: { call: { type: 'string' } } },
      idempotent: kind === 'idempotent',
      needsApproval: ['asks', 'asks_later', 'refused'].includes(kind),
      execute: async (args, { idempotencyKey: key, toolCallId: call }) => {
        await this.#moment(life, 'before a tool')
        this.begun.push({ call, key, args, life: life.number })
        const plan = this.callPlans.get(call) as { turns: number }
        for (let i = 0; i < plan.turns; i++) await turn()
        await this.#moment(life, 'after a tool')
        if (kind === 'fails') throw new Error(`${call} failed`)
        return `${call} done`
      },
    }
  }

  #gate(moment: (what: string) => Promise<void>): Gate {
    return {
      id: 'house-rules',
      point: 'beforeToolCall',
      decide: async ({ apiName, payload }) => {
        await moment('at a gate')
        if (apiName === 'denied') return { decision: 'deny', reason: 'not here' }
        if (apiName === 'skipped') return { decision: 'skip', result: 'left out' }
        if (apiName === 'mutated')
          return { decision: 'mutate', payload: { ...(payload as object), by: 'gate' } }
        return { decision: 'proceed' }
      },
    }
  }

  async #human(
    { id, toolCallId, apiName }: ApprovalRequest,
    moment: (what: string) => Promise<void>,
  ): Promise<ApprovalAnswer | ParkedApproval> {
    await moment('before a question')
    const before = this.asked.get(toolCallId) ?? new Set()
    const first = before.size === 0
    this.asked.set(toolCallId, before.add(id))
    await moment('after a question')
    if (apiName === 'refused') return { decision: 'reject', reason: 'no' }
    if (apiName === 'asks_later' && first) return { decision: 'park' }
    return { decision: 'approve' }
  }

  #model(moment: (what: string) => Promise<void>) {
    const answer = statelessModel((messages) => {
      const id = String(messages[0]?.content)
      const plan = this.plans.get(id) as AgentPlan
      const step = messages.filter(({ role }) => role === 'assistant').length
      const calls = plan.steps[step]
      if (calls === undefined) {
        const told = messages.filter(({ role }) => role === 'tool').map(({ content }) => content)
        return { content: JSON.stringify(told) }
      }
      return {
        calls: calls.map((call, index) => {
          const name = `${id}_${step}_${index}`
          return call.kind === 'agent'
            ? { id: name, name: `agent_${name}`, args: { instruction: name } }
            : { id: name, name: call.kind, args: { call: name } }
        }),
      }
    })
    const create = async (body: never, options?: never) => {
      await moment('before a reply')
      const reply = await answer.chat.completions.create(body, options)
      this.replies++
      await moment('after a reply')
      return reply
    }
    return { baseURL: answer.baseURL, chat: { completions: { create } } }
  }
}

/** The store as one process has it. */
class StoreOf {
  readonly #store: KeptRuns
  readonly #life: Life
  readonly #moment: (what: string) => Promise<void>

  constructor(store: KeptRuns, life: Life, moment: (what: string) => Promise<void>) {
    this.#store = store
    this.#life = life
    this.#moment = moment
  }

  async claim(operationId: string) {
    await this.#moment('before a claim')
    const claimed = await this.#store.claim(operationId)
    await this.#moment('after a claim')
    return claimed
  }

  async append(operationId: string, token: string, write: Parameters<KeptRuns['append']>[2]) {
    const { plan } = this.#life
    await this.#moment('before a record')
    if (plan?.end === 'cannot save' && this.#life.moments > plan.moment) throw new Error('the disk is full')
    await this.#store.append(operationId, token, write)
    await this.#moment('after a record')
  }

  async release(operationId: string, token: string, how: { finished: boolean }) {
    await this.#moment('before the release')
    await this.#store.release(operationId, token, how)
    await this.#moment('after the release')
  }

  list() {
    return this.#store.list()
  }
}
