import { readToolResult } from '../../dispatcher/calls/read-generator.ts'
import { CallRefused } from '../../dispatcher/calls/suspended.ts'
import { erroredOutcome, refusedOutcome, resultOutcome } from '../../dispatcher/calls/tool-outcome.ts'
import type {
  OpenToolCall,
  ToolCallDecision,
  ToolCallInit,
  ToolFunction,
  ToolOutcome,
  ToolRunContext,
} from '../../dispatcher/index.ts'
import type { Refusal } from '../../gates/chain.ts'
import { concerns, decidesAt } from '../../gates/gate.ts'
import { FAILED, type Failures, Once } from './failures.ts'

/** What a tool is given that runs unseen. */
export function unseenContext<A>(failures: Failures, { toolCallId = '' }: ToolCallInit<A>): ToolRunContext {
  const signal = failures.core?.signal ?? new AbortController().signal
  // Of a call that we do not know no other one has the key: nothing that is to be done is taken for done.
  return { signal, toolCallId, idempotencyKey: crypto.randomUUID(), traceparent: undefined }
}

/** How a call ends that nobody could decide on, where somebody was to. */
export function refusedCall<A, R>(
  failures: Failures,
  { toolCallId = '' }: ToolCallInit<A>,
): ToolOutcome<R> | undefined {
  const guarded = failures.guarded('onStart', 'beforeToolCall', 'afterToolCall')
  return guarded ? refusedOutcome<R>(FAILED, toolCallId) : undefined
}

/** How a call ends whose tool ran, and which could not be told. */
export async function unseenOutcome<A, R>(
  failures: Failures,
  { toolCallId = '' }: ToolCallInit<A>,
  body: () => ReturnType<ToolFunction<A, R>>,
): Promise<ToolOutcome<R>> {
  try {
    const value = readToolResult(body(), () => {}, failures.core?.signal)
    return resultOutcome<R>('completed', (await value) as R, toolCallId)
  } catch (error) {
    return erroredOutcome<R>(error, toolCallId)
  }
}

/** {@link OpenToolCall}, whose tool runs as it would without us where we fail and nobody was to decide on it. */
export class SafeToolCall<A = unknown, R = unknown> {
  readonly #failures: Failures
  readonly #init: ToolCallInit<A>
  readonly #call: OpenToolCall<A, R> | undefined
  /** How it ends where we failed: made when somebody asks, or it is known. */
  #instead: PromiseWithResolvers<ToolOutcome<R>> | undefined
  #decided: Promise<ToolCallDecision<A, R>> | undefined

  constructor(failures: Failures, init: ToolCallInit<A>, call: OpenToolCall<A, R> | undefined) {
    this.#failures = failures
    this.#init = init
    this.#call = call
  }

  get decided(): Promise<ToolCallDecision<A, R>> {
    this.#decided ??= this.#decide()
    return this.#decided
  }

  /** The same where it is known already that the tool is to run. */
  get decision(): ToolCallDecision<A, R> | undefined {
    return this.#failures.quietly(() => this.#call?.decision)
  }

  async #decide(): Promise<ToolCallDecision<A, R>> {
    try {
      if (this.#call !== undefined) return await this.#call.decided
    } catch (error) {
      this.#failures.note(error)
    }
    const refusal = this.#refusal()
    if (refusal !== undefined) {
      this.#endsAs(refusal)
      return refusal
    }
    return { state: 'run', args: this.#init.args, context: unseenContext(this.#failures, this.#init) }
  }

  /** The effective arguments, once the call is decided. */
  get args(): A {
    const call = this.#call
    return (call && this.#failures.quietly(() => call.args)) ?? this.#init.args
  }

  #refusal(): ToolOutcome<R> | undefined {
    return refusedCall<A, R>(this.#failures, this.#init)
  }

  /** How it ends. */
  get outcome(): Promise<ToolOutcome<R>> {
    this.#instead ??= Promise.withResolvers<ToolOutcome<R>>()
    const { promise } = this.#instead
    return this.#call === undefined ? promise : Promise.race([this.#call.outcome, promise])
  }

  async run(body: ToolFunction<A, R>): Promise<ToolOutcome<R>> {
    const ran = new Once(body)
    try {
      if (this.#call !== undefined) return await this.#call.run(ran.run)
    } catch (error) {
      this.#failures.note(error)
    }
    // The call itself goes on, with its gates.
    if (ran.began && this.#call !== undefined) return this.#call.outcome
    const decided = await this.decided
    if (decided.state !== 'run') return decided
    return this.#refusal() ?? this.#unseen(() => ran.run(decided.args, decided.context))
  }

  /** Its tool does not run, as others than its gates have refused it: whom it was to call, or the SDK's own human. */
  refuse(why: Pick<Refusal, 'reason'> & Partial<Refusal>): Promise<ToolOutcome<R>> {
    const refusal: Refusal = { kind: 'deny', code: 'policy_denied', stop: false, ...why }
    return this.run(() => Promise.reject(new CallRefused(refusal)))
  }

  #unseen(body: () => ReturnType<ToolFunction<A, R>>): Promise<ToolOutcome<R>> {
    return unseenOutcome<A, R>(this.#failures, this.#init, body)
  }

  /** In a durable run: until it is kept that the tool is at work, which has to be before it is. Undefined elsewhere. */
  begins(): Promise<void> | undefined {
    return (this.#call as { begin?: () => Promise<void> } | undefined)?.begin?.()
  }

  /** Whether a gate decides on what it gives: until it has, nobody may be shown anything of that. */
  get gated(): boolean {
    const { apiName, identifier = 'local', source = 'local' } = this.#init
    const gates = this.#failures.core?.allGates() ?? []
    const call = { apiName, identifier, source }
    return gates.some(
      (gate) => gate.shadow !== true && decidesAt(gate, 'afterToolCall') && concerns(gate, call),
    )
  }

  /** How it ends where its tool must not begin any more: asked before {@link enter} begins it. */
  get refused(): Promise<ToolOutcome<R>> | undefined {
    return this.#failures.quietly(() => this.#call?.refused)
  }

  enter<T>(fn: () => T): T {
    const call = this.#call
    return call === undefined ? fn() : this.#failures.around((inner) => call.enter(inner), fn)
  }

  settle(result: R): Promise<ToolOutcome<R>> {
    return this.#ended(
      (call) => call.settle(result),
      () => this.#unseen(() => result),
    )
  }

  fail(error: unknown): Promise<ToolOutcome<R>> {
    return this.#ended(
      (call) => call.fail(error),
      () => this.#unseen(() => Promise.reject(error)),
    )
  }

  async #ended(
    end: (call: OpenToolCall<A, R>) => Promise<ToolOutcome<R>>,
    unseen: () => Promise<ToolOutcome<R>>,
  ): Promise<ToolOutcome<R>> {
    try {
      if (this.#call !== undefined) return await end(this.#call)
    } catch (error) {
      this.#failures.note(error)
    }
    const outcome = this.#refusal() ?? (await unseen())
    this.#endsAs(outcome)
    return outcome
  }

  #endsAs(outcome: ToolOutcome<R>): void {
    this.#instead ??= Promise.withResolvers<ToolOutcome<R>>()
    this.#instead.resolve(outcome)
  }
}
