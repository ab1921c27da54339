import { assertAdapterOptions } from '../../adapter/adapter-options.ts'
import type { HookDispatcher, ToolOutOfReach } from '../../dispatcher/index.ts'
import { clashes } from '../../dispatcher/yielding.ts'
import { HookspanError } from '../../internal/errors.ts'
import { a, type Fields } from '../../internal/expect.ts'
import { responses } from '../../wire/responses.ts'
import { hostedTools } from '../generated-client/hosted-tools.ts'
import { warnOfVersion } from '../peer-range.ts'
import { isLocked } from '../replace.ts'
import { unseenTool, warnOfUnseen } from '../unseen.ts'
import { wrongTarget } from '../wrong-target.ts'
import { observeFilter, observeHandoff, observeSession } from './handoffs.ts'
import { nameOf, observeModel, observeProvider } from './model.ts'
import { watchOwnTools } from './own-tools.ts'
import { patches } from './patches.ts'
import { currentFrame, type Frame } from './place.ts'
import { refusals } from './refusals.ts'
import { learnServers, registrationsOf } from './registrations.ts'
import { type Asked, observedRun } from './run.ts'
import {
  type Agent,
  type AnyTool,
  type Handoff,
  isFunctionTool,
  isModel,
  isRunState,
  type Run,
  type Runner,
  type RunResult,
} from './sdk.ts'
import { watchServer } from './swallowed-failure.ts'
import { homeOf, observeTool } from './tools.ts'

export interface ObserveAgentsOptions {
  dispatcher: HookDispatcher
}

const FIELDS: Fields<ObserveAgentsOptions> = { dispatcher: a.value }

/** The module `@openai/agents`, or `@openai/agents-core`. */
interface AgentsModule {
  readonly Runner: { readonly prototype: Runner }
}

/** Whose runs are observed: a runner's, or by its prototype all of one copy of the SDK. */
const observed = new WeakMap<object, HookDispatcher>()

/**
 * Makes each run of a runner an operation: its turns, model calls, tools, handoffs and the agents that it calls. Given
 * the module itself, each run that begins through this copy of the SDK, with the global `run()` as well.
 *
 * @returns the same.
 * @throws HookspanError `INVALID_OPTION` when it is neither, or is observed by another dispatcher.
 * @example
 * const runner = observeAgents(new Runner(), { dispatcher })
 * await runner.run(agent, 'Where is my order?')
 */
export function observeAgents<T extends object>(target: T, options: ObserveAgentsOptions): T {
  assertAdapterOptions(options, FIELDS, 'observeAgents')
  const { key, prototype } = attachable(target)
  const before = observed.get(key)
  if (clashes(before, options.dispatcher)) {
    throw new HookspanError(
      'INVALID_OPTION',
      'These agents are observed by another dispatcher. Call unobserveAgents() with the same object first.',
    )
  }
  if (before === undefined) {
    warnOfVersion('@openai/agents')
    patches.hold(key)
  }
  observed.set(key, options.dispatcher)
  observePrototype(prototype)
  return target
}

/**
 * Ends it. With the last one, and once no observed run is under way, all that was put into objects of the SDK is taken
 * out.
 */
export function unobserveAgents<T extends object>(target: T): T {
  const { key } = attachable(target)
  if (observed.delete(key)) patches.drop(key)
  return target
}

function attachable(target: unknown): { key: object; prototype: Runner } {
  const { Runner } = (target ?? {}) as Partial<AgentsModule>
  if (typeof Runner === 'function')
    return {
      key: (Runner as AgentsModule['Runner']).prototype,
      prototype: (Runner as AgentsModule['Runner']).prototype,
    }
  const { run, config } = (target ?? {}) as Partial<Runner>
  const prototype =
    typeof run === 'function' && typeof config === 'object' ? ownerOf(target as object, 'run') : undefined
  if (prototype !== undefined) return { key: target as object, prototype: prototype as Runner }
  throw wrongTarget(
    'observeAgents',
    'a Runner of @openai/agents, or the module itself (`import * as agents`)',
    target,
  )
}

