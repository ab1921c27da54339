import { assertAdapterOptions } from '../../adapter/adapter-options.ts'
import { guardsRun } from '../../dispatcher/guards-of.ts'
import type { HookDispatcher } from '../../dispatcher/index.ts'
import { assertCapable } from '../../dispatcher/run/capabilities.ts'
import { currentPlace } from '../../dispatcher/run/current.ts'
import { isMocked } from '../../dispatcher/run/guarded.ts'
import { clashes } from '../../dispatcher/yielding.ts'
import { HookspanError } from '../../internal/errors.ts'
import { a, type Fields } from '../../internal/expect.ts'
import { defined, isRecord } from '../../internal/objects.ts'
import { asName } from '../../wire/reading.ts'
import { warnOfVersion } from '../peer-range.ts'
import { startOperation } from '../safe/operation.ts'
import type { RunHost } from '../sdk-run/observed-run.ts'
import { wrongTarget } from '../wrong-target.ts'
import { ADAPTER, UNREACHED } from './capabilities.ts'
import { seeInnerCalls } from './inner-calls.ts'
import { type MastraHost, MastraRun } from './mastra-run.ts'
import { patches } from './patches.ts'
import { generated, streamed } from './run.ts'
import type { MastraAgent, MastraMethod, MastraTools } from './sdk.ts'
import { noteServers, observeTools, refuseBackground } from './tools.ts'
import { warnOfVoice } from './voice.ts'
import { observeWorkflows } from './workflows.ts'

export interface ObserveMastraOptions {
  dispatcher: HookDispatcher
  /**
   * What becomes of the spans that Mastra makes itself, where an `observability` is configured, which sends them to places of
   * its own: `omit` leaves them out; `nest` puts them into the same trace, below the run. For whoever sends both to one place.
   *
   * @default neither: they are as without us
   */
  sdkSpans?: 'omit' | 'nest'
}

const FIELDS: Fields<ObserveMastraOptions> = { dispatcher: a.value, sdkSpans: a.oneOf('omit', 'nest') }

/** The agents whose runs are observed. Those that they call are, too, for as long as they are called by them. */
const observed = new WeakMap<object, MastraHost>()

/** Copies of agents by what they are copies of, and agents by the durable one that was made of them and is observed. */
const madeOf = new WeakMap<object, object>()

/**
 * Makes each run of a Mastra agent an operation: its turns, model calls, tools, the agents it delegates to, and the tools
 * that are steps of its workflows. `network()`, durable agents and the methods for models of the AI SDK 4 run past all of
 * that: there, gates and mocks are an error.
 *
 * @returns the same agent.
 * @throws HookspanError `INVALID_OPTION` when it is none, or is observed by another dispatcher; `NOT_CAPABLE` for an agent
 * of another make.
 * @example
 * const agent = observeMastra(new Agent({ id: 'support', name: 'support', instructions, model, tools }), { dispatcher })
 * await agent.generate('Where is my order?')
 */
export function observeMastra<T extends object>(agent: T, options: ObserveMastraOptions): T {
  assertAdapterOptions(options, FIELDS, 'observeMastra')
  const prototype = prototypeOf(agent)
  const before = observed.get(agent)
  if (clashes(before?.dispatcher, options.dispatcher)) {
    throw new HookspanError(
      'INVALID_OPTION',
      'This agent is observed by another dispatcher. Call unobserveMastra() on it first.',
    )
  }
  if (before === undefined) {
    warnOfVersion('@mastra/core')
    patches.hold(agent)
    warnOfVoice(agent as MastraAgent)
  }
  const { dispatcher, sdkSpans } = options
  const wrapped = wrappedBy(agent as MastraAgent)
  if (wrapped !== undefined) madeOf.set(wrapped, agent)
  observed.set(agent, { dispatcher, adapter: ADAPTER, ...defined({ sdkSpans }) })
  observePrototype(prototype)
  return agent
}

/** Ends it. With the last one, and once no observed run is under way, our functions are taken out of the SDK's class. */
export function unobserveMastra<T extends object>(agent: T): T {
  if (observed.delete(agent)) patches.drop(agent)
  return agent
}

