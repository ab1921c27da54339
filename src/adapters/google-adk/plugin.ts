import { assertAdapterOptions } from '../../adapter/adapter-options.ts'
import type { HookDispatcher } from '../../dispatcher/index.ts'
import { currentPlace } from '../../dispatcher/run/current.ts'
import { HookspanError } from '../../internal/errors.ts'
import { a, type Fields } from '../../internal/expect.ts'
import { warnOfVersion } from '../peer-range.ts'
import { isLocked, replace } from '../replace.ts'
import { relay } from '../sdk-loop/relay.ts'
import { withOwn } from '../sdk-loop/with-own.ts'
import { Patches } from '../sdk-run/patches.ts'
import { share } from '../sdk-run/shared-use.ts'
import { unseenTool, warnOfUnseen } from '../unseen.ts'
import {
  type AdkAgent,
  type AdkCodeExecutor,
  type AdkContent,
  type AdkFunctionNode,
  type AdkInvocation,
  type AdkRequest,
  type AdkTool,
  type AdkToolCall,
  askInstead,
  contentOf,
  textOf,
} from './adk.ts'
import type { AgentRun } from './agent-run.ts'
import { AgentRuns } from './agent-runs.ts'
import { observeTools } from './agent-tools.ts'
import { observeExecutor, unseenExecutor } from './code-executor.ts'
import { liveAgent } from './live-agent.ts'
import { askedBy, ownModel, unseenModel, whoseRequest } from './observed-models.ts'
import { watchSessions } from './session-service.ts'
import { callTool, isAtWork } from './tool-call.ts'

export interface HookspanPluginOptions {
  dispatcher: HookDispatcher
  /** Names the runs. @default the name of the runner's agent */
  agentName?: string
  /**
   * What becomes of the spans that the SDK makes itself below a run, where OpenTelemetry is set up for the process: they
   * are left out, or stay beside hookspan's. @default 'omit'
   */
  sdkSpans?: 'omit' | 'nest'
}

const FIELDS: Fields<HookspanPluginOptions> = {
  dispatcher: a.value,
  agentName: a.string,
  sdkSpans: a.oneOf('omit', 'nest'),
}

/** A plugin as the runners of `@google/adk` take it. */
export type HookspanPlugin = Disposable & { readonly name: string } & {
  readonly [callback in (typeof UNUSED)[number] | keyof AdkPlugin]: (params: never) => Promise<undefined>
}

/** What the SDK throws at `maxLlmCalls`, which has no name and no code. */
const AT_LIMIT = /^Max number of llm calls limit of \d+ exceeded$/

/** What the SDK calls on every plugin, and there is nothing to do about. */
const UNUSED = [
  'onEventCallback',
  'beforeAgentCallback',
  'afterAgentCallback',
  'beforeNodeCallback',
  'afterNodeCallback',
  'afterModelCallback',
  'beforeToolSelection',
  'beforeContextCompaction',
  'afterContextCompaction',
  'afterToolCallback',
  'onToolErrorCallback',
] as const

/**
 * A plugin for a runner of Google's ADK: its model calls begin steps, gates decide on its tools and mocks stand in for
 * them. An agent that is a tool (`AgentTool`) is a sub-agent, and its tools are decided on, too.
 *
 * @returns the plugin; disposed of, it leaves its agents as they were.
 * @throws HookspanError `INVALID_OPTION`.
 * @example
 * const runner = new InMemoryRunner({ agent, plugins: [hookspanPlugin({ dispatcher })] })
 */
export function hookspanPlugin(options: HookspanPluginOptions): HookspanPlugin {
  assertAdapterOptions(options, FIELDS, 'hookspanPlugin')
  warnOfVersion('@google/adk')
  const plugin = new AdkPlugin(options)
  for (const name of UNUSED) Object.assign(plugin, { [name]: async () => undefined })
  return plugin as unknown as HookspanPlugin
}

class AdkPlugin {
  readonly name = 'hookspan'
  readonly #options: HookspanPluginOptions
  readonly #runs: AgentRuns
  /** In runners, agents and tools, which may come and go with each request while the plugin stays. */
  readonly #patches = new Patches()
  #isLeft = false

  constructor(options: HookspanPluginOptions) {
    this.#options = options
    this.#runs = new AgentRuns(options)
  }

  [Symbol.dispose](): void {
    this.#isLeft = true
    this.#patches.undoAll()
  }

