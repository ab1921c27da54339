import type { ToolEnd } from '../dispatcher/index.ts'
import { isRecord } from '../internal/objects.ts'
import type { ContentWriter } from './content.ts'
import { GEN_AI } from './names.ts'

/** An attribute has to be an object: what is none stands in one, alone, under this key. */
const KEY = 'content'

/** What the model was told, as an object where it is one. */
export function writeToolResult(writer: ContentWriter, end: ToolEnd): void {
  const { result } = end
  if (isRecord(result) && !(result instanceof Error) && !isWrapped(result) && end.success !== false) {
    writer.object(GEN_AI.toolCallResult, result, KEY)
    return
  }
  // Read late: it is made when it is asked for.
  const { content } = end
  const object = content === undefined ? undefined : exactObject(content)
  if (object === undefined) writer.object(GEN_AI.toolCallResult, content ?? result, KEY)
  else writer.exactObject(GEN_AI.toolCallResult, object, content as string)
}

/** What was written, given the attribute as the value that its JSON is. */
export function unwrapToolResult(value: unknown): unknown {
  return isRecord(value) && isWrapped(value) ? value[KEY] : value
}

/** Objects that look like this are put into one more, so that nothing else does. */
function isWrapped(value: object): boolean {
  return KEY in value && Object.keys(value).length === 1
}

/** The object whose JSON is this text, byte for byte. */
function exactObject(text: string): object | undefined {
  if (!text.startsWith('{') || text.startsWith(`{"${KEY}":`)) return undefined
  try {
    const value: object = JSON.parse(text)
    return JSON.stringify(value) === text ? value : undefined
  } catch {
    return undefined
  }
}
