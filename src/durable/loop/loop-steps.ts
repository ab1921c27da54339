import type { OpenStep, Operation } from '../../dispatcher/index.ts'

interface OpenTurn {
  readonly turn: number
  readonly step: OpenStep
}

/** Which of the loop's turns has a step that is open in this process. One at a time. */
export class LoopSteps {
  readonly #op: Operation
  /** The turn whose step is open in what the run went on from, and which this process has not taken up. */
  #saved: number | undefined
  #open: OpenTurn | undefined
  #moving: Promise<unknown> = Promise.resolve()

  constructor(op: Operation, saved: number | undefined) {
    this.#op = op
    this.#saved = saved
  }

  /** The turn whose step is open. */
  get turn(): number | undefined {
    return this.#open?.turn ?? this.#saved
  }

  /** The step of a turn: begun now, where it is not open. One of an earlier turn ends. */
  of(turn: number): Promise<OpenStep> {
    return this.#inTurn(() => this.#of(turn))
  }

  async #of(turn: number): Promise<OpenStep> {
    await this.#takeUp()
    if (this.#open?.turn === turn) return this.#open.step
    await this.#open?.step.end()
    this.#open = undefined
    const step = await this.#op.openStep()
    this.#open = { turn, step }
    return step
  }

  async #takeUp(): Promise<void> {
    const turn = this.#saved
    if (turn === undefined || this.#open !== undefined) return
    this.#open = { turn, step: await this.#op.openStep() }
    this.#saved = undefined
  }

  end(turn: number): Promise<void> {
    return this.#ended(turn, (step) => step.end())
  }

  fail(turn: number, error: unknown): Promise<void> {
    return this.#ended(turn, async (step) => step.fail(error))
  }

  #ended(turn: number, how: (step: OpenStep) => Promise<void>): Promise<void> {
    return this.#inTurn(async () => {
      // It ended before what is kept: that was told.
      if (this.turn !== turn) return
      // None is taken up in a run that is stopped: it ends with that.
      if (this.#open === undefined && this.#op.stopRequested !== undefined) return
      await this.#takeUp()
      const { step } = this.#open as OpenTurn
      this.#open = undefined
      await how(step)
    })
  }

  /** A call in it waits for a human. */
  suspend(): Promise<void> {
    return this.#inTurn(async () => {
      await this.#open?.step.end()
    })
  }

  #inTurn<T>(move: () => Promise<T>): Promise<T> {
    const moved = this.#moving.then(move)
    this.#moving = moved.catch(() => {})
    return moved
  }
}
