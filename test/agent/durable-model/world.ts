import { AsyncLocalStorage } from 'node:async_hooks'
import { HookDispatcher, type HookEvent } from 'hookspan'
import { currentCalls } from 'hookspan/adapter'
import { type Agent, type AgentTool, execAgent } from 'hookspan/agent'
import { createApprovals } from 'hookspan/approval'
import { type Gate, requireApproval } from 'hookspan/gates'
import { traceHooks } from 'hookspan/tracing'
import { vi } from 'vitest'
import type { DurableLoop } from '../../../src/durable/loop-run.ts'
import { DURABLE_FIELDS, type DurableAgentOptions } from '../../../src/durable/options.ts'
import { type DurableOutcome, DurableRuns } from '../../../src/durable/runs.ts'
import type { SpanLine } from '../../kill/trace.ts'
import { ALL_TYPES } from '../../support/told-events.ts'
import { tracerTelling } from '../../support/told-spans.ts'
import { Journal, MemoryEngine } from './engine.ts'
import { Humans } from './humans.ts'
import { modelOf, stepsOf, type Told } from './model.ts'
import { type AgentPlan, type CallPlan, type LifePlan, type RunPlan, TOOLS, type ToolKind } from './plan.ts'

export const ID = 'run-1'
export const HOUR_MS = 3_600_000

const never = () => new Promise<never>(() => {})
const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

/** One attempt at the run. What it does after its process died is not seen by anybody. */
export interface Life {
  readonly number: number
  readonly plan: LifePlan | undefined
  /** Attempts may follow each other in one process. */
  readonly runs: DurableRuns
  readonly engine: MemoryEngine
  moments: number
  /** Tells the end of a run that its engine goes on with nowhere. */
  readonly ends: boolean
  dead: boolean
  /** How many events it had told when it lost the run. */
  lostAt: number | undefined
  readonly over: PromiseWithResolvers<'died' | 'lost' | 'suspended'>
  readonly events: HookEvent[]
  readonly spans: SpanLine[]
}

/** A tool that was begun. */
export interface Body {
  readonly call: string
  readonly key: string
  readonly life: number
}

/** Nothing of a run takes long but what the clock is turned for. */
async function standsStill(life: Life, { signal }: AbortController): Promise<never> {
  for (let moments = -1, turns = 0; turns < 5_000; turns++) {
    if (signal.aborted) return never()
    if (moments !== life.moments) turns = 0
    moments = life.moments
    await turn()
  }
  throw new Error(`Attempt ${life.number} stands still.`)
}

/** In a tool nobody can wait for a human in another process. */
const withoutHumans = ({ steps }: AgentPlan): AgentPlan => ({
  steps: steps.map((calls) =>
    calls.map(
      (call) =>
        (/asks|refused|stops|unanswered/.test(call.kind) ? { ...call, kind: 'plain' } : call) as CallPlan,
    ),
  ),
})

/** The effects of a run, over all its processes. */
export class World {
  readonly plan: RunPlan
  readonly callPlans = new Map<string, CallPlan>()
  readonly agentPlans = new Map<string, AgentPlan>()
  readonly lives: Life[] = []
  readonly journal = new Journal()
  /** Tools that were begun. */
  readonly begun: Body[] = []
  readonly humans = new Humans(this.callPlans)
  readonly #tally: (what: string) => void
  readonly #here = new AsyncLocalStorage<Life>()
  over = false
  #clock: Promise<unknown> = Promise.resolve()

  constructor(plan: RunPlan, tally: (what: string) => void) {
    this.plan = plan
    this.#tally = tally
    this.#name('0', plan.agent, plan.what === 'loop')
  }

