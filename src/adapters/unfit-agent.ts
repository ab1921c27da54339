import { HookspanError } from '../internal/errors.ts'
import type { SafeAgentCall } from './safe/held-calls.ts'

type Decided = Awaited<SafeAgentCall<unknown>['decided']>

/** Why an agent is not called. An answer for one is refused: the SDK takes none. */
export function whyNotCalled(call: SafeAgentCall<unknown>, decided: Decided, sdk: string): string {
  if ('reason' in decided) return decided.reason
  const message = `A gate answered for the agent, which ${sdk} cannot be given: refuse the call, or change its result at afterToolCall.`
  call.fail(new HookspanError('NOT_CAPABLE', message))
  return message
}

/** What an agent is asked by an SDK that asks in a text. @throws HookspanError `NOT_CAPABLE` for anything else. */
export function textToAsk(admitted: unknown): string {
  if (typeof admitted === 'string') return admitted
  throw new HookspanError(
    'NOT_CAPABLE',
    'An onStart gate made no text of the text that the agent is to be asked. Answer with a text.',
  )
}