/** The last object of the chain that has the method as its own: the SDK's, where the user's class overrides it. */
function ownerOf(object: object, name: string): object | undefined {
  let found: object | undefined
  for (
    let at = Object.getPrototypeOf(object);
    at !== null && at !== Object.prototype;
    at = Object.getPrototypeOf(at)
  ) {
    if (Object.hasOwn(at, name)) found = at
  }
  return found
}

function observePrototype(prototype: Runner): void {
  if (patches.has(prototype)) return
  const { run } = prototype
  patches.replace(prototype, 'run', function (this: Runner, ...args: Parameters<Run>) {
    const dispatcher = observed.get(this) ?? currentFrame()?.place.dispatcher ?? observed.get(prototype)
    if (dispatcher === undefined) return run.apply(this, args)
    const [agent, input, options, ...more] = args
    const original: Run = (...given) => run.apply(this, [...given, ...more] as Parameters<Run>)
    return observedFrom(dispatcher, { runner: this, run: original, agent, input, options })
  })
}

async function observedFrom(dispatcher: HookDispatcher, asked: Asked): Promise<RunResult> {
  patches.use()
  let result: RunResult | undefined
  try {
    await learnServers(asked.agent)
    const unseen = prepare(asked)
    result = await observedRun(dispatcher, { ...asked, unseen })
    return result
  } finally {
    const streaming = asked.options?.stream === true ? result?.completed : undefined
    const release = () => patches.release()
    if (streaming === undefined) release()
    else streaming.then(release, release)
  }
}

/** @returns the tools that wait to be run where nobody decides on them. What else is out of reach is noticed when the run asks for it. */
function prepare({ runner, agent, input, options }: Asked): ToolOutOfReach[] {
  watchOwnTools(runner)
  observeSession(options?.session)
  observeProvider(runner.config?.modelProvider)
  observeModel(runner.config?.model)
  if (runner.config && !patches.has(runner.config)) observeFilter(runner.config, 'handoffInputFilter')
  observeAgent(agent)
  if (!isRunState(input)) return []
  // Its tools were looked up when it was read, which may have been before anything was observed.
  const { _currentAgent: current, _lastProcessedResponse: last } = input
  if (current !== undefined) observeAgent(current)
  const found = [...(input._toolSearchRuntimeToolsByAgent?.keys() ?? [])].flatMap((of) =>
    observeTools(of, input.getToolSearchRuntimeTools?.(of) ?? []),
  )
  const waiting = observeTools(
    current ?? agent,
    (last?.functions ?? []).map(({ tool }) => tool),
  )
  const handoffs = (last?.handoffs ?? []).map(({ handoff }) => handoff)
  // What the SDK runs by itself is run before the agent is asked for its tools.
  const own = ((current ?? agent).tools ?? []).flatMap(outOfReach)
  return [...found, ...waiting, ...own, ...observeHandoffs(current ?? agent, handoffs)]
}

/** @returns those that nothing of ours can be put into. */
function observeHandoffs(agent: Agent, handoffs: readonly Handoff[]): ToolOutOfReach[] {
  return handoffs.flatMap((handoff) => {
    if (observeHandoff(handoff, agent, observeAgent)) return []
    if (handoff.agent !== undefined) observeAgent(handoff.agent)
    return [unseenTool(handoff.toolName, 'agent')]
  })
}

/** Agents are seen when they are run, and when one hands over to them: each asks for its tools at every turn. */
function observeAgent(agent: Agent): void {
  if (typeof agent?.getAllTools !== 'function') return
  // The agent itself, too: it may have been given a method of its own.
  for (let at: object = agent; at !== null && at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    observeAgentPrototype(at as Agent)
  }
  observeTools(agent, agent.tools ?? [])
}

