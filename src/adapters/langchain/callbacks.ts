import { assertAdapterOptions } from '../../adapter/adapter-options.ts'
import type { HookDispatcher } from '../../dispatcher/index.ts'
import { setPlaceFinder } from '../../dispatcher/run/current.ts'
import { errorMessage, HookspanError } from '../../internal/errors.ts'
import { a, type Fields } from '../../internal/expect.ts'
import { warnOfVersion } from '../peer-range.ts'
import { placeInGraph } from './graph-place.ts'
import { ToldRuns } from './told-runs.ts'

export interface HookspanCallbacksOptions {
  dispatcher: HookDispatcher
  /** Names the runs. @default the graph's name */
  agentName?: string
}

/** By this LangGraph knows who is to be told of interrupts, and where else it would have to be imported. */
const GRAPH_HANDLER = Symbol.for('langgraph.graph_callback_handler')

type Handle = (...told: never[]) => Promise<void>

/** A handler as LangChain takes it among `callbacks`. */
export interface HookspanCallbacks {
  readonly name: string
  readonly awaitHandlers: boolean
  readonly raiseError: boolean
  readonly handleChainStart: Handle
  readonly handleChainEnd: Handle
  readonly handleChainError: Handle
  readonly handleChatModelStart: Handle
  readonly handleLLMStart: Handle
  readonly handleLLMNewToken: Handle
  readonly handleLLMEnd: Handle
  readonly handleLLMError: Handle
  readonly handleToolStart: Handle
  readonly handleToolEnd: Handle
  readonly handleToolError: Handle
  readonly handleInterrupt: Handle
}

const MEANT = new Set(['NOT_CAPABLE', 'RUN_DENIED'])

const FIELDS: Fields<HookspanCallbacksOptions> = { dispatcher: a.value, agentName: a.string }

/**
 * Tells the runs of a graph, or of whatever else of LangChain it is given to: model calls and tools. Callbacks are told
 * and asked nothing, so a gate or a mock is refused when the run starts: for these, see `hookspanMiddleware`. Of an agent
 * that has the middleware they tell its end alone, which LangChain may keep from a middleware.
 *
 * @throws HookspanError `INVALID_OPTION`.
 * @example
 * await graph.invoke(input, { callbacks: [hookspanCallbacks({ dispatcher })] })
 */
export function hookspanCallbacks(options: HookspanCallbacksOptions): HookspanCallbacks {
  assertAdapterOptions(options, FIELDS, 'hookspanCallbacks')
  warnOfVersion('@langchain/core')
  setPlaceFinder(placeInGraph)
  const told = new ToldRuns(options)
  const quiet =
    <A extends unknown[]>(handle: (...args: A) => void | Promise<void>) =>
    async (...args: A): Promise<void> => {
      try {
        await handle(...args)
      } catch (error) {
        // What was asked for and cannot be done, or was refused, is the user's to know. All else is ours.
        if (error instanceof HookspanError && MEANT.has(error.code)) throw error
        console.warn(`hookspan: a run of LangChain could not be told: ${errorMessage(error)}`)
      }
    }
  const handlers = {
    name: 'hookspan',
    awaitHandlers: true,
    raiseError: true,
    handleChainStart: quiet(told.chainStart),
    handleChainEnd: quiet(told.chainEnd),
    handleChainError: quiet(told.chainError),
    handleChatModelStart: quiet(told.chatStart),
    handleLLMStart: quiet(told.llmStart),
    handleLLMNewToken: quiet(told.llmNewToken),
    handleLLMEnd: quiet(told.llmEnd),
    handleLLMError: quiet(told.llmError),
    handleToolStart: quiet(told.toolStart),
    handleToolEnd: quiet(told.toolEnd),
    handleToolError: quiet(told.toolError),
    handleInterrupt: quiet(told.interrupted),
    [GRAPH_HANDLER]: true,
  }
  return handlers
}
