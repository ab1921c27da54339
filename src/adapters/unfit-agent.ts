import { HookspanError } from '../internal/errors.ts'

/** An agent of an SDK that takes no answer for one. */
export function answeredFor(sdk: string): HookspanError {
  const message = `A gate answered for the agent, which ${sdk} cannot be given: refuse the call, or change its result at afterToolCall.`
  return new HookspanError('NOT_CAPABLE', message)
}

/** What an agent is asked by an SDK that asks in a text. @throws HookspanError `NOT_CAPABLE` for anything else. */
export function textToAsk(admitted: unknown): string {
  if (typeof admitted === 'string') return admitted
  throw new HookspanError(
    'NOT_CAPABLE',
    'An onStart gate made no text of the text that the agent is to be asked. Answer with a text.',
  )
}
