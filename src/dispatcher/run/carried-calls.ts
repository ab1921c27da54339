import type { WaitingCall } from './parked.ts'

/** Calls of a run that go on in another process, or came from one. */
export class CarriedCalls {
  readonly #waiting: WaitingCall[] = []
  readonly #resumable: WaitingCall[]

  /** `resumable`: of the saved state that the run goes on from. */
  constructor(resumable: readonly WaitingCall[] = []) {
    this.#resumable = [...resumable]
  }

  /** One that waits for a human since this process asked. */
  wait(call: WaitingCall): void {
    this.#waiting.push(call)
  }

  get all(): readonly WaitingCall[] {
    return [...this.#waiting, ...this.#resumable]
  }

  /** The parked call that this one continues, each at most once. */
  take(toolCallId: string | undefined, apiName: string, kind?: 'agent'): WaitingCall | undefined {
    return this.#takeWhere(
      (call) =>
        call.kind === kind &&
        call.apiName === apiName &&
        (toolCallId === undefined || call.toolCallId === toolCallId),
    )
  }

  /** The call of an agent whose run is saved: of a process that died. */
  takeAgent(callKey: string | undefined): WaitingCall | undefined {
    return this.#takeWhere((call) => call.kind === 'agent' && call.callKey === callKey)
  }

  #takeWhere(is: (call: WaitingCall) => boolean): WaitingCall | undefined {
    if (this.#resumable.length === 0) return undefined
    const index = this.#resumable.findIndex(is)
    return index < 0 ? undefined : this.#resumable.splice(index, 1)[0]
  }

  /** Those that nobody has taken up again: the end of the run is to end them, too. */
  takeResumable(): WaitingCall[] {
    return this.#resumable.splice(0)
  }

  /** Those that wait since this process asked; the spans of their parts have ended. */
  takeWaiting(): WaitingCall[] {
    return this.#waiting.splice(0)
  }
}