  #name(id: string, plan: AgentPlan, isLoop: boolean): void {
    this.agentPlans.set(id, plan)
    for (const { name, call } of stepsOf(id, plan).flat()) {
      this.callPlans.set(name, call)
      if (call.kind === 'agent') this.#name(name, isLoop ? withoutHumans(call.agent) : call.agent, isLoop)
    }
  }

  /** Who goes on with the run, until it ends or is over for this attempt. */
  async live(plan: LifePlan | undefined): Promise<DurableOutcome | 'died' | 'lost' | 'suspended' | 'ended'> {
    const before = this.lives.at(-1)
    const engine = new MemoryEngine(this.journal, {
      ...this.plan,
      moment: (what) => this.#moment(life, what),
      wait: (ids, timeoutMs) => this.#wait(ids, timeoutMs),
      suspend: () => life.over.resolve('suspended'),
      hasLost: () => life.dead || life.lostAt !== undefined,
    })
    if (plan?.cancelled) this.journal.cancel()
    const life: Life = {
      ends: this.plan.forgets && this.journal.cancelled,
      number: this.lives.length,
      plan,
      runs: before === undefined || before.dead ? this.#runs() : before.runs,
      engine,
      moments: 0,
      dead: false,
      lostAt: undefined,
      over: Promise.withResolvers(),
      events: [],
      spans: [],
    }
    this.lives.push(life)
    const run = this.#here.run(life, () =>
      life.ends ? this.#end(life.runs) : life.runs.run(engine, ID, { prompt: 'go' }),
    )
    if (before !== undefined) before.lostAt ??= before.events.length
    run.catch(() => {})
    const over = new AbortController()
    const ended = await Promise.race([run, life.over.promise, standsStill(life, over)])
    over.abort()
    if (ended !== 'suspended') return ended
    engine.lose()
    life.lostAt = life.events.length
    return ended
  }

  /** DBOS begins no cancelled run again: its end is told from what was kept. */
  async #end(runs: DurableRuns): Promise<'ended'> {
    const kept = this.journal.entries.map((entry) => ({
      name: entry.name,
      output: entry.kind === 'kept' ? JSON.parse(entry.output) : null,
      error: null,
    }))
    await runs.end(ID, { prompt: 'go' }, kept)
    return 'ended'
  }

  /** Something outside of the process happens, or has: what is done next of a process that died is not done. */
  async #moment(life: Life, what: string): Promise<void> {
    if (!life.dead) this.#passes(life, what)
    if (life.dead) return never()
  }

  /** Between any two things that are told the attempt may be over. */
  #passes(life: Life, what: string): void {
    const { plan } = life
    if (plan?.moment !== life.moments++ || life.lostAt !== undefined) return
    // Whoever tells the end of a run that is begun by nobody has no engine that could take it away.
    if (life.ends && plan.end !== 'dies') return
    this.#tally(`${plan.end} ${what}`)
    if (plan.end === 'is cancelled') return this.journal.cancel()
    if (plan.end === 'dies') {
      for (const one of this.lives) if (one.runs === life.runs) one.dead = true
      return life.over.resolve('died')
    }
    // Nothing comes from an engine while something is told.
    queueMicrotask(() => {
      if (plan.end === 'loses') {
        life.engine.lose()
        life.lostAt = life.events.length
      }
      life.over.resolve('lost')
    })
  }

  /** The attempt that the running code is part of. */
  get #life(): Life {
    return this.#here.getStore() as Life
  }

  #now(what: string): Promise<void> {
    return this.#moment(this.#life, what)
  }

  #runs(): DurableRuns {
    const dispatcher = new HookDispatcher()
    dispatcher.use(createApprovals({ store: this.humans.told((what) => this.#now(what)), mode: 'park' }))
    dispatcher.use(traceHooks({ tracer: tracerTelling((line) => this.#see(this.#life, line)) }))
    const handler = (event: HookEvent) => {
      const life = this.#life
      if (life.dead) return
      life.events.push(event)
      this.#passes(life, `after ${event.hookType}`)
    }
    const hooks = ALL_TYPES.map((type) => ({
      id: type,
      type,
      handler,
      ...(type === 'beforeToolCall' && { mocks: false }),
    }))
    dispatcher.use({ name: 'see', hooks: hooks as never, gates: [this.#gate()] })
    const { what, limit, agent: plan } = this.plan
    const agent = what === 'agent' ? this.#agent('0', plan, limit) : this.#loop(plan, dispatcher)
    const options: DurableAgentOptions = {
      name: 'model',
      agent: agent as Agent,
      dispatcher,
      priceOf: () => 1,
      ...(what === 'agent' && { client: this.#client() as never }),
      ...(limit === 'maxDurationMs' && { maxDurationMs: HOUR_MS / 2 }),
    }
    return DurableRuns.of(options, DURABLE_FIELDS, () => undefined)
  }

  #see(life: Life, line: SpanLine): void {
    if (life.dead) return
    life.spans.push({ ...line, pid: life.number })
    this.#passes(life, `after the ${line.at} of a span`)
  }

  #client() {
    return modelOf(this.agentPlans, (what) => this.#now(what))
  }

  #agent(id: string, plan: AgentPlan, limit?: RunPlan['limit']): Agent {
    const called = stepsOf(id, plan)
      .flat()
      .flatMap(({ name, call }) => {
        if (call.kind !== 'agent') return []
        return [call.shared ? this.#shared : this.#agent(name, call.agent)]
      })
    const subAgents = [...new Map(called.map((one) => [one.name, one])).values()]
    const compaction = { thresholdTokens: 40, keepMessages: 2, countTokens: () => 1 }
    return {
      name: `agent_${id}`,
      instructions: id,
      model: 'stateless',
      tools: TOOLS.map((kind) => this.#tool(kind)),
      ...(subAgents.length > 0 && { subAgents }),
      ...(this.plan.compacts && { compaction }),
      ...(limit === 'maxSteps' && { maxSteps: 2 }),
      ...(limit === 'maxCostUsd' && { maxCostUsd: 2 }),
    }
  }

  get #shared(): Agent {
    const tools = TOOLS.map((kind) => this.#tool(kind))
    return { name: 'shared', instructions: 'shared', model: 'stateless', tools }
  }

  #tool(kind: ToolKind): AgentTool<{ call: string }> {
    return {
      name: kind,
      parameters: { type: 'object', properties: { call: { type: 'string' } } },
      idempotent: kind === 'keyed',
      execute: ({ call }, { idempotencyKey: key }) => this.#body(kind, call, key),
    }
  }

  async #body(kind: ToolKind, call: string, key: string): Promise<string> {
    await this.#now('before a tool')
    this.begun.push({ call, key, life: this.#life.number })
    const plan = this.callPlans.get(call) as { turns: number }
    for (let i = 0; i < plan.turns; i++) await turn()
    if (kind === 'slow') await this.#pass(HOUR_MS)
    await this.#now('after a tool')
    if (kind === 'fails') throw new Error(`${call} failed`)
    return `${call} done`
  }

  /** The same run as a function; an agent in it is run in a tool. */
  #loop(plan: AgentPlan, dispatcher: HookDispatcher): DurableLoop<{ prompt: string }> {
    return async (run) => {
      const steps = stepsOf('0', plan)
      const told: [string, string][] = []
      for (const [at] of [...steps, []].entries()) {
        await run.step(async (step) => {
          const said = await step.llmCall({ model: 'stateless', request: { messages: [] } }, async () => {
            await this.#now('before a reply')
            await this.#now('after a reply')
            return { usage: { prompt_tokens: 10, completion_tokens: 5 }, model: 'stateless' }
          })
          if (said.model !== 'stateless') throw new Error('not what was kept')
          const outcomes = await step.toolCalls(
            (steps[at] ?? []).map(({ name, call: { kind } }) => ({
              toolCallId: name,
              apiName: kind,
              args: { call: name },
              idempotent: kind === 'keyed',
              run: (_args, { idempotencyKey }) =>
                kind === 'agent' ? this.#aside(name, dispatcher) : this.#body(kind, name, idempotencyKey),
            })),
          )
          for (const [index, { content }] of outcomes.entries())
            told.push([steps[at]?.[index]?.name ?? '', content])
        })
      }
      return JSON.stringify(told satisfies Told)
    }
  }

  /** Nobody keeps what comes of it until it ends. */
  async #aside(name: string, dispatcher: HookDispatcher): Promise<string> {
    const agent = this.#agent(name, this.agentPlans.get(name) as AgentPlan)
    const client = this.#client() as never
    const run = await currentCalls()?.callAgent({ agentName: agent.name, instruction: name }, (parent) =>
      execAgent({ agent, prompt: name, parent, client, dispatcher, priceOf: () => 1 }),
    )
    return run?.content ?? ''
  }

  #gate(): Gate {
    return {
      id: 'house-rules',
      point: 'beforeToolCall',
      decide: async ({ apiName = '' }) => {
        await this.#now('at a gate')
        if (apiName === 'denied') return { decision: 'deny', reason: 'not here' }
        if (apiName === 'skipped') return { decision: 'skip', result: 'left out' }
        if (['asks', 'refused', 'stops'].includes(apiName)) return requireApproval()
        if (apiName === 'unanswered') return requireApproval({ timeoutMs: 20_000 })
        return { decision: 'proceed' }
      },
    }
  }

  async #wait(ids: readonly string[], timeoutMs: number): Promise<void> {
    await this.#pass(Math.min(this.humans.msUntil(ids), timeoutMs))
    await this.humans.answer()
  }

  /** Time goes on for everybody, until the run has ended. */
  #pass(ms: number): Promise<unknown> {
    if (this.over) return never()
    this.#clock = this.#clock.then(() => vi.advanceTimersByTimeAsync(ms))
    return this.#clock
  }
}
