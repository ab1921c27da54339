import type { ToolEnd } from '../dispatcher/index.ts'
import { isRecord } from '../internal/objects.ts'
import { isError } from '../internal/realms.ts'
import type { ContentWriter } from './content.ts'
import { isExactObject } from './exact-json.ts'
import { GEN_AI } from './names.ts'

/** An attribute has to be an object: what is none stands in one, alone, under this key. */
const KEY = 'content'
const WRAPPED = `{"${KEY}":`

/** What the model was told, as an object where it is one. */
export function writeToolResult(writer: ContentWriter, end: ToolEnd): void {
  const { result } = end
  if (isRecord(result) && !isError(result) && !isWrapped(result) && end.success !== false) {
    writer.object(GEN_AI.toolCallResult, result, KEY)
    return
  }
  // Read late: it is made when it is asked for.
  const { content } = end
  if (content !== undefined && !content.startsWith(WRAPPED) && isExactObject(content)) {
    writer.exactObject(GEN_AI.toolCallResult, content)
  } else writer.object(GEN_AI.toolCallResult, content ?? result, KEY)
}

/** What was written, given the attribute as the value that its JSON is. */
export function unwrapToolResult(value: unknown): unknown {
  return isRecord(value) && isWrapped(value) ? value[KEY] : value
}

/** Objects that look like this are put into one more, so that nothing else does. */
function isWrapped(value: object): boolean {
  return KEY in value && Object.keys(value).length === 1
}
