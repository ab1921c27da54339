import { AsyncLocalStorage } from 'node:async_hooks'
import type { AdapterInfo } from '../../adapter/index.ts'
import type {
  CompleteInit,
  HookDispatcher,
  Operation,
  OperationInit,
  ToolCallInit,
  ToolOutcome,
  ToolRunContext,
} from '../../dispatcher/index.ts'
import { currentPlace } from '../../dispatcher/run/current.ts'
import { HookspanError } from '../../internal/errors.ts'
import { defined } from '../../internal/objects.ts'
import { instructionIn, withInstruction } from '../instruction.ts'
import { currentCalls, type SafeCalls } from '../safe/calls.ts'
import type { SafeAgentCall } from '../safe/held-calls.ts'
import { SafeOperation, type SafeStep, startOperation } from '../safe/operation.ts'

/** What is told of the agent's loop before it begins. */
export interface LoopInit
  extends Pick<OperationInit, 'agentName' | 'conversationId' | 'input' | 'instructions' | 'tools'> {
  readonly dispatcher: HookDispatcher
  /** Undefined for a single question, which has neither turns nor tools, and is nobody's sub-agent. */
  readonly adapter?: AdapterInfo | undefined
  /** Where the loop belongs that runs outside of any operation. */
  readonly operation?: Operation | undefined
  readonly signal?: AbortSignal | undefined
  /** The last thing that the user said, whole. */
  readonly instruction: string
}

/** A call that the SDK answered itself, as one of a tool that there is not. */
export interface FailedCall {
  readonly init: ToolCallInit & { readonly toolCallId: string }
  readonly error: unknown
}

type Ended = { readonly operationId?: string; readonly content?: string; readonly status: string }

/** In which loop the running code makes its model calls: in none where it is that of a tool. */
const running = new AsyncLocalStorage<SdkLoop | undefined>()

/** The tool call that the running code is the code of. */
function toolHere(dispatcher: HookDispatcher): string | undefined {
  const place = currentPlace(dispatcher) ?? currentPlace()
  // What a model does to answer is no agent of the tool that asks it.
  return place === undefined || place.modelCall !== undefined
    ? undefined
    : place.core.toolCallAt(place.site)?.apiName
}

/**
 * An agent's loop that an SDK runs by itself. A model call begins a turn, what its reply asks for belongs to that turn.
 * Inside somebody's operation its calls belong there; inside a tool, of whichever agent, it is a sub-agent, named like
 * the tool; else it is an operation of its own.
 */
export class SdkLoop {
  /** Where calls belong that are made in somebody else's run. */
  readonly #place: SafeCalls | undefined
  /** The run whose turns these are. */
  readonly #run: SafeOperation | undefined
  readonly #own: boolean
  readonly #call: SafeAgentCall<Ended> | undefined
  #step: Promise<SafeStep> | undefined
  #answered = false
  /** Ids of the calls that are told. */
  readonly #told = new Set<string>()
  /** What the SDK has answered to calls of its last replies with a failure: to those of tools that failed, too. */
  failures: (() => readonly FailedCall[]) | undefined
  /** What the SDK is to be given: in a run of its own what `onStart` gates made of the input, else the input as it is. */
  input: unknown

  private constructor(
    place: SafeCalls | undefined,
    run: SafeOperation | undefined,
    own: boolean,
    call?: SafeAgentCall<Ended>,
  ) {
    this.#place = place
    this.#run = run
    this.#own = own
    this.#call = call
  }

  /** @throws HookspanError `NOT_CAPABLE`, `CALL_DENIED` where a gate refused the sub-agent. */
  static async begin(init: LoopInit): Promise<SdkLoop> {
    const { dispatcher, adapter, operation, signal, instruction, ...told } = init
    const calls = currentCalls(dispatcher)
    const tool = toolHere(dispatcher)
    const start = (more: OperationInit) =>
      startOperation(dispatcher, { ...defined({ ...told, signal, adapter }), ...more })
    const caller = calls ?? currentCalls()
    if (caller !== undefined && tool !== undefined && adapter !== undefined) {
      const call = caller.openAgentCall<Ended>({ agentName: tool, instruction })
      const decided = await call.decided
      const isSame = decided.state === 'run' && decided.instruction === instruction
      const isKnown = instructionIn(init.input) === instruction
      if (decided.state !== 'run' || !(isSame || isKnown)) throw unfit(call, decided)
      const input = isSame ? init.input : withInstruction(init.input, decided.instruction)
      const run = start({ agentName: tool, parent: decided.parent, ...defined({ input }) })
      return new SdkLoop(undefined, run, true, call).#admitted(input)
    }
    if (calls !== undefined) return new SdkLoop(calls, undefined, false).#given(init.input)
    if (operation !== undefined && !operation.ended) {
      const given = new SafeOperation(operation)
      const loop = adapter ? new SdkLoop(undefined, given, false) : new SdkLoop(given, undefined, false)
      return loop.#given(init.input)
    }
    const own = start({})
    return new SdkLoop(adapter ? undefined : own, own, true).#admitted(init.input)
  }