  readonly onUserMessageCallback = async ({
    userMessage,
    invocationContext,
  }: {
    userMessage?: AdkContent
    invocationContext: AdkInvocation
  }): Promise<AdkContent | undefined> => {
    // The SDK refuses a message without parts.
    if (this.#isLeft || !userMessage?.parts?.length) return undefined
    this.#watch(invocationContext.pluginManager)
    const agent = this.#start(invocationContext, this.#options.agentName)
    watchSessions(invocationContext.sessionService, invocationContext.invocationId, agent)
    const input = await this.#runs.admit(agent, invocationContext)
    return input === agent.run.input ? undefined : (contentOf(input) ?? userMessage)
  }

  /** From here on all that the runner's agent does is part of the run, up to its end. */
  readonly beforeRunCallback = async ({
    invocationContext: context,
  }: {
    invocationContext: AdkInvocation
  }): Promise<undefined> => {
    const known = this.#runs.of(context)
    if (known === undefined && this.#isLeft) return undefined
    if (context.liveRequestQueue !== undefined) {
      if (context.agent !== undefined) context.agent = liveAgent(context.agent, this.#options)
      return undefined
    }
    this.#watch(context.pluginManager)
    const agent = known ?? (await this.#startLate(context))
    agent.hasBegun = true
    if (context.agent !== undefined) context.agent = this.#runs.observed(context.agent, () => agent)
    return undefined
  }

  /** A plugin before this one gave the message, and then the SDK asks nobody else. */
  async #startLate(context: AdkInvocation): Promise<AgentRun> {
    const given = context.session?.events?.findLast(
      ({ author, invocationId }) => author === 'user' && invocationId === context.invocationId,
    )
    const userContent = given?.content ?? context.userContent ?? {}
    const agent = this.#start({ ...context, userContent }, this.#options.agentName)
    if ((await this.#runs.admit(agent, context)) === agent.run.input) return agent
    const refusal = new HookspanError(
      'NOT_CAPABLE',
      'An onStart gate changed the input, and a plugin before this one has given the message already. Put hookspanPlugin first.',
    )
    this.#runs.forget(context.invocationId)
    await agent.run.fail(refusal)
    throw refusal
  }

  /** Where a plugin before this one answers the run, or fails, the SDK tells no end, nor where a workflow is the run. */
  #watch(manager: AdkInvocation['pluginManager']): void {
    const own = manager?.runBeforeRunCallback
    if (manager === undefined || own === undefined || this.#patches.has(manager)) return
    // It goes without: the run is told to the end where no plugin answers it.
    if (isLocked(manager, 'runBeforeRunCallback')) return
    this.#patches.replace(manager, 'runBeforeRunCallback', async (asked) => {
      const { invocationId } = asked.invocationContext
      try {
        const answer = await own.call(manager, asked)
        const agent = answer && this.#runs.forget(invocationId)
        if (answer) await agent?.run.over(textOf(answer))
        return answer
      } catch (error) {
        await this.#runs.forget(invocationId)?.run.fail(error)
        throw error
      }
    })
    const ownNode = manager.runBeforeNodeCallback
    if (ownNode === undefined || isLocked(manager, 'runBeforeNodeCallback')) return
    this.#patches.replace(manager, 'runBeforeNodeCallback', (asked) => {
      const { node, nodeContext } = asked
      this.#runs.of(nodeContext.invocationContext)?.endWith(nodeContext.channel)
      if (node !== undefined && 'handler' in node) {
        if (!isLocked(node, 'runImpl')) share(this.#patches, node, () => AdkPlugin.#ownNode(node))
      } else if (node !== undefined) this.#observeTools(node as AdkAgent)
      return ownNode.call(manager, asked)
    })
  }

  /** Where the runner was given no agent, but a workflow: it tells here that it went well. */
  readonly afterRunCallback = async ({
    invocationContext: { invocationId },
  }: {
    invocationContext: AdkInvocation
  }): Promise<undefined> => {
    const agent = this.#runs.forget(invocationId)
    await agent?.run.over(agent.said)
    return undefined
  }

  readonly beforeModelCallback = async ({
    callbackContext: { invocationContext },
    llmRequest,
  }: {
    callbackContext: { invocationContext: AdkInvocation }
    llmRequest: AdkRequest
  }): Promise<undefined> => {
    const agent = this.#runs.of(invocationContext)
    if (agent === undefined) return undefined
    askedBy(llmRequest, agent)
    for (const [name, tool] of Object.entries(llmRequest.toolsDict ?? {})) {
      llmRequest.toolsDict[name] = this.#tool(agent, tool)
    }
    const { agent: asking } = invocationContext
    if (asking === undefined) return undefined
    unseenExecutor(agent, asking)
    if (isLocked(asking, 'canonicalModel')) unseenModel(agent, asking)
    else share(this.#patches, asking, () => ownModel(asking))
    return undefined
  }

  /** The SDK takes it for one of its model, too, that there is no such tool as was asked for, or that it is at its limit. */
  readonly onModelErrorCallback = async ({
    llmRequest,
    error,
  }: {
    llmRequest: AdkRequest
    error: Error
  }): Promise<undefined> => {
    const agent = whoseRequest(llmRequest)
    if (agent !== undefined && AT_LIMIT.test(error.message)) agent.run.limit = 'max_steps'
    await agent?.tellUnknown(llmRequest.toolsDict, error)
    return undefined
  }

  /** A tool that no model was offered: one that a workflow runs by itself. */
  readonly beforeToolCallback = async ({
    tool,
    toolContext: { invocationContext },
  }: {
    tool: AdkTool
    toolContext: AdkToolCall['toolContext']
  }): Promise<undefined> => {
    const agent = this.#runs.of(invocationContext)
    if (agent === undefined || observedTools.has(tool) || this.#patches.has(tool)) return undefined
    if (isLocked(tool, 'runAsync')) {
      agent.run.assertInReach([unseenTool(tool.name, 'local')])
      warnOfUnseen(`the tool "${tool.name}"`)
      return undefined
    }
    share(this.#patches, tool, () => AdkPlugin.#ownTool(tool))
    return undefined
  }

  /** The user's own function: where a workflow is the run, nobody else says where in it the code is. */
  static #ownNode(node: AdkFunctionNode): () => void {
    const own = node.runImpl
    return replace(node, 'runImpl', (context, ...input) => {
      const made = own.call(node, context, ...input)
      const plugin = AdkPlugin.#of(context.invocationContext)
      const run = plugin?.runOf(context.invocationContext)?.run
      if (plugin === undefined || run === undefined || currentPlace() !== undefined) return made
      return relay(made, plugin.#runs.within(run))
    })
  }

  static #ownTool(tool: AdkTool): () => void {
    const own = tool.runAsync
    const standIn = (asked: AdkToolCall) => {
      const { invocationContext } = asked.toolContext
      const plugin = AdkPlugin.#of(invocationContext)
      const asking = plugin === undefined ? tool : plugin.#asking(tool)
      const perform = (effective: AdkToolCall) => own.call(asking, effective)
      const within = plugin?.runOf(invocationContext)
      // Whoever has put a function around ours was called by the call.
      return within === undefined || isAtWork(tool) ? perform(asked) : callTool(within, tool, asked, perform)
    }
    originals.set(standIn, own)
    return replace(tool, 'runAsync', standIn)
  }

  static #ownExecutor(executor: AdkCodeExecutor): () => void {
    return observeExecutor(executor, (context) => AdkPlugin.#of(context)?.runOf(context))
  }

  /** Whose run it is: of those that have run with the same agent, with the same tool. */
  static #of(context: AdkInvocation | undefined): AdkPlugin | undefined {
    const plugin = context?.pluginManager?.getPlugin('hookspan')
    return plugin instanceof AdkPlugin ? plugin : undefined
  }

  runOf(context: AdkInvocation | undefined): AgentRun | undefined {
    return this.#runs.of(context)
  }

  #start(context: AdkInvocation, agentName: string | undefined): AgentRun {
    const agent = this.#runs.start(context, agentName)
    if (context.agent !== undefined) this.#observeTools(context.agent)
    return agent
  }

  #observeTools(agent: AdkAgent): void {
    observeTools(agent, this.#patches, AdkPlugin.#ownTool, AdkPlugin.#ownExecutor)
  }

  #tool(agent: AgentRun, tool: AdkTool): AdkTool {
    if (observedTools.has(tool)) return tool
    // Code of other tools may call it by itself, and has the tool that the agent was given.
    if (!isLocked(tool, 'runAsync')) share(this.#patches, tool, () => AdkPlugin.#ownTool(tool))
    const perform = this.#asking(tool)
    const own = originals.get(tool.runAsync) ?? tool.runAsync
    const observed = withOwn(tool, {
      runAsync: (asked: AdkToolCall) =>
        callTool(agent, tool, asked, (effective) => own.call(perform, effective)),
    })
    observedTools.add(observed)
    return observed
  }

  /** The tool, whose agent is observed where it has one. */
  #asking(tool: AdkTool): AdkTool {
    return tool.agent === undefined ? tool : withOwn(tool, { agent: this.#subAgent(tool.agent) })
  }

  /** Its runner has no plugins: this one is put there. */
  #subAgent(agent: AdkAgent): AdkAgent {
    const begin = async (context: AdkInvocation) => {
      if (context.pluginManager?.getPlugin(this.name) === undefined)
        context.pluginManager?.registerPlugin(this)
      const run = this.#start(context, agent.name)
      const input = await this.#runs.admit(run, context)
      if (input !== run.run.input) askInstead(context, input)
      return run
    }
    // The runner goes on with the agent that spoke last, which may be one below.
    const found = (name: 'findAgent' | 'findSubAgent') => (asked: string) => {
      const of = agent[name]?.(asked)
      return of && this.#runs.observed(of, begin)
    }
    const below = { findAgent: found('findAgent'), findSubAgent: found('findSubAgent') }
    return withOwn(this.#runs.observed(agent, begin), below)
  }
}

const observedTools = new WeakSet<object>()
/** Of our functions in tools: what was there before. */
const originals = new WeakMap<object, AdkTool['runAsync']>()