const NEEDED = [
  'generate',
  'stream',
  'resumeGenerate',
  'resumeStream',
  'convertTools',
  'getModel',
  'getDefaultOptions',
] as const

function prototypeOf(agent: unknown): MastraAgent {
  const asked = agent as Partial<MastraAgent> | null
  if (typeof asked !== 'object' || asked === null || typeof asked.generate !== 'function') {
    throw wrongTarget('observeMastra', 'an Agent of @mastra/core', agent, mendOf(asked))
  }
  const missing = NEEDED.find((name) => typeof asked[name] !== 'function')
  if (missing !== undefined) {
    throw new HookspanError(
      'NOT_CAPABLE',
      `hookspan knows the Agent of @mastra/core 1, and this one has no ${missing}(): its tools would run unseen. ` +
        'Install @mastra/core 1.71 or later, or update hookspan.',
    )
  }
  let owner = agent as MastraAgent
  // The SDK's own class, where the user's overrides a method.
  for (
    let at = agent as object | null;
    at !== null && at !== Object.prototype;
    at = Object.getPrototypeOf(at)
  ) {
    if (Object.hasOwn(at, 'convertTools')) owner = at as MastraAgent
  }
  return owner
}

/** For what has agents. */
function mendOf(given: unknown): string | undefined {
  const { listAgents, createRun } = (given ?? {}) as { listAgents?: unknown; createRun?: unknown }
  if (typeof listAgents === 'function') {
    return 'Observe each of its agents: for (const agent of Object.values(mastra.listAgents())) observeMastra(agent, { dispatcher }).'
  }
  if (typeof createRun !== 'function') return undefined
  return 'Observe the agents that have it, or that its steps call: a workflow by itself is not seen.'
}

/** Who observes the run that begins now: the agent's own host, or that of the run which calls it. */
function hostOf(agent: MastraAgent): MastraHost | undefined {
  return ownHost(agent) ?? MastraRun.current?.host
}

function ownHost(agent: MastraAgent): MastraHost | undefined {
  const seen = new Set<object>()
  for (let at: object | undefined = agent; at !== undefined && !seen.has(at); ) {
    const host = observed.get(at)
    if (host !== undefined) return host
    seen.add(at)
    at = madeOf.get(at) ?? wrappedBy(at as MastraAgent)
  }
  return undefined
}

/** The agent that a durable one runs: by itself, an agent that is to be durable names itself. */
function wrappedBy(agent: MastraAgent): object | undefined {
  const wrapped: unknown = agent.agent
  return isRecord(wrapped) && wrapped !== (agent as object) ? wrapped : undefined
}

function observePrototype(prototype: MastraAgent): void {
  if (patches.has(prototype)) return
  observeRuns(prototype, 'generate', generated, false)
  observeRuns(prototype, 'stream', streamed, false)
  observeRuns(prototype, 'resumeGenerate', generated, true)
  observeRuns(prototype, 'resumeStream', streamed, true)
  for (const name of ['network', 'resumeNetwork', 'generateLegacy', 'streamLegacy'] as const) {
    observeOutside(prototype, name)
  }
  observeDurable(prototype)
  const { convertTools, listTools, listWorkflows } = prototype
  patches.replace(prototype, 'convertTools', async function (this: MastraAgent, ...args) {
    const run = MastraRun.current
    const tools = await convertTools.apply(this, args)
    if (run === undefined) return tools
    // They stand before those of the agent itself.
    for (const toolset of Object.values(args[0]?.toolsets ?? {})) {
      noteServers(run, toolset)
      seeInnerCalls(toolset)
    }
    await run.noted(async () => refuseBackground(this, tools))
    return observeTools(run, tools)
  })
  if (listTools !== undefined) {
    patches.replace(prototype, 'listTools', function (this: MastraAgent, ...args) {
      const tools = listTools.apply(this, args)
      const run = MastraRun.current
      if (run !== undefined)
        Promise.resolve(tools).then(
          (given) => {
            noteServers(run, given)
            seeInnerCalls(given)
          },
          () => {},
        )
      return tools
    })
  }
  if (listWorkflows === undefined) return
  patches.replace(prototype, 'listWorkflows', async function (this: MastraAgent, ...args) {
    const workflows = await listWorkflows.apply(this, args)
    await MastraRun.current?.noted(async () => observeWorkflows(workflows))
    return workflows
  })
}

