import type { AgentMiddleware } from 'langchain'
import { assertAdapterOptions } from '../../adapter/adapter-options.ts'
import type { HookDispatcher, ParkedOperation } from '../../dispatcher/index.ts'
import type { AdapterInfo } from '../../dispatcher/run/capabilities.ts'
import { a, type Fields } from '../../internal/expect.ts'
import { defined } from '../../internal/objects.ts'
import { warnOfVersion } from '../peer-range.ts'
import { runWith, takeRunInit } from '../sdk-run/run-with.ts'
import { AgentRun, signalOf } from './agent-run.ts'
import { LANGCHAIN_CAPABILITIES } from './capabilities.ts'
import { inputDecided } from './changed-messages.ts'
import { outsideOfGraph } from './graph-place.ts'
import type { LcHandler, LcModelRequest, LcRuntime, LcState, LcToolRequest } from './lang-chain.ts'
import { plainMessages, textOf } from './messages.ts'
import { callModel } from './model-call.ts'
import { goesOnWith, resumedWith, stillWaits } from './resumed.ts'
import { whenStopped } from './stopped-graphs.ts'
import { interrupt, keep, MAX_THREADS, OURS, toldGraph } from './told-graphs.ts'
import { callTool } from './tool-call.ts'

export interface HookspanMiddlewareOptions {
  dispatcher: HookDispatcher
  /** Names the agent's runs. */
  agentName?: string
  /**
   * What comes of a tool that throws: the model is told, as LangChain does it where no middleware wraps tools, or it is thrown
   * on, as where one does: a middleware before this one may try again, and else the run ends. @default 'tell'
   */
  toolErrors?: 'tell' | 'throw'
}

/** What LangChain has to know of it: its types for `require` and those for `import` do not fit each other. */
export type HookspanMiddleware = Pick<AgentMiddleware, 'name'>

const FIELDS: Fields<HookspanMiddlewareOptions> = {
  ...{ dispatcher: a.value, agentName: a.string },
  toolErrors: a.oneOf('tell', 'throw'),
}

const ADAPTER: AdapterInfo = { name: 'langchain', capabilities: LANGCHAIN_CAPABILITIES }

/**
 * Attaches an agent of `createAgent`: its steps, model calls and tools live the lifecycle. Put it first: what comes
 * after it, a retry or a summary, then lies inside of what is seen and decided.
 *
 * An agent that is called inside of a tool is a sub-agent of the one that has the tool.
 *
 * @throws HookspanError `INVALID_OPTION`.
 * @example
 * const agent = createAgent({ model, tools, middleware: [hookspanMiddleware({ dispatcher })] })
 */
export function hookspanMiddleware(options: HookspanMiddlewareOptions): HookspanMiddleware {
  assertAdapterOptions(options, FIELDS, 'hookspanMiddleware')
  warnOfVersion('langchain')
  const runs = new Runs(options)
  return {
    name: OURS,
    beforeAgent: (state: LcState, runtime: LcRuntime) => runs.begin(state, runtime),
    wrapModelCall: async (request: LcModelRequest, handler: LcHandler<LcModelRequest>) =>
      callModel(runs.of(request.runtime, request.state), request, handler),
    wrapToolCall: async (request: LcToolRequest, handler: LcHandler<LcToolRequest>) =>
      callTool(runs.of(request.runtime, request.state), request, handler, options.toolErrors),
    afterAgent: (state: LcState, runtime: LcRuntime) => runs.end(state, runtime),
  } as HookspanMiddleware
}

class Runs {
  readonly #options: HookspanMiddlewareOptions
  /** By the writer of the outermost graph, which those inside of it share, and by the name of the agent's own graph. */
  readonly #runs = new WeakMap<object, Map<string, AgentRun>>()
  /** Runs that are not over, by their threads: a question that is not ours stops the graph, and tells nobody. */
  readonly #threads = new Map<string, AgentRun>()
  /** Those that have been parked, and may be gone on with in this process. */
  readonly #parked = new Map<string, ParkedOperation>()

  constructor(options: HookspanMiddlewareOptions) {
    this.#options = options
  }

  /** The run of this call of the agent. One that was interrupted goes on, where it is said which one that is. */
  of(runtime: LcRuntime, state: LcState): AgentRun {
    const known = this.#known(runtime)
    if (known !== undefined) return known
    const left = this.#threads.get(threadOf(runtime) ?? '')
    if (left !== undefined) return this.#remember(runtime, left)
    const resume = resumedWith(runtime, state) ?? this.#parkedOn(runtime, state)
    const start = () => this.#start(runtime, state)
    return resume === undefined ? start() : runWith({ resume, ...takeRunInit() }, start)
  }

