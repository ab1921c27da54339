import { AsyncLocalStorage } from 'node:async_hooks'
import type { ParkedOperation } from '../../dispatcher/index.ts'
import { HookspanError } from '../../internal/errors.ts'
import { defined } from '../../internal/objects.ts'
import { asObject, asObjects, type Loose } from '../../wire/reading.ts'
import { replace } from '../replace.ts'
import { relay } from '../sdk-loop/relay.ts'
import { refuseInDurableRun } from '../sdk-run/durable-limits.ts'
import type { ReachedLimit } from '../sdk-run/loop-limits.ts'
import type { RunHost, SaidOfRun } from '../sdk-run/observed-run.ts'
import { Patches } from '../sdk-run/patches.ts'
import { runWith } from '../sdk-run/run-with.ts'
import { AgentRun, isAsked } from './agent-run.ts'
import { seeInnerCalls } from './inner-calls.ts'
import { plainMessages, systemText, textOf } from './messages.ts'
import { callModel } from './model-call.ts'
import type {
  ModelContext,
  ModelResult,
  Stage,
  StrandsAgent,
  StrandsBlock,
  StrandsEvent,
  StrandsMessage,
  StrandsOptions,
  StrandsRegistry,
  StrandsResult,
  ToolContext,
} from './sdk.ts'
import { omitSdkSpans } from './sdk-spans.ts'
import { callTool } from './tool-call.ts'

/** What agents are observed with. */
export interface Host extends RunHost {
  readonly agentName: string | undefined
  readonly omitSdkSpans: boolean
}

type Stream = AsyncGenerator<StrandsEvent, StrandsResult>

/** Whether a tool runs in the background: its agent does not wait for it. */
const inBackground = new AsyncLocalStorage<true>()
/** Where no run is. */
const outside = AsyncLocalStorage.snapshot()

/** Of more nobody says that they will not be answered. */
const MAX_WAITING = 1_024

/** What the SDK calls an agent that was given no name. */
const UNNAMED = 'Strands Agent'

/** What its `limits` end a run with. */
const LIMITS: Readonly<Record<string, ReachedLimit>> = {
  limitTurns: 'max_steps',
  limitTotalTokens: 'cost_limit',
  limitOutputTokens: 'cost_limit',
}

/** An agent, whose invocations are runs. It has one at a time: the SDK refuses a second one. */
export class ObservedAgent {
  readonly #agent: StrandsAgent
  readonly #host: Host
  readonly #begin: (agent: StrandsAgent) => void
  readonly #undo: (() => void)[] = []
  readonly #tools = new Patches()
  #isBusy = false
  #isLeft = false
  #current: AgentRun | undefined
  /**
   * Runs that stopped for a question which is not ours, by its interrupt: one agent may have several, whose snapshots
   * are put into it in turn.
   */
  readonly #waiting = new Map<string, ParkedOperation>()

  /** @param begin is told each agent that the agent has as a tool. */
  constructor(agent: StrandsAgent, host: Host, begin: (agent: StrandsAgent) => void) {
    this.#agent = agent
    this.#host = host
    this.#begin = begin
  }

