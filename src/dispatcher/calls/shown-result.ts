import type { View } from '../../gates/verdict.ts'
import { saysFailure, toContent } from '../../internal/json.ts'
import { defined, isRecord } from '../../internal/objects.ts'
import { hasWords, ToolResult } from './tool-outcome.ts'

/** A result as gates see it: what the tool gave, and beside it what a `ToolResult` says of that. */
export const RESULT_VIEW: View = {
  show(current) {
    if (!hasWords(current)) return { payload: current, success: !saysFailure(current) }
    const { data: payload, content, success } = current
    return { payload, content, success }
  },
  // Who cleans a result does not make a success of it.
  replace(current, payload) {
    if (hasWords(payload) || !hasWords(current) || current.success) return payload
    return new ToolResult({ content: toContent(payload), success: false, data: payload })
  },
  // What the model is told is what a human answers for.
  ask(current) {
    if (!hasWords(current)) return current
    const { content, success, data } = current
    return defined({ content, success, data })
  },
  edited(current, args) {
    if (!hasWords(current) || !isToldResult(args)) return RESULT_VIEW.replace(current, args)
    return new ToolResult({ ...args, success: current.success && args.success !== false })
  },
}

/** Whether a human has left what `ask` showed its form. */
function isToldResult(args: unknown): args is { content: string; success?: boolean; data?: unknown } {
  return (
    isRecord(args) &&
    typeof args.content === 'string' &&
    Object.keys(args).every((key) => ['content', 'success', 'data'].includes(key))
  )
}