  /** A tool's own question says nothing of the run that it has parked. */
  #parkedOn(runtime: LcRuntime, state: LcState): ParkedOperation | undefined {
    const parked = this.#parked.get(threadOf(runtime) ?? '')
    return parked !== undefined && goesOnWith(state, parked) ? parked : undefined
  }

  #known(runtime: LcRuntime): AgentRun | undefined {
    return runtime.writer && this.#runs.get(runtime.writer)?.get(graphOf(runtime))
  }

  #start(runtime: LcRuntime, state: LcState): AgentRun {
    const { messages = [] } = state
    const { dispatcher, agentName } = this.#options
    const [only] = messages
    const input = messages.length === 1 && only !== undefined ? textOf(only) : plainMessages(messages)
    const signal = signalOf(runtime)
    const above = toldGraph(dispatcher, runtime)?.above
    const said = { input, ...defined({ agentName, signal }) }
    const run = outsideOfGraph(() => new AgentRun({ dispatcher, adapter: ADAPTER }, said, above))
    this.#leaveParked(runtime, state, run)
    return this.#remember(runtime, run)
  }

  /** What goes on with the thread is another run than the one that waited on it. */
  #leaveParked(runtime: LcRuntime, state: LcState, { run }: AgentRun): void {
    const parked = this.#parked.get(threadOf(runtime) ?? '')
    if (parked === undefined || parked.operationId === run.resumed?.operationId) return
    if (stillWaits(state, parked)) outsideOfGraph(() => interrupt(this.#options.dispatcher, ADAPTER, parked))
  }

  #remember(runtime: LcRuntime, run: AgentRun): AgentRun {
    toldGraph(this.#options.dispatcher, runtime)?.claim(run)
    const { writer } = runtime
    if (writer !== undefined) {
      const runs = this.#runs.get(writer) ?? new Map<string, AgentRun>()
      this.#runs.set(writer, runs.set(graphOf(runtime), run))
    }
    // One that a tool calls is over with the tool.
    if (run.run.isPart || run.run.isCalled) return run
    if (writer !== undefined) run.leftWith(writer)
    const thread = threadOf(runtime)
    if (thread === undefined) {
      run.cannotGoOn()
      return run
    }
    const oldest = this.#threads.size >= MAX_THREADS ? this.#threads.keys().next().value : undefined
    if (oldest !== undefined) this.#forget(oldest)
    this.#forget(thread, run)
    this.#threads.set(thread, run)
    this.#parked.delete(thread)
    const forget = (parked?: ParkedOperation) => {
      if (this.#threads.get(thread) !== run) return
      this.#threads.delete(thread)
      if (parked !== undefined) keep(this.#parked, thread, parked)
    }
    const unheard = whenStopped(runtime, graphOf(runtime), run)
    outsideOfGraph(() => run.run.parked.then(forget, () => forget()).finally(unheard))
    return run
  }

  /** What goes on with the thread from now on is another run. */
  #forget(thread: string, instead?: AgentRun): void {
    const run = this.#threads.get(thread)
    if (run === undefined || run === instead) return
    this.#threads.delete(thread)
    run.cannotGoOn()
  }

  async begin(state: LcState, runtime: LcRuntime): Promise<object | undefined> {
    const { run } = this.#start(runtime, state)
    try {
      const input = await run.admit()
      return input === run.input ? undefined : { messages: inputDecided(state.messages, input) }
    } catch (error) {
      await run.fail(error)
      throw error
    }
  }

  async end(state: LcState, runtime: LcRuntime): Promise<undefined> {
    const { messages = [] } = state
    const known = this.#known(runtime)
    if (known?.isAskedAgain(state)) return undefined
    if (runtime.writer !== undefined) this.#runs.get(runtime.writer)?.delete(graphOf(runtime))
    if (known === undefined || known.run.isPart) return undefined
    await known.tellUnmade(messages)
    const last = messages.at(-1)
    const refusal = await known.end(last && textOf(last))
    if (refusal !== undefined) throw refusal
    return undefined
  }
}

/** The graph that a node is of, within the outermost one: LangGraph names nodes by the graphs around them. */
function graphOf({ configurable }: LcRuntime): string {
  const path = String(configurable?.checkpoint_ns ?? '').split('|')
  return path.slice(0, -1).join('|')
}

/** Of a graph that keeps its state, and the place in it of the agent, which is the same once it goes on. */
function threadOf(runtime: LcRuntime): string | undefined {
  const { thread_id } = runtime.configurable ?? {}
  return typeof thread_id === 'string' ? `${graphOf(runtime)} ${thread_id}` : undefined
}
