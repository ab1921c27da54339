import { assertAdapterOptions } from '../../adapter/adapter-options.ts'
import { RunSuspended } from '../../dispatcher/calls/suspended.ts'
import type { HookDispatcher } from '../../dispatcher/index.ts'
import type { AdapterInfo } from '../../dispatcher/run/capabilities.ts'
import { errorMessage, HookspanError } from '../../internal/errors.ts'
import { a, type Fields } from '../../internal/expect.ts'
import { jsonIn } from '../../internal/json.ts'
import { defined, isRecord } from '../../internal/objects.ts'
import { asName, asObject } from '../../wire/reading.ts'
import { configuredServer } from '../configured-server.ts'
import { warnOfVersion } from '../peer-range.ts'
import type { SafeModelCall } from '../safe/model-call.ts'
import { type SafeOperation, startOperation } from '../safe/operation.ts'
import type { SafeToolCall } from '../safe/tool-call.ts'
import { LANGGRAPH_CAPABILITIES } from './capabilities.ts'
import { isInterrupt, isToolMessage, type LcMessage } from './lang-chain.ts'
import { plainMessages, readReply } from './messages.ts'

export interface HookspanCallbacksOptions {
  dispatcher: HookDispatcher
  /** Names the runs. @default the graph's name */
  agentName?: string
}

/** A handler as LangChain takes it among `callbacks`. */
export interface HookspanCallbacks {
  readonly name: string
  readonly awaitHandlers: boolean
  readonly raiseError: boolean
  readonly [handle: `handle${string}`]: (...told: never[]) => void | Promise<void>
}

const FIELDS: Fields<HookspanCallbacksOptions> = { dispatcher: a.value, agentName: a.string }

const ADAPTER: AdapterInfo = { name: 'langgraph', capabilities: LANGGRAPH_CAPABILITIES }

/**
 * Tells the runs of a graph, or of whatever else of LangChain it is given to: model calls and tools. Callbacks are told
 * and asked nothing, so a gate or a mock is refused when the run starts: for these, see `hookspanMiddleware`.
 *
 * @throws HookspanError `INVALID_OPTION`.
 * @example
 * await graph.invoke(input, { callbacks: [hookspanCallbacks({ dispatcher })] })
 */
export function hookspanCallbacks(options: HookspanCallbacksOptions): HookspanCallbacks {
  assertAdapterOptions(options, FIELDS, 'hookspanCallbacks')
  warnOfVersion('@langchain/core')
  const told = new ToldRuns(options)
  const quiet =
    <A extends unknown[]>(handle: (...args: A) => void | Promise<void>) =>
    async (...args: A): Promise<void> => {
      try {
        await handle(...args)
      } catch (error) {
        // What was asked for and cannot be done is the user's to know. All else is ours.
        if (error instanceof HookspanError && error.code === 'NOT_CAPABLE') throw error
        console.warn(`hookspan: a run of LangChain could not be told: ${errorMessage(error)}`)
      }
    }
  return {
    name: 'hookspan',
    awaitHandlers: true,
    raiseError: true,
    handleChainStart: quiet(told.chainStart),
    handleChainEnd: quiet(told.chainEnd),
    handleChainError: quiet(told.chainError),
    handleChatModelStart: quiet(told.chatStart),
    handleLLMStart: quiet(told.llmStart),
    handleLLMEnd: quiet(told.llmEnd),
    handleLLMError: quiet(told.llmError),
    handleToolStart: quiet(told.toolStart),
    handleToolEnd: quiet(told.toolEnd),
    handleToolError: quiet(told.toolError),
  } as unknown as HookspanCallbacks
}

interface Root {
  readonly op: SafeOperation
  waits: boolean
  /** Ids of all runs below it. */
  readonly ids: Set<string>
}

/** Of a run whose stream was left LangGraph may say nothing: it is over when nothing is left of it. */
const left = new FinalizationRegistry<() => void>((over) => over())

