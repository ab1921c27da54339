import type { HookDispatcher, ParkedOperation } from '../../dispatcher/index.ts'
import type { AdapterInfo } from '../../dispatcher/run/capabilities.ts'
import { type CurrentPlace, currentPlace } from '../../dispatcher/run/current.ts'
import type { ModelCallMark } from '../../dispatcher/run/live-calls.ts'
import { defined } from '../../internal/objects.ts'
import type { SafeModelCall } from '../safe/model-call.ts'
import { type SafeOperation, startOperation } from '../safe/operation.ts'
import type { SafeToolCall } from '../safe/tool-call.ts'
import { isStepLimit } from '../sdk-run/loop-limits.ts'
import { warnOfFailure } from '../warn-once.ts'
import type { LcRuntime } from './lang-chain.ts'
import { AskedCalls } from './unmade-calls.ts'

/** The name of our middleware, which its nodes have. */
export const OURS = 'hookspan'

/** How a graph is over. A failure has no content, and neither has what has ended without a word. */
export interface Ended {
  readonly content?: string | undefined
  readonly error?: unknown
  /** Nothing is left of it. */
  readonly left?: boolean
}

export type How = 'done' | 'failed' | 'interrupted' | 'waits' | 'left'

export interface Root {
  /** Undefined as long as it may be an agent that is told by our middleware. */
  op?: SafeOperation
  readonly start: () => SafeOperation
  isRefused?: boolean
  waits: boolean
  /** Where LangGraph keeps its state, if it does. */
  thread?: string | undefined
  /** Ids of all runs below it, with that of the one above each. */
  readonly ids: Map<string, string | undefined>
  /** Where the code was that called it. */
  readonly around: CurrentPlace | undefined
  /** The names of the nodes that have begun in it. */
  readonly nodes: Set<unknown>
  /** Of its models. */
  readonly asked: AskedCalls
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

/** A call of a model that callbacks tell. */
interface AskedModel {
  readonly call: SafeModelCall
  readonly parentRunId: string | undefined
  /** Of several that are told of each piece of a stream, the one that counts them. */
  readonly toldBy: object
  pieces: number
  mark?: ModelCallMark | undefined
}

/** A call of a tool that callbacks tell, with the model's id of it. */
interface ToldTool {
  readonly call: SafeToolCall
  readonly id: string | undefined
}

/** The runs that are going on, by LangChain's ids of them. */
export class Going {
  readonly roots = new Map<string, Root>()
  readonly models = new Map<string, AskedModel>()
  readonly tools = new Map<string, ToldTool>()
  /** What continues the runs of graphs that somebody is asked in, by their threads. */
  readonly #parked = new Map<string, ParkedOperation>()
  /** Nodes at work, by what LangGraph and a node call them: the graphs they are of. */
  readonly nodes = new Map<unknown, { readonly graph: string; readonly node: string }>()

  /** The graph that a run is below of, or one that begins with it. */
  below(runId: string, parentRunId: string | undefined, start: () => SafeOperation): Root {
    const above = parentRunId === undefined ? undefined : this.roots.get(parentRunId)
    const root = above ?? newRoot(start)
    root.ids.set(runId, parentRunId)
    this.roots.set(runId, root)
    return root
  }

  beginNode(root: Root, name: unknown, graph: string, node: string): void {
    if (name === undefined || this.nodes.has(name)) return
    root.nodes.add(name)
    this.nodes.set(name, { graph, node })
  }

  async end(runId: string, ended: Ended): Promise<void> {
    const { roots, nodes } = this
    const root = roots.get(runId)
    roots.delete(runId)
    if (root === undefined || !isTop(root, runId)) return
    for (const id of root.ids.keys()) roots.delete(id)
    for (const node of root.nodes) nodes.delete(node)
    if (root.isRefused === true) return
    const how = howOf(root, ended)
    if (root.agent === undefined) return this.#endOf(root, how, ended)
    const refusal = await root.agent.over(how, ended)
    if (refusal !== undefined) throw refusal
  }

  async #endOf(root: Root, how: How, { content, error }: Ended): Promise<void> {
    const op = operationOf(root)
    if (how === 'left') op.abandon()
    else if (how === 'waits') this.#park(root.thread, op.park({ waitingFor: 'human' }))
    else if (how === 'failed' && isStepLimit(error)) await op.complete({ reason: 'max_steps' })
    else if (how === 'failed') await op.fail(error)
    else await op.complete(how === 'done' ? defined({ content }) : { reason: how })
  }

  #park(thread: string | undefined, parked: ParkedOperation | undefined): void {
    if (thread !== undefined && parked !== undefined) keep(this.#parked, thread, parked)
  }

  /** The run that waits on a thread. With what begins there it goes on, or nothing does. */
  takeParked(thread: string): ParkedOperation | undefined {
    const parked = this.#parked.get(thread)
    this.#parked.delete(thread)
    return parked
  }
}

/** How many threads may be waiting for an answer to a question of somebody else. */
export const MAX_THREADS = 1_000

export function keep(parked: Map<string, ParkedOperation>, thread: string, run: ParkedOperation): void {
  const [oldest] = parked.size >= MAX_THREADS ? parked.keys() : []
  if (oldest !== undefined) parked.delete(oldest)
  parked.set(thread, run)
}

/** Its thread goes on with something else: nobody comes back to what waited on it. */
export function interrupt(dispatcher: HookDispatcher, adapter: AdapterInfo, parked: ParkedOperation): void {
  const failed = (error: unknown) => warnOfFailure('a run that waited could not be ended', error)
  try {
    // Nothing more is done in it that its own gates, which nobody gives again, could decide on.
    const left = startOperation(dispatcher, { adapter, resume: { ...parked, gateIds: [] } })
    left.complete({ reason: 'interrupted' }).catch(failed)
  } catch (error) {
    failed(error)
  }
}

/** By dispatcher: what several handlers are told of is told once. */
const all = new WeakMap<HookDispatcher, Going>()

export function goingNow(dispatcher: HookDispatcher): Going | undefined {
  return all.get(dispatcher)
}

export function goingOf(dispatcher: HookDispatcher): Going {
  const going = all.get(dispatcher) ?? new Going()
  all.set(dispatcher, going)
  return going
}

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
      for (const id of own.ids.keys()) roots.set(id, own)
    },
  }
}

function newRoot(start: () => SafeOperation, ...ids: (string | undefined)[]): Root {
  return {
    start,
    waits: false,
    ids: new Map(ids.map((id) => [id as string, undefined])),
    around: currentPlace(),
    nodes: new Set(),
    asked: new AskedCalls(),
  }
}

export function isTop({ ids }: Root, runId: string | undefined): boolean {
  return ids.keys().next().value === runId
}

/** @throws HookspanError what refuses the run. */
export function operationOf(root: Root): SafeOperation {
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

/** LangGraph has no class for it. */
function isAbort(error: unknown): boolean {
  const { name, message } = (error ?? {}) as Partial<Error>
  return name === 'AbortError' || (name === 'Error' && message === 'Abort')
}
