import { RunSuspended } from '../../dispatcher/calls/suspended.ts'
import type { HookDispatcher } from '../../dispatcher/index.ts'
import type { AdapterInfo } from '../../dispatcher/run/capabilities.ts'
import { jsonIn } from '../../internal/json.ts'
import { defined, isRecord } from '../../internal/objects.ts'
import { asName, asObject } from '../../wire/reading.ts'
import { configuredServer } from '../configured-server.ts'
import type { SafeModelCall } from '../safe/model-call.ts'
import { type SafeOperation, startOperation } from '../safe/operation.ts'
import type { SafeToolCall } from '../safe/tool-call.ts'
import { LANGGRAPH_CAPABILITIES } from './capabilities.ts'
import { isInterrupt, isToolMessage, type LcMessage, type LcRuntime } from './lang-chain.ts'
import { plainMessages, readReply } from './messages.ts'

/** The name of our middleware, which its nodes have. */
export const OURS = 'hookspan'

const ADAPTER: AdapterInfo = { name: 'langgraph', capabilities: LANGGRAPH_CAPABILITIES }

/** How a graph is over. A failure has no content, and neither has what has ended without a word. */
export interface Ended {
  readonly content?: string | undefined
  readonly error?: unknown
  /** Nothing is left of it. */
  readonly left?: boolean
}

export type How = 'done' | 'failed' | 'interrupted' | 'waits' | 'left'

interface Root {
  /** Undefined as long as it may be an agent that is told by our middleware. */
  op?: SafeOperation
  readonly start: () => SafeOperation
  isRefused?: boolean
  waits: boolean
  /** Ids of all runs below it. */
  readonly ids: Set<string>
  /** The names of the nodes that have begun in it. */
  readonly nodes: Set<unknown>
  /** Our middleware tells all of it but its end. */
  agent?: ToldAgent
}

/** A run of an agent that our middleware tells. LangChain tells a middleware nothing of a run that ends before its last node. */
export interface ToldAgent {
  /** Gives what a gate says against its result. */
  over(how: How, ended: Ended): Promise<Error | undefined>
}

/** The graph around a node of our middleware. */
export interface ToldGraph {
  /** The run of the graph that has the agent among its nodes. */
  readonly above: SafeOperation | undefined
  claim(agent: ToldAgent): void
}

/** Of a run whose stream was left LangGraph may say nothing: it is over when nothing is left of it. */
const left = new FinalizationRegistry<() => void>((over) => over())

/** The runs that are going on, by LangChain's ids of them. */
class Going {
  readonly roots = new Map<string, Root>()
  readonly models = new Map<string, SafeModelCall>()
  readonly tools = new Map<string, SafeToolCall>()
  /** Nodes at work, by what LangGraph and a node call them: the graphs they are of. */
  readonly nodes = new Map<unknown, { readonly graph: string; readonly node: string }>()
}

/** By dispatcher: what several handlers are told of is told once. */
const all = new WeakMap<HookDispatcher, Going>()

/** What is told of the graph that a node of our middleware is of, where callbacks of ours are told of it, too. */
export function toldGraph(dispatcher: HookDispatcher, { configurable }: LcRuntime): ToldGraph | undefined {
  const { roots, nodes } = all.get(dispatcher) ?? {}
  const { graph, node } = nodes?.get(configurable?.checkpoint_ns) ?? {}
  const around = graph === undefined ? undefined : roots?.get(graph)
  if (roots === undefined || around === undefined || around.agent !== undefined) return undefined
  const isOutermost = isTop(around, graph)
  return {
    above: isOutermost ? undefined : operationOf(around),
    claim: (agent) => {
      const own: Root = isOutermost ? around : newRoot(around.start, graph, node)
      own.agent = agent
      for (const id of own.ids) roots.set(id, own)
    },
  }
}

/** What callbacks are told, made hooks and spans. */
export class ToldRuns {
  readonly #dispatcher: HookDispatcher
  readonly #agentName: string | undefined
  readonly #going: Going

