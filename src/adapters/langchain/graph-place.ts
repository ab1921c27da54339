import type { HookDispatcher } from '../../dispatcher/index.ts'
import { type CurrentPlace, currentPlace } from '../../dispatcher/run/current.ts'
import { currentModelCall } from '../../dispatcher/run/live-calls.ts'
import { asName, asObject, type Loose } from '../../wire/reading.ts'
import { goingNow } from './told-graphs.ts'

/** Where LangChain keeps what it runs, and with it the graph. */
const GRAPH_CONTEXT = Symbol.for('ls:tracing_async_local_storage')

/** Where in it the config is that a node or a tool hands on. */
const CHILD_CONFIG = Symbol.for('lc:child_config')

interface GraphContext {
  run<R>(store: undefined, fn: () => R): R
  getStore?(): unknown
}

const graphContext = () => (globalThis as { [GRAPH_CONTEXT]?: GraphContext })[GRAPH_CONTEXT]

/** What is made inside of a graph would hold it for as long as it lives. */
export function outsideOfGraph<T>(make: () => T): T {
  const context = graphContext()
  return context === undefined ? make() : context.run(undefined, make)
}

/**
 * Where the code of a node or of a tool is in a graph that callbacks tell: they are told, and can run nothing in its place.
 * Undefined, too, where the code is in a place of its own since the graph has begun, which is the inner one.
 */
export function placeInGraph(dispatcher: object, around: CurrentPlace | undefined): CurrentPlace | undefined {
  const going = goingNow(dispatcher as HookDispatcher)
  if (going === undefined || going.roots.size === 0) return undefined
  const { roots, models, tools } = going
  const runId = runHere()
  const root = roots.get(runId)
  if (root?.op === undefined || root.agent !== undefined || root.around !== around) return undefined
  const { op } = root
  // The client of a model that is asked here: LangChain has told of that itself.
  const asked = [...models.values()].find(({ parentRunId }) => parentRunId === runId)
  if (asked !== undefined) {
    const place = op.run(() => currentPlace())
    const modelCall = asked.call.run(() => currentModelCall())
    return place && modelCall && { ...place, modelCall }
  }
  for (let id: string | undefined = runId; id !== undefined; id = root.ids.get(id)) {
    const tool = tools.get(id)
    if (tool !== undefined) return tool.call.enter(() => currentPlace())
  }
  return op.run(() => currentPlace())
}

/** LangChain's id of the run that the running code is of. */
function runHere(): string {
  return asName(callbacksHere()?._parentRunId) ?? ''
}

function callbacksHere(): Loose | undefined {
  const { extra } = asObject(graphContext()?.getStore?.()) ?? {}
  const { callbacks } = asObject((extra as { [CHILD_CONFIG]?: unknown } | undefined)?.[CHILD_CONFIG]) ?? {}
  return asObject(callbacks)
}

interface CallbackManager {
  addHandler(handler: object, inherit: boolean): void
  removeHandler(handler: object): void
  readonly tags: readonly string[]
  addTags(tags: readonly string[], inherit: boolean): void
  removeTags(tags: readonly string[]): void
}

/** By this tag LangGraph shows the message that the node gives, and not each piece as the model says it. */
const WHOLE = 'langsmith:nostream'

interface Hearing {
  readonly hear: (output: unknown) => void
  readonly came: () => void
  /** Whether a gate decides on the reply, which is shown once it has: whichever model it is that answers. */
  readonly gated: boolean
}

/**
 * Asks a model, and hears what LangChain tells of its reply: of a stream, when its pieces came, and why it ended and by which model it
 * is made, which stands beside the message that is all that a middleware gets. Only who listens is told, and where nobody does, nothing is streamed.
 */
export async function hearing<T>({ hear, came, gated }: Hearing, ask: () => PromiseLike<T> | T): Promise<T> {
  const manager = callbacksHere() as Partial<CallbackManager> | undefined
  if (typeof manager?.addHandler !== 'function' || typeof manager.removeHandler !== 'function') return ask()
  const handler = { name: 'hookspan-reply', awaitHandlers: true, handleLLMEnd: hear, handleLLMNewToken: came }
  const tags = gated && manager.tags?.includes(WHOLE) === false ? [WHOLE] : []
  manager.addHandler(handler, true)
  manager.addTags?.(tags, true)
  try {
    return await ask()
  } finally {
    manager.removeHandler(handler)
    manager.removeTags?.(tags)
  }
}
