/** A question to a human that nobody has answered yet. */
export interface OpenQuestion {
  readonly id: string
  /** Nobody waits for the answer in this process: it is found when the run is resumed. */
  readonly parked: boolean
  /** Nobody needs the answer any more, or, where the run was left to another process, nobody here. Never throws. */
  withdraw(left?: boolean): void
}

/** The open questions of an operation and of its sub-agents. Each is known to all the operations above it. */
export class OpenQuestions {
  readonly #parent: OpenQuestions | undefined
  #open: Map<string, OpenQuestion> | undefined
  #closed = false
  #left = false

  constructor(parent: OpenQuestions | undefined) {
    this.#parent = parent
  }

  /** True once the run has ended, or one above it: then nobody is to be asked. */
  get closed(): boolean {
    return this.#closed || this.#parent?.closed === true
  }

  /** True once the run was left to another process, or one above it: there the questions are open still. */
  get left(): boolean {
    return this.#left || this.#parent?.left === true
  }

  /** Whether somebody waits for an answer in this process. */
  get awaited(): boolean {
    return this.#open !== undefined && [...this.#open.values()].some(({ parked }) => !parked)
  }

  get ids(): string[] {
    return [...(this.#open?.keys() ?? [])]
  }

  add(question: OpenQuestion): void {
    this.#open ??= new Map()
    this.#open.set(question.id, question)
    this.#parent?.add(question)
  }

  remove(id: string): void {
    this.#open?.delete(id)
    this.#parent?.remove(id)
  }

  withdrawAll(): void {
    this.#withdraw(() => true)
  }

  /** The run has ended. */
  close(): void {
    this.#closed = true
    this.#withdraw(() => true)
  }

  /** The run goes on elsewhere, with the questions that are parked; with all of them where it was left to another process. */
  park(left = false): void {
    this.#closed = true
    this.#left = left
    this.#withdraw(({ parked }) => !parked, left)
  }

  #withdraw(which: (question: OpenQuestion) => boolean, left = false): void {
    for (const question of [...(this.#open?.values() ?? [])].filter(which)) {
      this.remove(question.id)
      question.withdraw(left)
    }
  }
}
