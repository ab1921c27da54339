import type { ApprovalAnswer } from '../gates/index.ts'
import type { HookspanError } from '../internal/errors.ts'
import { digestOf } from '../internal/json.ts'
import { defined } from '../internal/objects.ts'
import { answerFields } from './check-answer.ts'
import type { ApprovalStore, KeptAnswer } from './store.ts'

/** The channel whose answers come to all who listen. */
export const BROKER = 'redis'

/** Refusals of what another process has: nobody tried anything. */
const elsewhere = new WeakSet<HookspanError>()

export function isElsewhere(error: unknown): boolean {
  return elsewhere.has(error as HookspanError)
}

/**
 * An answer over a broker comes to each process that listens: the one that is refused may have its request in another one's store, or
 * another has taken this very answer. What is refused for that is known by {@link isElsewhere}.
 */
export async function noteElsewhere(
  error: HookspanError,
  id: string,
  answer: ApprovalAnswer,
  store: ApprovalStore,
): Promise<void> {
  if (error.code === 'APPROVAL_NOT_FOUND') elsewhere.add(error)
  if (error.code !== 'APPROVAL_ANSWERED') return
  const taken = (await store.get(id).catch(() => undefined))?.answer as KeptAnswer | undefined
  if (taken === undefined) return
  const { logged: _logged, origin: _origin, ...given } = taken
  if (digestOf(given) === digestOf(defined(answerFields(answer)))) elsewhere.add(error)
}