  constructor({ dispatcher, agentName }: { dispatcher: HookDispatcher; agentName?: string }) {
    this.#dispatcher = dispatcher
    this.#agentName = agentName
    this.#going = all.get(dispatcher) ?? new Going()
    all.set(dispatcher, this.#going)
  }

  #below(runId: string, parentRunId: string | undefined, name: unknown, input: unknown): Root {
    const { roots } = this.#going
    const above = parentRunId === undefined ? undefined : roots.get(parentRunId)
    const agentName = this.#agentName ?? asName(name)
    const start = () =>
      startOperation(this.#dispatcher, { adapter: ADAPTER, ...defined({ agentName, input }) })
    const root = above ?? newRoot(start)
    root.ids.add(runId)
    roots.set(runId, root)
    return root
  }

  async #end(runId: string, ended: Ended): Promise<void> {
    const { roots, nodes } = this.#going
    const root = roots.get(runId)
    roots.delete(runId)
    if (root === undefined || !isTop(root, runId)) return
    for (const id of root.ids) roots.delete(id)
    for (const node of root.nodes) nodes.delete(node)
    if (root.isRefused === true) return
    const how = howOf(root, ended)
    if (root.agent === undefined) return endOf(operationOf(root), how, ended)
    const refusal = await root.agent.over(how, ended)
    if (refusal !== undefined) throw refusal
  }

  readonly chainStart = (
    _chain: unknown,
    input: unknown,
    runId: string,
    parentRunId?: string,
    _tags?: unknown,
    metadata?: unknown,
    _type?: unknown,
    name?: unknown,
  ): void => {
    const { roots, nodes } = this.#going
    if (roots.has(runId)) return
    const root = this.#below(runId, parentRunId, name, inputOf(input))
    const { langgraph_checkpoint_ns: node, ls_integration: integration } = asObject(metadata) ?? {}
    if (root.agent === undefined && !mayBeOurs(integration, name, isTop(root, runId))) operationOf(root)
    if (!isTop(root, runId)) {
      if (parentRunId === undefined || node === undefined || nodes.has(node)) return
      root.nodes.add(node)
      nodes.set(node, { graph: parentRunId, node: runId })
      return
    }
    const over = () => void this.#end(runId, { left: true }).catch(() => {})
    if (isRecord(metadata)) left.register(metadata, over)
  }

  readonly chainEnd = (output: unknown, runId: string): Promise<void> => {
    const messages = asObject(output)?.messages
    const last = Array.isArray(messages) ? readReply(messages.at(-1)).response.content : undefined
    return this.#end(runId, defined({ content: last }))
  }

  readonly chainError = (error: unknown, runId: string): Promise<void> => {
    // A node that asks stops the graph, which ends without an error.
    const root = this.#going.roots.get(runId)
    if (isInterrupt(error) && root !== undefined) root.waits = true
    return this.#end(runId, { error })
  }