  #given(input: unknown): this {
    this.input = input
    return this
  }

  async #admitted(input: unknown): Promise<this> {
    try {
      const admitted = await (this.#run as SafeOperation).admit()
      if (Array.isArray(input) && !Array.isArray(admitted)) throw notMessages()
      return this.#given(admitted)
    } catch (error) {
      await this.fail(error)
      throw error
    }
  }

  /** Whether it ends a run when it ends. */
  get ownsRun(): boolean {
    return this.#own
  }

  /** Whether what it asks for are turns of a run, and not one question. */
  get hasTurns(): boolean {
    return this.#place === undefined
  }

  /** The loop in which the running code makes its model calls. */
  static get current(): SdkLoop | undefined {
    return running.getStore()
  }

  /** From where the running code makes its model calls, if that is in a loop. */
  static turns(): (() => Promise<SafeCalls>) | undefined {
    const loop = SdkLoop.current
    return loop && (() => loop.turn())
  }

  /** Runs code of the SDK, whose model calls begin turns. */
  run<T>(fn: () => T): T {
    const inside = () => running.run(this, fn)
    return this.#run === undefined ? inside() : this.#run.run(inside)
  }

  /** The SDK has what it asked for: what it asks next is the next turn. */
  answered(): void {
    this.#answered = true
  }

  /** From where a model call is made. */
  async turn(): Promise<SafeCalls> {
    if (this.#place !== undefined) return this.#place
    if (this.#step === undefined || this.#answered) {
      this.#answered = false
      this.#step = this.#next(this.#run as SafeOperation, this.#step)
      // Whoever makes a call hears of it.
      this.#step.catch(() => {})
    }
    return this.#step
  }

  /** Likewise, of an SDK that makes one model call a turn. */
  async nextTurn(): Promise<SafeCalls> {
    const calls = await this.turn()
    this.answered()
    return calls
  }

  async #next(run: SafeOperation, before: Promise<SafeStep> | undefined): Promise<SafeStep> {
    await this.#endTurn(await before)
    run.signal?.throwIfAborted()
    return run.openStep()
  }

  async #endTurn(step: SafeStep | undefined): Promise<void> {
    await this.#tellFailures(step)
    await step?.end()
  }

  async #tellFailures(step: SafeStep | undefined): Promise<void> {
    const calls = step ?? this.#place
    for (const { init, error } of this.failures?.() ?? []) {
      if (this.#told.has(init.toolCallId)) continue
      this.#told.add(init.toolCallId)
      await calls?.failedCall(init, error)
    }
  }

  /** Makes a tool call of the turn. */
  async tool<A, R>(
    init: ToolCallInit<A>,
    body: (args: A, context: ToolRunContext) => R | PromiseLike<R>,
  ): Promise<ToolOutcome<R>> {
    const calls = (await this.#step) ?? this.#run ?? (this.#place as SafeCalls)
    if (init.toolCallId !== undefined) this.#told.add(init.toolCallId)
    return calls.toolCall<A, R>(init, (args, context) => running.run(undefined, () => body(args, context)))
  }

  /** @throws HookspanError `CALL_DENIED` when a gate withholds the run's last word, or changes it. */
  async complete(end: CompleteInit): Promise<void> {
    // One that did not open has told why to who made the call, and the run ends all the same.
    await this.#endTurn(await this.#step?.catch(() => undefined))
    if (!this.#own || this.#run === undefined) return
    const { operationId } = this.#run
    const { reason, content, refusal } = await this.#run.complete(end)
    if (refusal === undefined && content === end.content) {
      this.#call?.settle(defined({ operationId, status: reason, content }) as Ended)
      return
    }
    const why = refusal
      ? `(${refusal.code}): ${refusal.reason}`
      : 'in words that the SDK cannot be made to say.'
    const error = new HookspanError('CALL_DENIED', `A beforeComplete gate answered for the run ${why}`)
    this.#call?.fail(error)
    throw error
  }

  /** Nobody holds any more what it is read with. */
  left(): void {
    const run = this.#run
    if (!this.#own || run === undefined) void this.#step?.then((step) => step.end()).catch(() => {})
    else if (!run.ended) {
      run.abandon()
      this.#call?.settle({ operationId: run.operationId, status: 'interrupted' })
    }
  }

  /** `signal`: with which the caller of a single question may have ended it. */
  async fail(error: unknown, signal?: AbortSignal | null): Promise<void> {
    const step = await this.#step?.catch(() => undefined)
    const interrupted = this.#run?.signal?.aborted === true || signal?.aborted === true
    await this.#tellFailures(step)
    if (interrupted) await step?.end()
    else step?.fail(error)
    if (!this.#own || this.#run === undefined) return
    if (interrupted) await this.#run.complete({ reason: 'interrupted' })
    else await this.#run.fail(error)
    this.#call?.fail(error)
  }
}

function notMessages(): HookspanError {
  const message =
    'An onStart gate made no messages of the messages that the SDK is to be given. Answer with a list of them.'
  return new HookspanError('NOT_CAPABLE', message)
}

function unfit(
  call: SafeAgentCall<Ended>,
  decided: { readonly state: string; readonly reason?: string },
): HookspanError {
  const why =
    decided.reason ??
    'a gate answered in its place, or changed an instruction that is none, which the SDK cannot be given; answer the call of ' +
      'its tool at beforeToolCall'
  const error = new HookspanError('CALL_DENIED', `Agent call denied: ${why}.`, { cause: decided })
  call.fail(error)
  return error
}
