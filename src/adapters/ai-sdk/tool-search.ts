/** The SDK's own tool that finds tools, so that a model is not offered them all. */
import type { ToolOutcome } from '../../dispatcher/index.ts'
import { isRecord } from '../../internal/objects.ts'
import { asObjects } from '../../wire/reading.ts'
import { copyOf } from './copy-of.ts'
import type { DecidedCall } from './decided-calls.ts'
import { foundBySdk } from './perform-tool.ts'
import type { SdkTool } from './sdk.ts'

/** What the SDK marks a `toolSearch()` by. */
const IS_SEARCH = Symbol.for('vercel.ai.toolSearch')
/** What the user gave it to search with. */
const SEARCH = Symbol.for('vercel.ai.toolSearch.search')

type Search = (asked: { readonly query: unknown }) => unknown

interface Searching extends SdkTool {
  readonly [IS_SEARCH]?: boolean
  readonly [SEARCH]?: Search
}

/** The calls of the tool in this call of the SDK. */
interface SearchCalls {
  /** Those that are decided, and have not been run. */
  open(): readonly DecidedCall[]
  take(toolCallId: string, input?: unknown): DecidedCall | undefined
  readonly worded: Pick<SdkTool, 'toModelOutput'>
}

export function isSearch(tool: SdkTool): boolean {
  return (tool as Searching)[IS_SEARCH] === true
}

/** The SDK has an `execute` of its own in it, and puts another in its place: what it searches with, and what it tells of it, is left. */
export function searchingTool(tool: SdkTool, { open, take, worded }: SearchCalls): SdkTool {
  const copy = copyOf(tool, {
    toModelOutput: async (asked) => {
      const decided = take(asked.toolCallId)
      if (decided !== undefined) await foundBySdk(decided, asked.output)
      return worded.toModelOutput?.(asked)
    },
  })
  const own = (tool as Searching)[SEARCH]
  const search: Search = async (asked) => {
    const decided = open().find(({ input }) => queryOf(input) === asked.query)
    if (decided === undefined) return own?.(asked) ?? []
    const { call, decision, toolCallId, input } = decided
    if (decision.state !== 'run') return namesIn(decision)
    try {
      await call.begins()
      if (call.refused !== undefined) return []
      if (own === undefined)
        throw new Error(`The AI SDK searches by itself, and for ${queryOf(input)} alone.`)
      return await call.enter(() => own({ ...asked, query: queryOf(decision.args) }))
    } catch (error) {
      take(toolCallId, input)
      await call.fail(error)
      throw error
    }
  }
  // Read when a search begins: where the user gave no function, the SDK searches by itself for what it was asked.
  const isAsAsked = ({ decision, input }: DecidedCall) =>
    decision.state === 'run' && queryOf(decision.args) === queryOf(input)
  const get = () => (own === undefined && open().every(isAsAsked) ? undefined : search)
  return Object.defineProperty(copy, SEARCH, { get, configurable: true, enumerable: false })
}

/** Of what is said to be found in its place the SDK takes those that there are. */
function namesIn(outcome: ToolOutcome): unknown[] {
  const tools = 'result' in outcome && isRecord(outcome.result) ? outcome.result.tools : undefined
  return asObjects(tools).map(({ name }) => name)
}

const queryOf = (input: unknown): unknown => (isRecord(input) ? input.query : undefined)