function observeRuns(
  prototype: MastraAgent,
  name: 'generate' | 'stream' | 'resumeGenerate' | 'resumeStream',
  observe: typeof generated,
  resumes: boolean,
): void {
  const call: MastraMethod = prototype[name]
  patches.replace(prototype, name, async function (this: MastraAgent, first, options, ...more) {
    const isOurs = options !== undefined && MastraRun.current?.given === options
    const host = isOurs ? undefined : hostOf(this)
    // That is this method once more, and again for what comes of tasks in the background: a run each.
    if (host === undefined || options?.untilIdle) return call.call(this, first, options, ...more)
    // Its loop is a workflow's, in whatever process.
    if (this.durable) return outOfReach(host, this, () => call.call(this, first, options, ...more))
    patches.use()
    const asked = { agent: this, call, first, options, more, resumes }
    return observe(host, asked).finally(() => patches.release())
  })
}

function observeOutside(
  prototype: MastraAgent,
  name: 'network' | 'resumeNetwork' | 'generateLegacy' | 'streamLegacy',
): void {
  const call = prototype[name]
  if (typeof call !== 'function') return
  patches.replace(prototype, name, async function (this: MastraAgent, ...args) {
    const host = hostOf(this)
    return host === undefined ? call.apply(this, args) : outOfReach(host, this, () => call.apply(this, args))
  })
}

/**
 * A durable agent is of a class of its own, which overrides all that is asked of an agent: where it begins a run it asks
 * whether it may, and for the tools of the agent that it was made of. A copy has the overrides of a stored version.
 */
function observeDurable(prototype: MastraAgent): void {
  const { requireAgentExecutionFGA, getToolsForExecution, __fork } = prototype
  if (requireAgentExecutionFGA !== undefined) {
    patches.replace(prototype, 'requireAgentExecutionFGA', async function (this: MastraAgent, ...args) {
      const host = wrappedBy(this) === undefined ? undefined : hostOf(this)
      const ask = () => requireAgentExecutionFGA.apply(this, args)
      return host === undefined ? ask() : outOfReach(host, this, ask)
    })
  }
  if (getToolsForExecution !== undefined) {
    patches.replace(prototype, 'getToolsForExecution', async function (this: MastraAgent, ...args) {
      const tools = await getToolsForExecution.apply(this, args)
      const host = MastraRun.current === undefined ? ownHost(this) : undefined
      return host === undefined ? tools : outOfReachTools(host, this, tools)
    })
  }
  if (__fork === undefined) return
  patches.replace(prototype, '__fork', function (this: MastraAgent, ...args) {
    const fork = __fork.apply(this, args)
    madeOf.set(fork, this)
    return fork
  })
}

/** Whoever has them calls them when no run of ours is under way. */
function outOfReachTools(host: RunHost, agent: MastraAgent, tools: MastraTools): MastraTools {
  return Object.fromEntries(
    Object.entries(tools).map(([name, tool]) => {
      const execute = tool?.execute
      if (typeof execute !== 'function') return [name, tool]
      const isGuarded = () => currentPlace(host.dispatcher) !== undefined || guardsRun(host.dispatcher, {})
      const guarded: typeof execute = (...args) =>
        isGuarded() ? outOfReach(host, agent, async () => execute(...args)) : execute(...args)
      return [name, { ...tool, execute: guarded }]
    }),
  )
}

/**
 * What runs past all of our places is told as one run, until the SDK gives its result or its stream.
 *
 * @throws HookspanError `NOT_CAPABLE` where a gate or a mock is to have a say.
 */
async function outOfReach<T>(
  { dispatcher }: RunHost,
  agent: MastraAgent,
  call: () => Promise<T>,
): Promise<T> {
  const place = currentPlace(dispatcher)
  if (place !== undefined) {
    assertCapable(UNREACHED, place.core.allGates(), isMocked(place.core))
    return call()
  }
  const agentName = asName(agent.name)
  const op = startOperation(dispatcher, { adapter: UNREACHED, ...defined({ agentName }) })
  try {
    const result = await op.run(call)
    await op.complete()
    return result
  } catch (error) {
    await op.fail(error)
    throw error
  }
}