  #model(
    about: unknown,
    request: object,
    runId: string,
    parentRunId: string | undefined,
    metadata: unknown,
  ): void {
    const { ls_model_name, ls_provider } = asObject(metadata) ?? {}
    const known = asObject(about)
    const id = Array.isArray(known?.id) ? known.id.at(-1) : undefined
    const model = asName(ls_model_name) ?? asName(known?.name) ?? asName(id) ?? 'unknown'
    if (this.#going.models.has(runId)) return
    const root = this.#below(runId, parentRunId, model, undefined)
    if (root.agent !== undefined) return
    const provider = asName(ls_provider) ?? 'unknown'
    // The model tells how it was configured, and leaves its keys out.
    const server = configuredServer(known?.kwargs)
    const init = { model, provider, ...server, request: { ...request }, read: readReply }
    this.#going.models.set(runId, operationOf(root).openLlmCall(init))
  }

  readonly chatStart = (
    about: unknown,
    messages: readonly (readonly LcMessage[])[],
    runId: string,
    parentRunId?: string,
    extra?: { invocation_params?: { tools?: unknown } },
    _tags?: unknown,
    metadata?: unknown,
  ): void => {
    const tools = extra?.invocation_params?.tools
    const request = { messages: plainMessages(messages[0] ?? []), ...defined({ tools }) }
    this.#model(about, request, runId, parentRunId, metadata)
  }

  readonly llmStart = (
    about: unknown,
    prompts: readonly string[],
    runId: string,
    parentRunId?: string,
    _extra?: unknown,
    _tags?: unknown,
    metadata?: unknown,
  ): void => this.#model(about, { prompt: prompts[0] ?? '' }, runId, parentRunId, metadata)

  readonly llmEnd = async (output: unknown, runId: string): Promise<void> => {
    const [[first] = []] = (asObject(output)?.generations ?? []) as { message?: unknown; text?: unknown }[][]
    const { models } = this.#going
    const call = models.get(runId)
    models.delete(runId)
    await call?.settle(first?.message ?? { content: first?.text ?? '' })
    await this.#end(runId, {})
  }

  readonly llmError = (error: unknown, runId: string): Promise<void> => {
    const { models } = this.#going
    models.get(runId)?.fail(error)
    models.delete(runId)
    return this.#end(runId, { error })
  }

  readonly toolStart = (
    about: unknown,
    input: string,
    runId: string,
    parentRunId?: string,
    _tags?: unknown,
    _metadata?: unknown,
    name?: unknown,
    toolCallId?: unknown,
  ): void => {
    const apiName = asName(name) ?? asName(asObject(about)?.name) ?? 'unnamed'
    if (this.#going.tools.has(runId)) return
    const root = this.#below(runId, parentRunId, apiName, input)
    if (root.agent !== undefined) return
    const init = { apiName, args: jsonIn(input, input), ...defined({ toolCallId: asName(toolCallId) }) }
    this.#going.tools.set(runId, operationOf(root).openToolCall(init))
  }

  readonly toolEnd = async (output: unknown, runId: string): Promise<void> => {
    const { tools } = this.#going
    const call = tools.get(runId)
    tools.delete(runId)
    await call?.settle(isToolMessage(output) ? output.content : output)
    await this.#end(runId, {})
  }

  readonly toolError = async (error: unknown, runId: string): Promise<void> => {
    const { roots, tools } = this.#going
    const call = tools.get(runId)
    const root = roots.get(runId)
    tools.delete(runId)
    const waits = isInterrupt(error)
    if (waits && root !== undefined) root.waits = true
    await call?.fail(waits ? new RunSuspended() : error)
    await this.#end(runId, { error })
  }
}

function newRoot(start: () => SafeOperation, ...ids: (string | undefined)[]): Root {
  return { start, waits: false, ids: new Set(ids as string[]), nodes: new Set() }
}

/** Whether what begins may be of an agent that our middleware tells. Inside of a graph an agent is called a graph. */
function mayBeOurs(integration: unknown, name: unknown, isOutermost: boolean): boolean {
  if (integration === 'langchain_create_agent') return true
  return isOutermost ? integration !== undefined : name === '__start__' || name === `${OURS}.before_agent`
}

function isTop({ ids }: Root, runId: string | undefined): boolean {
  return ids.values().next().value === runId
}

/** @throws HookspanError what refuses the run. */
function operationOf(root: Root): SafeOperation {
  root.isRefused = root.op === undefined
  root.op ??= root.start()
  root.isRefused = false
  return root.op
}

function howOf({ waits }: Root, { error, left }: Ended): How {
  if (left === true) return 'left'
  if (waits) return 'waits'
  if (error === undefined) return 'done'
  return isAbort(error) ? 'interrupted' : 'failed'
}

async function endOf(op: SafeOperation, how: How, { content, error }: Ended): Promise<void> {
  if (how === 'left') op.abandon()
  else if (how === 'waits') op.park({ waitingFor: 'human' })
  else if (how === 'failed') await op.fail(error)
  else await op.complete(how === 'done' ? defined({ content }) : { reason: how })
}

/** LangGraph has no class for it. */
function isAbort(error: unknown): boolean {
  const { name, message } = (error ?? {}) as Partial<Error>
  return name === 'AbortError' || (name === 'Error' && message === 'Abort')
}

function inputOf(input: unknown): unknown {
  const messages = asObject(input)?.messages
  return Array.isArray(messages) && messages.every((one) => typeof one === 'object')
    ? plainMessages(messages as LcMessage[])
    : input
}
