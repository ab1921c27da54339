import { asObject, asText } from './reading.ts'

const BLOCKS = new Set(['text', 'image', 'audio', 'resource', 'resource_link'])

/** What a tool of an MCP server gives. A schema of its result is one of `structuredContent`. */
export interface ServedResult {
  readonly structuredContent?: unknown
  readonly isError?: boolean
}

/** Whether it is what an MCP server itself would give: what a tool tells of may have a content as well. */
export function isToolResult(value: unknown): value is ServedResult {
  const content = asObject(value)?.content
  return Array.isArray(content) && content.every((block) => BLOCKS.has(asText(asObject(block)?.type) ?? ''))
}
