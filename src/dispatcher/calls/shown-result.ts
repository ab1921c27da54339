import type { View } from '../../gates/chain.ts'
import { saysFailure, toContent } from '../../internal/json.ts'
import { ToolResult } from './tool-outcome.ts'

/** A result as gates see it: what the tool gave, and beside it what a `ToolResult` says of that. */
export const RESULT_VIEW: View = {
  show(current) {
    if (!(current instanceof ToolResult)) return { payload: current, success: !saysFailure(current) }
    const { data: payload, content, success } = current
    return { payload, content, success }
  },
  // Who cleans a result does not make a success of it.
  replace(current, payload) {
    if (payload instanceof ToolResult || !(current instanceof ToolResult) || current.success) return payload
    return new ToolResult({ content: toContent(payload), success: false, data: payload })
  },
}
