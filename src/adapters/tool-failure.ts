import { type ToolOutcome, ToolResult, wordsOf } from '../dispatcher/calls/tool-outcome.ts'
import { asList, asObject, asText } from '../wire/reading.ts'

const MARK = Symbol.for('hookspan: what a tool threw')

/** What a tool says in its result, where it says that it failed. Known by a mark, which is kept in a durable run. */
export class ToolFailure extends Error {
  readonly [MARK] = true
}

export function isToolFailure(error: unknown): boolean {
  return typeof error === 'object' && error !== null && MARK in error
}

/** What a tool of an MCP server says where it says that it failed. */
export function toldFailure(result: unknown): string | undefined {
  const { isError, content } = asObject(result) ?? {}
  if (isError !== true) return undefined
  return asList(content)
    .map((block) => asText(asObject(block)?.text) ?? '')
    .join('')
}

/** Of a tool whose SDK hands on what an MCP server gave: as one that failed, where that says so. */
export function asFailed(result: unknown): unknown {
  const failure = toldFailure(result)
  return failure === undefined ? result : new ToolResult({ content: failure, success: false, data: result })
}

/** Whether a result still says by itself that its tool failed: the model is told that, as it is without us. */
export function saysItFailed(outcome: ToolOutcome): boolean {
  if (!('result' in outcome)) return false
  const failure = toldFailure(outcome.result)
  const words = wordsOf(outcome)
  return failure !== undefined && (words === undefined || words === failure)
}
