import { type ChainResult, isRefusal } from '../../gates/chain.ts'
import { COMPLETION_REASONS, type CompletionReason } from '../../hooks/index.ts'
import { describeValue, HookspanError } from '../../internal/errors.ts'
import { a, type Fields } from '../../internal/expect.ts'
import { toContent } from '../../internal/json.ts'
import { readFields } from '../../internal/objects.ts'
import { isError } from '../../internal/realms.ts'

export interface CompleteInit {
  /** @default 'done' */
  reason?: CompletionReason
  /** The run's last word. */
  content?: string
}

export const COMPLETE: Fields<CompleteInit> = {
  // Looked at with a mend of its own.
  reason: a.value,
  // As a model said it.
  content: a.value,
}

export interface CompleteResult {
  readonly reason: CompletionReason
  readonly content?: string
  /** Why a `beforeComplete` gate withheld the outcome. */
  readonly refusal?: { readonly code: string; readonly reason: string }
}

/** What the gates made of the run's outcome. A refused one ends as `denied`, without its content. */
export function completed(asked: CompleteResult, decided: ChainResult | undefined): CompleteResult {
  if (decided === undefined || decided.kind === 'wait') return asked
  if (decided.kind === 'skip') return { ...asked, content: toContent(decided.result) }
  if (isRefusal(decided)) {
    const { code, reason } = decided
    return { reason: 'denied', refusal: { code, reason } }
  }
  if (!decided.changed) return asked
  const { reason, content } = decided.payload as Partial<CompleteResult>
  return {
    reason: COMPLETION_REASONS.includes(reason as CompletionReason)
      ? (reason as CompletionReason)
      : asked.reason,
    ...(content !== undefined && { content: toContent(content) }),
  }
}

/** What a client wraps in an error of its own says the same: the innermost of a few. */
export function isDenial(error: unknown, deep = 4): boolean {
  if (error instanceof HookspanError && error.code === 'RUN_DENIED') return true
  return deep > 0 && isError(error) && isDenial(readFields(error, ['cause']).cause, deep - 1)
}

export function unknownReason(reason: unknown): HookspanError {
  const known = COMPLETION_REASONS.join(', ')
  const message = `Unknown completion reason ${describeValue(reason)}. Known: ${known}. To wait for a human, use park().`
  return new HookspanError('INVALID_OPTION', message)
}
