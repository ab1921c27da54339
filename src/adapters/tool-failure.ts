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
