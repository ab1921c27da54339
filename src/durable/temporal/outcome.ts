import { HookspanError } from '../../internal/errors.ts'
import type { DurableOutcome } from '../runs.ts'

/** What Temporal adds to it. */
const AROUND = 1_024

/**
 * What a workflow gives, as Temporal takes it: of a conversation that is longer, what was said last.
 *
 * @throws HookspanError `CHECKPOINT_FAILED` where it is too long without one.
 */
export function fittingOutcome(outcome: DurableOutcome, maxBytes: number): DurableOutcome {
  const room = maxBytes - AROUND
  if (bytesOf(outcome) <= room) return outcome
  const messages = 'messages' in outcome ? outcome.messages : []
  const without = {
    ...outcome,
    ...(messages.length > 0 && { messages: [], omittedMessages: messages.length }),
  }
  let left = room - bytesOf(without)
  if (left < 0) {
    throw new HookspanError(
      'CHECKPOINT_FAILED',
      `Run "${outcome.operationId}" has ended with more than the ${maxBytes} bytes that Temporal takes of what a workflow ` +
        'gives (`maxSegmentBytes`). Give a reference to what is kept elsewhere.',
    )
  }
  let from = messages.length
  while (from > 0) {
    left -= bytesOf(messages[from - 1]) + 1
    if (left < 0) break
    from--
  }
  // Not with the answer to what is not there.
  while (from < messages.length && !speaks(messages[from]?.role)) from++
  return { ...without, messages: messages.slice(from), omittedMessages: from } as DurableOutcome
}

const speaks = (role: unknown): boolean => role === 'user' || role === 'assistant'

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value))
