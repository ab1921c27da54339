import { type ChainResult, type GateRecord, orderGates, runChain } from '../gates/chain.ts'
import type { ApprovalOptions, Approver, Gate, GatePoint } from '../gates/index.ts'
import type {
  AnyHookType,
  CompletionReason,
  EventInit,
  LlmRequest,
  RunTotals,
  TokenUsage,
} from '../hooks/index.ts'
import { addOptional, addUsage, NO_USAGE } from '../internal/usage.ts'
import type { Activity, Instrument, OperationInfo } from './instrument.ts'
import type { OperationInit } from './operation-init.ts'
import type { OperationRecord } from './operation-record.ts'
import type { PriceOf } from './options.ts'
import type { Reporter } from './report.ts'
import type { Scopes } from './scopes.ts'
import type { StandIn } from './stand-in.ts'

/** What an operation needs of its dispatcher. */
export interface OperationHost {
  readonly reporter: Reporter
  readonly instruments: readonly Instrument[]
  readonly priceOf: PriceOf | undefined
  readonly composition: 'chain' | 'firstDecision'
  gates(): Gate[]
  approver(): Approver | undefined
  standIns(): StandIn[]
  ended(record: OperationRecord): void
}

/** One place in an operation from which calls are made: the operation itself, or one of its steps. */
export interface CallSite {
  readonly scopes: Scopes
  readonly stepIndex: number | undefined
  nextCallIndex(): number
  /** Told of each model call that ended, for the step's summary. */
  noteLlm?(note: LlmNote): void
}

export interface LlmNote {
  readonly content: string | undefined
  readonly reasoning: string | undefined
  readonly toolCalls: EventInit<'afterStep'>['toolCalls']
  readonly usage: TokenUsage | undefined
  readonly costUsd: number | undefined
}

/** An activity that is open, and how to end it when the operation ends before it does. */
export type Closer = (reason: CompletionReason) => void

export interface DecideOptions {
  readonly scopes: Scopes
  readonly stepIndex: number | undefined
  readonly identifier?: string
  readonly apiName?: string
  readonly toolCallId?: string
  readonly model?: string
  readonly provider?: string
  ask?(options: ApprovalOptions, payload: unknown, gate: Gate): Promise<import('../gates/chain.ts').AskResult>
}

/** The state that an operation's steps and calls share. */
export class OperationCore {
  readonly host: OperationHost
  readonly record: OperationRecord
  readonly info: OperationInfo
  readonly init: OperationInit
  readonly scopes: Scopes
  readonly signal: AbortSignal | undefined
  readonly agentPath: readonly string[]
  readonly inheritedGates: () => Gate[]
  /** Who is asked when a gate wants an approval, unless it is the dispatcher's. */
  readonly approver: Approver | undefined
  readonly #closers = new Set<Closer>()
  readonly #startedAt = performance.now()
  #nextCall = 0
  nextStepIndex = 0
  ended = false
  steps = 0
  llmCalls = 0
  toolCalls = 0
  usage: TokenUsage = NO_USAGE
  costUsd: number | undefined
  /** Set when a gate or a human said that the run is to end. */
  stop: { readonly code: string; readonly reason: string } | undefined

  constructor(
    host: OperationHost,
    record: OperationRecord,
    info: OperationInfo,
    init: OperationInit,
    scopes: Scopes,
    inherited: {
      signal: AbortSignal | undefined
      agentPath: readonly string[]
      gates: () => Gate[]
      approver: Approver | undefined
    },
  ) {
    this.host = host
    this.record = record
    this.info = info
    this.init = init
    this.scopes = scopes
    this.signal = inherited.signal
    this.agentPath = inherited.agentPath
    this.inheritedGates = inherited.gates
    this.approver = init.approver ?? inherited.approver
  }

  emit<T extends AnyHookType>(type: T, init: EventInit<T>): void {
    if (!this.ended) this.record.emit(type, init)
  }

  /** Epoch milliseconds for tracers, only where the operation has a clock of its own. */
  get timestamp(): number | undefined {
    return this.init.clock?.()
  }

  open(site: { readonly scopes: Scopes }, activity: Activity): Scopes {
    return site.scopes.open(activity, this.info, this.timestamp)
  }

  nextCallKey(): string {
    return `call-${this.#nextCall++}`
  }

  /** Registers an open activity. The result takes it off again; false when the operation ended it already. */
  track(closer: Closer): () => boolean {
    this.#closers.add(closer)
    return () => this.#closers.delete(closer)
  }

  /** Ends what is open, the youngest first: children before their parents. */
  closeAll(reason: CompletionReason): void {
    for (const closer of [...this.#closers].reverse()) {
      this.#closers.delete(closer)
      closer(reason)
    }
  }

  addLlm(usage: TokenUsage | undefined, costUsd: number | undefined): void {
    this.llmCalls++
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

  /** The gates that decide at a point: the parent's, then this operation's, then the plugins', by priority. */
  gatesAt(point: GatePoint): Gate[] {
    return orderGates(this.allGates(), point)
  }

  allGates(): Gate[] {
    return [...new Set([...this.inheritedGates(), ...(this.init.gates ?? []), ...this.host.gates()])]
  }

  /** Runs the gates of a point. Undefined when there are none, so that nothing is paid for. */
  async decide(point: GatePoint, payload: unknown, options: DecideOptions): Promise<ChainResult | undefined> {
    const gates = this.gatesAt(point)
    if (gates.length === 0) return undefined
    const { scopes, ask, ...where } = options
    const { traceparent } = scopes
    const ctx = { point, ...this.info, ...where, ...(traceparent !== undefined && { traceparent }) }
    const result = await runChain(gates, ctx, payload, {
      composition: this.host.composition,
      ...(this.signal && { signal: this.signal }),
      ...(ask && { ask }),
      onDecision: (record) => this.#decided(record, options),
    })
    if ((result.kind === 'deny' || result.kind === 'reject') && result.stop) this.stop = result
    return result
  }

  #decided(record: GateRecord, { scopes, toolCallId }: DecideOptions): void {
    scopes.annotate({ kind: 'gate', record })
    this.host.reporter.publish({
      status: 'decided',
      operationId: this.info.operationId,
      ...(toolCallId !== undefined && { toolCallId }),
      ...record,
    })
  }
}

/** What a model call asks for, with what the gates changed of it. */
export function effectiveRequest(result: ChainResult | undefined, request: LlmRequest): LlmRequest {
  return result?.kind === 'proceed' ? (result.payload as LlmRequest) : request
}
