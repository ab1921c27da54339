import { type ChainResult, isRefusal } from '../../gates/chain.ts'
import type { Approver, Gate, GatePoint } from '../../gates/index.ts'
import type {
  AnyHookType,
  CompletionReason,
  EventInit,
  LlmRequest,
  RunTotals,
  TokenUsage,
} from '../../hooks/index.ts'
import { HookspanError } from '../../internal/errors.ts'
import type { LlmReading } from '../../wire/reading.ts'
import type { OperationRecord } from '../events/operation-record.ts'
import type { Reporter } from '../events/report.ts'
import { withdrawParked } from '../humans/claim-execution.ts'
import { OpenQuestions } from '../humans/open-questions.ts'
import type { PriceOf } from '../options.ts'
import type { Activity, OperationInfo } from '../plugins/instrument.ts'
import type { PluginSet } from '../plugins/plugin-set.ts'
import type { TracedActivity } from '../plugins/traced-activity.ts'
import { type DecideOptions, OperationGates } from './decide.ts'
import type { OperationInit, ParkedOperation, SavedStep, WaitingCall } from './operation-init.ts'
import type { RunTree } from './run-tree.ts'
import { addOptional, addUsage, NO_USAGE } from './usage.ts'

/** What an operation needs of its dispatcher. */
export interface OperationHost {
  readonly reporter: Reporter
  readonly plugins: PluginSet
  readonly priceOf: PriceOf | undefined
  readonly composition: 'chain' | 'firstDecision'
  ended(record: OperationRecord): void
}

/** One place in an operation from which calls are made: the operation itself, or one of its steps. */
export interface CallSite {
  readonly traced: TracedActivity
  readonly stepIndex: number | undefined
  nextCallIndex(): number
  /** Told of each model call that ended, for the step's summary. */
  noteLlm?(reading: LlmReading, usage: TokenUsage | undefined, costUsd: number | undefined): void
  /** Told of each call that waits for a human in another process, so that the step is suspended, not ended. */
  noteWaiting?(): void
}

export interface LlmNote {
  readonly content: string | undefined
  readonly reasoning: string | undefined
  readonly toolCalls: EventInit<'afterStep'>['toolCalls']
}

/** An activity that is open, and how to end it when the operation ends before it does. */
export interface OpenCall {
  cut(reason: CompletionReason): void
}

/** The state that an operation's steps and calls share. */
export class OperationCore {
  readonly host: OperationHost
  readonly record: OperationRecord
  readonly info: OperationInfo
  readonly init: OperationInit
  readonly traced: TracedActivity
  readonly signal: AbortSignal | undefined
  readonly agentPath: readonly string[]
  readonly #gates: OperationGates
  readonly #release: () => void
  readonly #ownApprover: Approver | undefined
  readonly tree: RunTree
  readonly questions: OpenQuestions
  #runKey: string | undefined
  /** Calls that wait for a human in another process. */
  readonly waiting: WaitingCall[] = []
  /** The step that was open when the run was parked. */
  openStep: SavedStep | undefined
  readonly #open = new Set<OpenCall>()
  readonly #startedAt = performance.now()
  readonly #resumable: WaitingCall[] = []
  #nextCall = 0
  #nextQuestion = 0
  #admitted: Promise<unknown> | undefined
  #started = false
  nextStepIndex = 0
  /** True while the last events are told. */
  ending = false
  ended = false
  steps = 0
  llmCalls = 0
  toolCalls = 0
  usage: TokenUsage = NO_USAGE
  costUsd: number | undefined
  #stop: { readonly code: string; readonly reason: string } | undefined

