import { tellsFailure, wordsOf } from '../../dispatcher/calls/tool-outcome.ts'
import type { ToolOutcome } from '../../dispatcher/index.ts'
import { isRecord } from '../../internal/objects.ts'
import { asName, asObject } from '../../wire/reading.ts'
import type { MastraTool } from './sdk.ts'

/** By it `@mastra/mcp` keeps what a server says beside structured content, for the model alone. */
const CONTENT = Symbol.for('mastra.mcp.callToolContent')

/** What a tool has the model told that nobody sees in its result. */
export async function saidBeside(value: unknown, tool: MastraTool): Promise<string | undefined> {
  if (!isRecord(value) || !(CONTENT in value)) return undefined
  const { type, value: text } = asObject(await tool.toModelOutput?.(value)) ?? {}
  return type === 'text' && typeof text === 'string' ? text : undefined
}

/** What the model is told in the place of results, as the SDK has it. */
type Words =
  | { readonly type: 'text' | 'error-text'; readonly value: string }
  | { readonly type: 'json'; readonly value: object }
const said = new WeakMap<object, Words>()
const worded = new WeakSet<MastraTool>()

/**
 * What the model is told of a call that has ended.
 *
 * @param own what the tool gave.
 * @param beside what it has the model told by itself.
 * @throws what the tool threw, or a failure of which there is nothing but words.
 */
export function told(outcome: ToolOutcome, tool: MastraTool, own?: unknown, beside?: string): unknown {
  if ('result' in outcome) {
    const { result } = outcome
    const fails = tellsFailure(outcome)
    if (beside !== undefined && result === own && wordsOf(outcome) === beside) return result
    const value =
      fails || (result !== own && isNoText(result, tool)) ? outcome.toToolMessage().content : wordsOf(outcome)
    if (value === undefined) return result
    // The SDK looks words up by the result alone.
    if (typeof result === 'object' && result !== null)
      return say(tool, result, { type: fails ? 'error-text' : 'text', value })
    if (fails) throw new Error(value)
    return value
  }
  if (outcome.state === 'errored') throw outcome.error
  const refusal: object = JSON.parse(outcome.toToolMessage().content)
  // What a tool makes of its results for the model, it cannot make of this.
  return tool.toModelOutput === undefined ? refusal : say(tool, refusal, { type: 'json', value: refusal })
}

/** In the place of what an agent gives, of which the SDK tells the model the text alone. */
function isNoText(result: unknown, { id, toModelOutput }: MastraTool): boolean {
  const isAgent = toModelOutput !== undefined && asName(id)?.startsWith('agent-') === true
  return isAgent && isRecord(result) && typeof result.text !== 'string'
}

function say(tool: MastraTool, result: object, words: Words): object {
  said.set(result, words)
  tellWords(tool)
  return result
}

/** Has Mastra ask us for what the model is told of a result. */
export function tellWords(tool: MastraTool): void {
  if (worded.has(tool)) return
  worded.add(tool)
  const { toModelOutput } = tool
  const told = (result: unknown) => {
    const words = typeof result === 'object' && result !== null ? said.get(result) : undefined
    return words ?? toModelOutput?.call(tool, result)
  }
  Object.assign(tool, { toModelOutput: told })
}
