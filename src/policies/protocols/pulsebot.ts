import type { HookEvent } from '../../hooks/index.ts'
import { describeValue } from '../../internal/errors.ts'
import { isRecord } from '../../internal/objects.ts'
import { type Dialect, sessionOf } from './dialect.ts'

/**
 * PulseBot's webhook: `{ tool_name, arguments, session_id }` is answered with `{ verdict, reasoning?,
 * modified_arguments? }`. There a missing or unknown verdict approves; here it is no answer.
 */
export const pulsebot: Dialect = {
  points: ['beforeToolCall'],
  maxStatus: 299,
  question: (ctx) => ({
    tool_name: ctx.apiName,
    arguments: ctx.payload,
    session_id: sessionOf(ctx),
  }),
  decision(answer) {
    const { verdict, reasoning, modified_arguments: args } = isRecord(answer) ? answer : {}
    const why = typeof reasoning === 'string' ? { reason: reasoning } : {}
    if (verdict === 'approve') return { decision: 'proceed', ...why }
    if (verdict === 'modify') {
      if (!isRecord(args)) throw new Error(`expected \`modified_arguments\`, got ${describeValue(args)}`)
      return { decision: 'mutate', payload: args, ...why }
    }
    if (verdict !== 'deny') {
      throw new Error(`expected \`verdict\` to be approve, deny or modify, got ${describeValue(verdict)}`)
    }
    return { decision: 'deny', ...why }
  },
}

/** What PulseBot posts after a call; undefined where it posts nothing, because the tool gave no result. */
export function pulsebotPost(event: HookEvent<'afterToolCall'>): object | undefined {
  if (!['completed', 'mocked', 'skipped'].includes(event.outcome ?? 'completed')) return undefined
  return {
    event: 'post_call',
    tool_name: event.apiName,
    arguments: event.args,
    result: event.success
      ? { success: true, output: event.content, error: null }
      : { success: false, output: null, error: event.content },
    session_id: sessionOf(event),
  }
}