  /** @returns leaves the agent as it was; a run under way is guarded to its end. */
  attach(): () => void {
    const agent = this.#agent
    const { stream, cancel, _middlewareRegistry: registry } = agent
    const undoStream = replace(agent, 'stream', (args, options) => {
      // Where it was asked for is where the run belongs, wherever its events are read.
      const where = AsyncLocalStorage.snapshot()
      const reading: Stream = this.#stream(where, stream.bind(agent), args, options, ({ run }) =>
        run.leftWith(reading),
      )
      return reading
    })
    const undoCancel = replace(agent, 'cancel', () => {
      this.#current?.cancel()
      cancel.call(agent)
    })
    this.#undo.push(undoCancel, replace(registry, 'invoke', this.#invoke(registry.invoke.bind(registry))))
    const { toolExecutor } = agent
    const execute = toolExecutor?.executeBackground
    if (toolExecutor !== undefined && execute !== undefined) {
      const observed: typeof execute = (scope, ...asked) => {
        refuseBackground()
        // It has a tracer of its own, made for this call.
        if (this.#host.omitSdkSpans) omitSdkSpans(scope.tracer)
        return inBackground.run(true, () => execute.call(toolExecutor, scope, ...asked))
      }
      this.#undo.push(replace(toolExecutor, 'executeBackground', observed))
    }
    if (this.#host.omitSdkSpans) this.#undo.push(omitSdkSpans(agent._tracer))
    return () => {
      undoStream()
      this.#isLeft = true
      if (!this.#isBusy) this.#leave()
    }
  }

  #leave(): void {
    for (const undo of this.#undo.splice(0)) undo()
    this.#tools.undoAll()
  }

  async *#stream(
    where: <T>(fn: () => T) => T,
    stream: StrandsAgent['stream'],
    args: unknown,
    options: StrandsOptions | undefined,
    begun: (agent: AgentRun) => void,
  ): Stream {
    // The SDK refuses it.
    if (this.#isBusy) return yield* stream(args, options)
    this.#isBusy = true
    try {
      // Tools of MCP servers and plugins are there from then on.
      await this.#agent.initialize()
      for (const { agent } of this.#agent.tools) this.#begin(agent as StrandsAgent)
      const agent = where(() => this.#start(args, options))
      this.#current = agent
      begun(agent)
      return yield* this.#observed(agent, stream, args, options)
    } finally {
      this.#current = undefined
      this.#isBusy = false
      if (this.#isLeft) this.#leave()
    }
  }

  async *#observed(
    agent: AgentRun,
    stream: StrandsAgent['stream'],
    args: unknown,
    options: StrandsOptions | undefined,
  ): Stream {
    let isOver = false
    try {
      const input = changedInput(args, agent.run.input, await agent.run.admit())
      const events = agent.run.run(() => stream(input, options))
      const result = yield* relay(events, (step) => agent.run.run(step))
      isOver = true
      if (result === undefined) throw new Error('The agent of Strands ended without a result.')
      await this.#end(agent, result)
      return result
    } catch (error) {
      isOver = true
      await agent.run.fail(error)
      throw error
    } finally {
      // Whoever read its events has left.
      if (!isOver) await agent.run.end()
    }
  }

  async #end(agent: AgentRun, result: StrandsResult): Promise<void> {
    if (result.stopReason === 'interrupt') await agent.park(result)
    if (agent.parked !== undefined) return this.#keepWaiting(agent.parked, result)
    // It is no answer: with `checkpointing` whoever invokes the agent goes on with it, or does not.
    if (result.stopReason === 'checkpoint') return agent.run.interrupt()
    if (result.stopReason === 'cancelled') agent.cancel()
    const content = textOf(result.lastMessage?.content ?? [])
    agent.run.limit = LIMITS[result.stopReason]
    const refusal = await agent.run.end(content)
    if (refusal !== undefined) throw refusal
  }

  #keepWaiting(parked: ParkedOperation, { interrupts = [] }: StrandsResult): void {
    for (const { id } of interrupts) this.#waiting.set(id, parked)
    for (const id of this.#waiting.keys()) {
      if (this.#waiting.size <= MAX_WAITING) return
      this.#waiting.delete(id)
    }
  }

  #start(args: unknown, options: StrandsOptions | undefined): AgentRun {
    const { name, systemPrompt, tools, _backgroundTasks } = this.#agent
    if (_backgroundTasks !== undefined) refuseBackground()
    const said = {
      agentName: this.#host.agentName ?? (name === UNNAMED ? undefined : name),
      input: inputOf(args),
      instructions: systemText(systemPrompt),
      tools: tools.map((tool) => ({ name: tool.name })),
      signal: options?.cancelSignal,
    }
    return new AgentRun(this.#host, defined(said) as SaidOfRun, this.#parkedBy(args))
  }

  /** What the agent is invoked with are answers: the run goes on that asked. */
  #parkedBy(args: unknown): ParkedOperation | undefined {
    const answers = asObjects(args).flatMap((one): Loose[] => [asObject(one.interruptResponse) ?? []].flat())
    if (answers.length === 0) return undefined
    const { interrupts } = this.#agent.takeSnapshot({ include: ['interrupts'] }).data
    const asked = asObject(asObject(interrupts)?.interrupts)
    const ids = answers.map(({ interruptId }) => String(interruptId))
    const reasons = [
      ...answers.map(({ response }) => response),
      ...ids.map((id) => asObject(asked?.[id])?.reason),
    ]
    const parked =
      reasons.filter(isAsked).find((reason) => reason.parked !== undefined)?.parked ??
      ids.map((id) => this.#waiting.get(id)).find((waiting) => waiting !== undefined)
    for (const id of ids) this.#waiting.delete(id)
    return parked
  }

  /** Around the model and the tools themselves: what other middleware does lies outside. */
  #invoke(invoke: StrandsRegistry['invoke']): StrandsRegistry['invoke'] {
    return (stage, context, terminal) => {
      switch (stage.name) {
        case 'invokeModel':
          return invoke(stage, context, this.#model(terminal as Stage<ModelContext, ModelResult>))
        case 'executeTool':
          return invoke(stage, context, this.#tool(terminal as Stage<ToolContext, StrandsBlock>))
        case 'agentStream':
          return this.#parking(invoke(stage, context, terminal))
        default:
          return invoke(stage, context, terminal)
      }
    }
  }

  #model(terminal: Stage<ModelContext, ModelResult>): Stage<ModelContext, ModelResult> {
    return (context) => {
      const agent = this.#current
      return agent === undefined ? terminal(context) : callModel(agent, context, terminal)
    }
  }

  #tool(terminal: Stage<ToolContext, StrandsBlock>): Stage<ToolContext, StrandsBlock> {
    return (context) => {
      const agent = this.#current
      // Which a hook or a tool may have brought along since the run began.
      this.#begin(context.tool?.agent as StrandsAgent)
      seeInnerCalls(this.#tools, this.#agent.tools)
      return agent === undefined || inBackground.getStore()
        ? this.#alone(context, terminal)
        : callTool(agent, context, terminal)
    }
  }

  /** A tool in the background, which outlives the step that asked for it, and the run: a run of its own below it. */
  async *#alone(
    context: ToolContext,
    terminal: Stage<ToolContext, StrandsBlock>,
  ): AsyncGenerator<StrandsEvent, { readonly result: StrandsBlock }> {
    const parent = (await this.#current?.run.calls())?.parent()
    const start = () => this.#start(undefined, undefined)
    const agent = outside(() => (parent === undefined ? start() : runWith({ parent }, start)))
    try {
      await agent.run.admit()
      return yield* callTool(agent, context, terminal)
    } finally {
      await agent.run.end()
    }
  }

  /** Before the SDK's sessions are saved, the interrupts say what continues the run. */
  async *#parking(stage: AsyncGenerator<StrandsEvent, unknown>): AsyncGenerator<StrandsEvent, unknown> {
    this.#current?.unpark()
    const made = yield* stage
    const { result } = made as { readonly result: StrandsResult }
    if (result.stopReason === 'interrupt') await this.#current?.park(result)
    return made
  }
}

function refuseBackground(): void {
  refuseInDurableRun(
    'has tools of Strands that run in the background',
    'Take `backgroundTasks` from the agent.',
  )
}

function inputOf(args: unknown): unknown {
  if (!Array.isArray(args)) return typeof args === 'string' ? args : undefined
  const items = args as readonly (StrandsMessage & StrandsBlock & { interruptResponse?: unknown })[]
  if (items.some(({ interruptResponse }) => interruptResponse !== undefined)) return undefined
  if (items.every(({ type }) => typeof type === 'string'))
    return plainMessages([{ role: 'user', content: items } as unknown as StrandsMessage])
  const ofClass = items.every(({ content }) => content?.every(({ type }) => typeof type === 'string'))
  return ofClass ? plainMessages(items) : items
}

/** @throws HookspanError `NOT_CAPABLE` where what gates made of the input is not what the agent takes. */
function changedInput(args: unknown, before: unknown, after: unknown): unknown {
  if (after === before) return args
  if (typeof args === 'string' && typeof after === 'string') return after
  throw new HookspanError(
    'NOT_CAPABLE',
    'An onStart gate changed an input of several messages or blocks, which Strands keeps. Change the request at ' +
      'beforeLlmCall.',
  )
}