function observeAgentPrototype(prototype: Agent): void {
  const { getAllTools, getEnabledHandoffs } = prototype
  if (patches.has(prototype)) return
  if (Object.hasOwn(prototype, 'getAllTools') && getAllTools !== undefined) {
    patches.replace(prototype, 'getAllTools', async function (this: Agent, ...args: unknown[]) {
      const tools = await getAllTools.apply(this, args)
      const frame = currentFrame()
      if (frame === undefined) return tools
      reach(frame, this, tools)
      frame.place.agent = this
      frame.place.refusals = refusals(this, args[0], tools)
      const { model } = this
      if (isModel(model) ? !observeModel(model) : frame.place.providerIsLocked) {
        frame.place.unseenModel(isModel(model) ? nameOf(model) : String(model || 'of the provider'))
      }
      return tools
    })
  }
  if (!Object.hasOwn(prototype, 'getEnabledHandoffs') || getEnabledHandoffs === undefined) return
  patches.replace(prototype, 'getEnabledHandoffs', async function (this: Agent, ...args: unknown[]) {
    const handoffs = await getEnabledHandoffs.apply(this, args)
    const frame = currentFrame()
    if (frame === undefined) return handoffs
    const unseen = observeHandoffs(this, handoffs)
    frame.place.op.assertInReach(unseen)
    for (const { name } of unseen) warnOfUnseen(`the handoff "${name}"`)
    return handoffs
  })
}

/** Tools that an agent has from now on. @throws HookspanError `NOT_CAPABLE` where a gate or a mock would not hold. */
function reach({ place }: Frame, agent: Agent, tools: readonly AnyTool[]): void {
  const unseen = observeTools(agent, tools)
  place.op.assertInReach([...tools.flatMap(outOfReach), ...unseen])
  for (const { name } of unseen) warnOfUnseen(name === '*' ? 'a tool search' : `the tool "${name}"`)
}

/** @returns those that nothing of ours can be put into. */
function observeTools(agent: Agent, tools: readonly AnyTool[]): ToolOutOfReach[] {
  for (const server of agent.mcpServers ?? []) watchServer(server)
  return tools.flatMap((tool) => {
    // Nobody knows the names of what a search finds.
    if (!isFunctionTool(tool)) return observeSearch(agent, tool) ? [] : [unseenTool('*', 'local')]
    const home = homeOf(agent, tool)
    return observeTool(tool, home, registrationsOf(agent)) ? [] : [unseenTool(tool.name, home.identifier)]
  })
}

/** What a search of the user's own finds are tools of the agent's. @returns false for one that is locked. */
function observeSearch(agent: Agent, tool: AnyTool): boolean {
  const searches = tool as unknown as Record<symbol, (asked: unknown) => unknown>
  const key = Object.getOwnPropertySymbols(tool).find((one) => one.description === 'clientToolSearchExecutor')
  const search = key && searches[key]
  if (key === undefined || typeof search !== 'function' || patches.has(tool)) return true
  if (isLocked(tool, key)) return false
  patches.replace(searches, key, async (asked) => {
    const found = await search.call(tool, asked)
    const frame = currentFrame()
    if (frame !== undefined) reach(frame, agent, [found ?? []].flat() as AnyTool[])
    return found
  })
  return true
}

/**
 * Hosted tools are the provider's; the SDK runs shells, patches and computers without a function to put ours around. A computer is
 * offered by another name than the one that its calls have, and either may be meant.
 */
function outOfReach(tool: AnyTool): ToolOutOfReach[] {
  if (isFunctionTool(tool)) return []
  const { type, name = type, providerData } = tool
  if (type !== 'hosted_tool') return [...new Set([name, type])].map((each) => ({ name: each, ranBy: 'sdk' }))
  return hostedTools(responses, { tools: [{ type: name, ...providerData }] })
}