/** The runs that are going on, by LangChain's ids of them. */
class ToldRuns {
  readonly #options: HookspanCallbacksOptions
  readonly #roots = new Map<string, Root>()
  readonly #models = new Map<string, SafeModelCall>()
  readonly #tools = new Map<string, SafeToolCall>()

  constructor(options: HookspanCallbacksOptions) {
    this.#options = options
  }

  #below(runId: string, parentRunId: string | undefined, name: unknown, input: unknown): Root {
    const above = parentRunId === undefined ? undefined : this.#roots.get(parentRunId)
    const root = above ?? this.#start(name, input)
    root.ids.add(runId)
    this.#roots.set(runId, root)
    return root
  }

  #start(name: unknown, input: unknown): Root {
    const { dispatcher, agentName = asName(name) } = this.#options
    const op = startOperation(dispatcher, { adapter: ADAPTER, ...defined({ agentName, input }) })
    return { op, waits: false, ids: new Set() }
  }

  async #end(runId: string, end: (root: Root) => unknown): Promise<void> {
    const root = this.#roots.get(runId)
    this.#roots.delete(runId)
    if (root === undefined || [...root.ids][0] !== runId) return
    for (const id of root.ids) this.#roots.delete(id)
    await end(root)
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
    this.#below(runId, parentRunId, name, inputOf(input))
    const isRoot = parentRunId === undefined && isRecord(metadata)
    if (isRoot) left.register(metadata, () => void this.#end(runId, ({ op }) => op.abandon()))
  }

  readonly chainEnd = (output: unknown, runId: string): Promise<void> =>
    this.#end(runId, async ({ op, waits }) => {
      if (waits) return op.park({ waitingFor: 'human' })
      const messages = asObject(output)?.messages
      const last = Array.isArray(messages) ? readReply(messages.at(-1)).response.content : undefined
      return op.complete(defined({ content: last }))
    })

  readonly chainError = (error: unknown, runId: string): Promise<void> => {
    // A node that asks stops the graph, which ends without an error.
    const root = this.#roots.get(runId)
    if (isInterrupt(error) && root !== undefined) root.waits = true
    return this.#end(runId, async ({ op, waits }) => {
      if (waits) return op.park({ waitingFor: 'human' })
      if (isAbort(error)) return op.complete({ reason: 'interrupted' })
      return op.fail(error)
    })
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
    const { op } = this.#below(runId, parentRunId, model, undefined)
    const provider = asName(ls_provider) ?? 'unknown'
    // The model tells how it was configured, and leaves its keys out.
    const server = configuredServer(known?.kwargs)
    const call = op.openLlmCall({ model, provider, ...server, request: { ...request }, read: readReply })
    this.#models.set(runId, call)
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
    const call = this.#models.get(runId)
    this.#models.delete(runId)
    await call?.settle(first?.message ?? { content: first?.text ?? '' })
    await this.#end(runId, ({ op }) => op.complete())
  }

  readonly llmError = (error: unknown, runId: string): Promise<void> => {
    this.#models.get(runId)?.fail(error)
    this.#models.delete(runId)
    return this.#end(runId, ({ op }) => op.fail(error))
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
    const { op } = this.#below(runId, parentRunId, apiName, input)
    const id = asName(toolCallId)
    this.#tools.set(
      runId,
      op.openToolCall({ apiName, args: jsonIn(input, input), ...defined({ toolCallId: id }) }),
    )
  }

  readonly toolEnd = async (output: unknown, runId: string): Promise<void> => {
    const call = this.#tools.get(runId)
    this.#tools.delete(runId)
    await call?.settle(isToolMessage(output) ? output.content : output)
    await this.#end(runId, ({ op }) => op.complete())
  }

  readonly toolError = async (error: unknown, runId: string): Promise<void> => {
    const call = this.#tools.get(runId)
    const root = this.#roots.get(runId)
    this.#tools.delete(runId)
    const waits = isInterrupt(error)
    if (waits && root !== undefined) root.waits = true
    await call?.fail(waits ? new RunSuspended() : error)
    await this.#end(runId, ({ op }) =>
      waits ? Promise.resolve(op.park({ waitingFor: 'human' })) : op.fail(error),
    )
  }
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
