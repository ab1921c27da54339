import type { Operation } from '../../dispatcher/index.ts'
import type { RunTotals } from '../../hooks/index.ts'
import { errorMessage, errorType } from '../../internal/errors.ts'
import { jsonIn, safeStringify } from '../../internal/json.ts'
import { defined } from '../../internal/objects.ts'

export type StoppedBy = 'cancel' | 'maxDurationMs'

/** How the run of a loop ended. Plain JSON. */
export interface LoopOutcome {
  readonly operationId: string
  readonly reason: 'done' | 'error' | 'interrupted' | 'denied'
  /** What the loop gave. */
  readonly value?: unknown
  readonly error?: { readonly type: string; readonly message: string }
  readonly endedBy?: StoppedBy
  readonly totals: RunTotals
}

/** Ends the run of a loop: stopped, or by what the loop gave or threw. */
export async function endOf(
  op: Operation,
  endedBy: StoppedBy | undefined,
  value: unknown,
  thrown: unknown,
): Promise<LoopOutcome> {
  const { operationId, totals } = op
  if (endedBy !== undefined) {
    await op.complete({ reason: 'interrupted' })
    return { operationId, reason: 'interrupted', totals, endedBy }
  }
  if (thrown !== undefined && op.stopRequested === undefined) {
    await op.fail(thrown)
    const error = { type: errorType(thrown), message: errorMessage(thrown) }
    return { operationId, reason: 'error', totals, error }
  }
  const content = value === undefined || typeof value === 'string' ? value : safeStringify(value)
  const told = await op.complete(defined({ content }))
  if (told.reason === 'denied') return { operationId, reason: told.reason, totals }
  const given = told.content === content ? value : givenIn(told.content, value)
  return { operationId, reason: 'done', totals, ...defined({ value: given }) }
}

/** What a `beforeComplete` gate put in the place of what the loop gave, which it was shown as JSON where that is no text. */
function givenIn(content: string | undefined, value: unknown): unknown {
  if (content === undefined || value === undefined || typeof value === 'string') return content
  return jsonIn(content, content)
}