  constructor(
    host: OperationHost,
    record: OperationRecord,
    info: OperationInfo,
    init: OperationInit,
    traced: TracedActivity,
    inherited: {
      signal: AbortSignal | undefined
      release: () => void
      agentPath: readonly string[]
      gates: () => readonly Gate[]
      approver: Approver | undefined
      tree: RunTree
      questions: OpenQuestions | undefined
    },
  ) {
    this.host = host
    this.record = record
    this.info = info
    this.init = init
    this.traced = traced
    this.signal = inherited.signal
    this.#release = inherited.release
    this.agentPath = inherited.agentPath
    this.#gates = new OperationGates(this, inherited.gates)
    this.#ownApprover = init.approver ?? inherited.approver
    this.tree = inherited.tree
    this.questions = new OpenQuestions(inherited.questions)
    this.#runKey = init.resume?.runKey
  }

  /** Tells this run from another that was started with the same operation id; survives a park. */
  get runKey(): string {
    this.#runKey ??= crypto.randomUUID()
    return this.#runKey
  }

  /** Set when a gate or a human said that the run is to end. */
  get stop(): { readonly code: string; readonly reason: string } | undefined {
    return this.#stop
  }

  /** The first one counts. Nobody needs to answer what else is asked. */
  requestStop(stop: { readonly code: string; readonly reason: string }): void {
    if (this.#stop !== undefined) return
    this.#stop = stop
    this.questions.withdrawAll()
  }

  /** A question that is answered in another process, where the run is resumed. */
  addParked(id: string): void {
    const withdraw = () => withdrawParked(this, id)
    if (this.questions.closed) withdraw()
    else this.questions.add({ id, parked: true, withdraw })
  }

  /** Who is asked when a gate wants an approval. */
  get approver(): Approver | undefined {
    return this.#ownApprover ?? this.host.plugins.approver
  }

  /**
   * What the first step or call waits for: the `onStart` gates, which decide once. Undefined when they have.
   * `admit` gives the effective input.
   */
  get admission(): Promise<unknown> | undefined {
    if (this.#started || this.ended || this.init.resume !== undefined) return undefined
    if (this.#admitted === undefined && !this.decidesAt('onStart')) {
      this.#started = true
      return undefined
    }
    return this.admit()
  }

  admit(): Promise<unknown> {
    this.#admitted ??= this.#decideStart()
    return this.#admitted
  }

  async #decideStart(): Promise<unknown> {
    const { traced, init } = this
    const decided =
      init.resume === undefined
        ? await this.decide('onStart', init.input, { traced, stepIndex: undefined })
        : undefined
    if (isRefusal(decided)) this.requestStop(decided)
    this.#started = true
    return decided?.kind === 'proceed' ? decided.payload : init.input
  }

  /** @throws HookspanError `OPERATION_ENDED`, or `RUN_DENIED` once a gate or a human said that the run is to end. */
  assertRunning(): void {
    if (this.ended) throw endedError(this.info.operationId)
    if (this.stop === undefined) return
    const { code, reason } = this.stop
    throw new HookspanError('RUN_DENIED', `The run was denied (${code}): ${reason}`, { cause: this.stop })
  }

  emit<T extends AnyHookType>(type: T, init: EventInit<T>): void {
    if (!this.ended) this.record.emit(type, init)
  }

  /** Counts an event that would reach nobody, and need not be made. False when it is to be emitted. */
  skipUnheard(type: AnyHookType): boolean {
    return this.ended || this.record.skipUnheard(type)
  }

  /** Epoch milliseconds for tracers, only where the operation has a clock of its own. */
  get timestamp(): number | undefined {
    return this.init.clock?.()
  }

  open(site: { readonly traced: TracedActivity }, activity: Activity): TracedActivity {
    return site.traced.open(activity, this.info, this.timestamp)
  }

  nextCallKey(): string {
    return `call-${this.#nextCall++}`
  }

  nextQuestion(): number {
    return this.#nextQuestion++
  }

  get callCount(): number {
    return this.#nextCall
  }

  /** Takes up the counts and the open step of a parked operation. */
  restore(parked: ParkedOperation): void {
    const { steps, llmCalls, toolCalls, inputTokens, outputTokens, costUsd } = parked.totals
    this.record.sequence = parked.sequence
    this.nextStepIndex = parked.stepIndex
    this.steps = steps
    this.llmCalls = llmCalls
    this.toolCalls = toolCalls
    this.usage = { inputTokens, outputTokens }
    this.costUsd = costUsd
    this.#nextCall = parked.callCount ?? 0
    this.openStep = parked.openStep
    this.#resumable.push(...(parked.waiting ?? []))
    for (const id of parked.questions ?? []) this.addParked(id)
  }

  /** The parked call that this one continues, each at most once. */
  takeWaiting(toolCallId: string | undefined, apiName: string, kind?: 'agent'): WaitingCall | undefined {
    if (this.#resumable.length === 0) return undefined
    const index = this.#resumable.findIndex(
      (call) =>
        call.kind === kind &&
        call.apiName === apiName &&
        (toolCallId === undefined || call.toolCallId === toolCallId),
    )
    return index < 0 ? undefined : this.#resumable.splice(index, 1)[0]
  }

  /** Nothing of the operation is held any more. */
  leave(): void {
    this.#release()
    this.host.ended(this.record)
  }

  /** Registers an open activity. */
  track(call: OpenCall): void {
    this.#open.add(call)
  }

  /** False when the operation has ended it already. */
  untrack(call: OpenCall): boolean {
    return this.#open.delete(call)
  }

  /** Ends what is open, the youngest first: children before their parents. */
  closeAll(reason: CompletionReason): void {
    for (const call of [...this.#open].reverse()) {
      this.#open.delete(call)
      call.cut(reason)
    }
  }

  addLlm(usage: TokenUsage | undefined, costUsd: number | undefined): void {
    this.llmCalls++
    this.tree.addUsage(usage, costUsd)
    this.usage = addUsage(this.usage, usage)
    this.costUsd = addOptional(this.costUsd, costUsd)
  }

  priceOf(provider: string, model: string, usage: TokenUsage | undefined): number | undefined {
    const price = this.init.priceOf ?? this.host.priceOf
    if (price === undefined || usage === undefined) return undefined
    try {
      const costUsd = price({ provider, model, usage })
      return costUsd !== undefined && Number.isFinite(costUsd) ? costUsd : undefined
    } catch (error) {
      this.host.reporter.failure({
        kind: 'failed',
        hookId: 'priceOf',
        operationId: this.info.operationId,
        error,
      })
      return undefined
    }
  }

  totals(): RunTotals {
    return {
      steps: this.steps,
      llmCalls: this.llmCalls,
      toolCalls: this.toolCalls,
      usage: this.usage,
      ...(this.costUsd !== undefined && { costUsd: this.costUsd }),
      durationMs: performance.now() - this.#startedAt,
    }
  }

  countStep(): void {
    this.steps++
    this.tree.addStep()
  }

  countToolCall(): void {
    this.toolCalls++
    this.tree.addToolCall()
  }

  gatesAt(point: GatePoint): readonly Gate[] {
    return this.#gates.at(point)
  }

  decidesAt(point: GatePoint): boolean {
    return this.#gates.decideAt(point)
  }

  allGates(): readonly Gate[] {
    return this.#gates.all()
  }

  /** Runs the gates of a point. Undefined when there are none, so that nothing is paid for. */
  async decide(point: GatePoint, payload: unknown, options: DecideOptions): Promise<ChainResult | undefined> {
    const result = await this.#gates.decide(point, payload, options)
    if (isRefusal(result) && result.stop) this.requestStop(result)
    return result
  }
}

export function endedError(operationId: string): HookspanError {
  return new HookspanError('OPERATION_ENDED', `Operation "${operationId}" has ended. Start a new one.`)
}

/** What a model call asks for, with what the gates changed of it. */
export function effectiveRequest(result: ChainResult | undefined, request: LlmRequest): LlmRequest {
  return result?.kind === 'proceed' ? (result.payload as LlmRequest) : request
}
