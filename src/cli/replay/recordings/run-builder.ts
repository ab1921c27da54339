import { RecordingError, type RecordingPlace } from './recording-error.ts'
import type { RecordedCall, RecordedItem, RecordedToolResult } from './types.ts'

/** Puts items in order and finds the call that each result belongs to. */
export class RunBuilder {
  readonly items: RecordedItem[] = []
  readonly calls: RecordedCall[] = []
  /** Calls without a result, with the message that made them. */
  readonly #waiting: { call: RecordedCall; message: number }[] = []

  /** Takes the calls of a message in their order. */
  addCalls(calls: Omit<RecordedCall, 'index'>[]): RecordedCall[] {
    const numbered = calls.map((call, offset) => ({ index: this.calls.length + offset, ...call }))
    this.calls.push(...numbered)
    this.#waiting.push(...numbered.map((call) => ({ call, message: this.items.length })))
    return numbered
  }

  add(item: Exclude<RecordedItem, RecordedToolResult>): void {
    this.items.push(item)
  }

  /**
   * Ids repeat within some runs, even within one message. A result belongs to the last message that made a
   * call of its id, and there to the first that still waits.
   *
   * @throws RecordingError when no call waits for it.
   */
  addResult(
    toolCallId: string,
    place: RecordingPlace,
    build: (call: RecordedCall) => Omit<RecordedToolResult, 'kind' | 'callIndex' | 'toolCallId'>,
  ): void {
    const last = this.#waiting.findLast(({ call }) => call.id === toolCallId)
    const position = this.#waiting.findIndex(
      ({ call, message }) => call.id === toolCallId && message === last?.message,
    )
    const [found] = last ? this.#waiting.splice(position, 1) : []
    if (!found) {
      const answered = this.calls.some(({ id }) => id === toolCallId)
      throw new RecordingError(
        place,
        `the result for tool call ${JSON.stringify(toolCallId)} belongs to no call: ` +
          `${answered ? 'every call with this id is already answered' : 'no message before it makes that call'}. ` +
          'Restore the missing call, or remove the result.',
      )
    }
    const { call } = found
    call.resultItem = this.items.length
    this.items.push({ kind: 'toolResult', callIndex: call.index, toolCallId, ...build(call) })
  }
}
