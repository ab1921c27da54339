import type { HookDispatcher, StandInAnswer, StandInCall } from '../dispatcher/index.ts'

/** The rules of one `mockTools()`. */
export interface RulesLayer {
  appliesTo(operation: StandInCall['operation']): boolean
  hasRule(call: StandInCall): boolean
  answer(call: StandInCall): Promise<StandInAnswer | undefined>
}

/** One `replayTools()`. */
export interface RecordingLayer {
  /** @throws what fails a call that the recording does not hold. */
  answer(call: StandInCall): StandInAnswer | undefined
  /** A rule answers in its place, or lets the real tool run. */
  overrule(call: StandInCall, rule: string, live: boolean): void
}

/**
 * Who stands in for the tools of a dispatcher, in whatever order it was set up: rules, those of newer mocks before those
 * of older ones, and behind them all a recording.
 */
export class Layers {
  static readonly #of = new WeakMap<HookDispatcher, Layers>()
  #rules: readonly RulesLayer[] = []
  #recordings: readonly RecordingLayer[] = []

  static of(dispatcher: HookDispatcher): Layers {
    const layers = Layers.#of.get(dispatcher) ?? new Layers()
    Layers.#of.set(dispatcher, layers)
    return layers
  }

  /** @returns takes them out again. */
  addRules(layer: RulesLayer): () => void {
    this.#rules = [...this.#rules, layer]
    return () => {
      this.#rules = this.#rules.filter((other) => other !== layer)
    }
  }

  /** @returns takes it out again. */
  addRecording(layer: RecordingLayer): () => void {
    this.#recordings = [...this.#recordings, layer]
    return () => {
      this.#recordings = this.#recordings.filter((other) => other !== layer)
    }
  }

  /** What is asked where no rule takes a call. */
  get recording(): RecordingLayer | undefined {
    return this.#recordings[0]
  }

  hasRulesFor({ operation }: StandInCall): boolean {
    return this.#rules.some((layer) => layer.appliesTo(operation))
  }

  /** The oldest mocks are asked first, and speak for all: a call is for the newest ones that have a rule for it. */
  askRules(call: StandInCall, asked: RulesLayer): Promise<StandInAnswer | undefined> | undefined {
    const layers = this.#rules.filter((layer) => layer.appliesTo(call.operation))
    if (layers[0] !== asked) return undefined
    const taker = layers.length === 1 ? asked : layers.findLast((layer) => layer.hasRule(call))
    return (taker ?? (layers.at(-1) as RulesLayer)).answer(call)
  }
}
