import { orderGates } from '../../gates/chain.ts'
import { decidesAt } from '../../gates/gate.ts'
import type { Approver, Gate, GatePoint } from '../../gates/index.ts'
import { registeredGates } from '../../gates/registered-gate.ts'
import type {
  AnyHookType,
  CompletionReason,
  EventInit,
  GateRecord,
  RunTotals,
  TokenUsage,
  ToolCallContext,
} from '../../hooks/index.ts'
import { HookspanError } from '../../internal/errors.ts'
import type { LlmReading } from '../../wire/reading.ts'
import type { OperationRecord } from '../events/operation-record.ts'
import type { Reporter } from '../events/report.ts'
import { OpenQuestions } from '../humans/open-questions.ts'
import type { PriceOf } from '../options.ts'
import type { OperationInfo } from '../plugins/instrument.ts'
import type { PluginSet } from '../plugins/plugin-set.ts'
import type { StandIn } from '../plugins/stand-in.ts'
import type { TracedActivity } from '../plugins/traced-activity.ts'
import { CarriedCalls } from './carried-calls.ts'
import type { Disabled } from './disabled.ts'
import type { FittedPatterns } from './fitted-patterns.ts'
import type { Inside } from './inside.ts'
import type { LiveParent, OperationInit } from './operation-init.ts'
import type { ParkedOperation, SavedStep, WaitingCall } from './parked.ts'
import { Phase, type Stop } from './phase.ts'
import { RunCounts } from './run-counts.ts'
import type { RunTree } from './run-tree.ts'
import type { SeenTools } from './seen-tools.ts'
import type { StateClaim } from './state-claim.ts'

/** What an operation needs of its dispatcher. */
export interface OperationHost {
  readonly dispatcher: object
  readonly reporter: Reporter
  readonly plugins: PluginSet
  readonly priceOf: PriceOf | undefined
  readonly composition: 'chain' | 'firstDecision'
  readonly fitted: FittedPatterns
  ended(record: OperationRecord): void
}

/** One place in an operation from which calls are made: the operation itself, one of its steps, or a call in it. */
export interface CallSite {
  readonly traced: TracedActivity
  readonly stepIndex: number | undefined
  /** The call whose code makes them. */
  readonly callKey?: string | undefined
  nextCallIndex(): number
  /** Told of each model call that ended, for the step's summary. */
  noteLlm?(reading: LlmReading, usage: TokenUsage | undefined, costUsd: number | undefined): void
  /** Told of each call that waits for a human in another process, so that the step is suspended, not ended. */
  noteWaiting?(): void
}

/** What is open of an operation, and ends with it at the latest. */
export interface OpenActivity {
  cut(reason: CompletionReason): void
  /** What decides on it elsewhere ends before it does. */
  deciding?: { abandon(why: () => unknown): void } | undefined
  /** A step, a tool call as it is saved while it is open. */
  readonly savedStep?: SavedStep
  readonly savedCall?: WaitingCall | undefined
  readonly toolCall?: ToolCallContext
}

/** What an operation has of the one that called it. */
export interface Inherited
  extends Pick<
    LiveParent['live'],
    'signal' | 'gates' | 'standIns' | 'disabled' | 'approver' | 'tree' | 'seen'
  > {
  readonly release: () => void
  readonly agentPath: readonly string[]
  readonly questions: OpenQuestions | undefined
  readonly claim: StateClaim | undefined
  readonly inside: Inside | undefined
}

const NO_GATES: readonly Gate[] = []

/** The state that an operation's steps and calls share. */
export class OperationCore {
  readonly host: OperationHost
  readonly record: OperationRecord
  readonly info: OperationInfo
  readonly init: OperationInit
  readonly traced: TracedActivity
  readonly phase: Phase
  readonly questions: OpenQuestions
  readonly carried: CarriedCalls
  readonly #counts: RunCounts
  readonly startedAtMs: number
  readonly #inherited: Inherited
  /** The list is the caller's, who may go on using it: a guard must not be gone with it. */
  readonly #ownGates: readonly Gate[]
  readonly #open = new Set<OpenActivity>()
  #closedBy: CompletionReason | undefined
  #runKey: string | undefined
  #nextCall = 0
  #nextQuestion = 0
  nextStepIndex = 0
  /** Saved on its way: see {@link spanKey}. */
  kept = false
  /** Of a run that is saved on its way, and of those in its tools. */
  inside: Inside | undefined
  /** Of a run that is saved on its way: keeps that a tool is at work. */
  keepAtWork: (() => Promise<void>) | undefined
  /** Of a run that counts what it pays: told of a call that says what it cost, whose price nobody is asked for. */
  noteCost: ((usage: TokenUsage | undefined, costUsd: number) => void) | undefined
  /** How often it was parked before. */
  parks: number | undefined
  /** How many other runs began below it. */
  children = 0
  /** What gates decided about the run itself. */
  readonly gates: GateRecord[] = []

  constructor(
    host: OperationHost,
    record: OperationRecord,
    info: OperationInfo,
    init: OperationInit,
    traced: TracedActivity,
    inherited: Inherited,
  ) {
    this.host = host
    this.record = record
    this.info = info
    this.init = init
    this.traced = traced
    this.#inherited = inherited
    this.#ownGates = init.gates === undefined ? NO_GATES : registeredGates(init.gates)
    this.questions = new OpenQuestions(inherited.questions)
    const { resume } = init
    this.phase = new Phase(resume)
    this.carried = new CarriedCalls(resume?.waiting)
    this.#counts = new RunCounts(resume?.totals)
    this.#runKey = resume?.runKey
    this.startedAtMs = resume?.startedAt ?? record.clock()
    this.inside = inherited.inside
    this.kept = this.inside !== undefined
    if (resume !== undefined) this.#restore(resume)
  }

  #restore({ sequence, stepIndex, callCount = 0, gates = [], kept, parks }: ParkedOperation): void {
    this.record.sequence = sequence
    this.nextStepIndex = stepIndex
    this.kept ||= kept === true
    this.parks = parks
    this.#nextCall = callCount
    this.gates.push(...gates)
  }

  get signal(): AbortSignal | undefined {
    return this.#inherited.signal
  }

  /** Of the state that it goes on from. */
  get claim(): StateClaim | undefined {
    return this.#inherited.claim
  }

  /** What of the dispatcher's takes no part. */
  get disabled(): Disabled {
    return this.#inherited.disabled
  }

  get tree(): RunTree {
    return this.#inherited.tree
  }

  get seen(): SeenTools | undefined {
    return this.#inherited.seen
  }

  get agentPath(): readonly string[] {
    return this.#inherited.agentPath
  }

  /** Tells this run from another that was started with the same operation id; survives a park. */
  get runKey(): string {
    this.#runKey ??= crypto.randomUUID()
    return this.#runKey
  }

  /**
   * What the id of a step's, a tool call's or a compaction's span is made of, the same in each process that goes on with it: one
   * that dies exports what lies below a span that only the next process ends.
   */
  spanKey(of: string): string | undefined {
    return this.kept ? JSON.stringify([this.runKey, this.parks ?? 0, this.info.operationId, of]) : undefined
  }

  /** Who is asked when a gate wants an approval. */
  get approver(): Approver | undefined {
    return this.init.approver ?? this.#inherited.approver ?? this.host.plugins.approver
  }

  /** Set once a gate or a human said that the run is to end. */
  get stop(): Stop | undefined {
    return this.phase.stop
  }

  /** Nothing is told of the run any more. */
  get ended(): boolean {
    return this.phase.over
  }

  /** The first one counts. Nobody needs to answer what else is asked. */
  requestStop({ code, reason }: Stop): void {
    if (this.phase.requestStop({ code, reason })) this.questions.withdrawAll()
  }

  /**
   * @throws HookspanError `OPERATION_ENDED`, `RUN_DENIED` once a gate or a human said that the run is to end, or
   * `STATE_CLAIMED` where another process goes on with it.
   */
  assertRunning(): void {
    if (this.claim?.refusal !== undefined) throw this.claim.refusal
    if (this.ended) throw this.endedError()
    if (this.stop === undefined) return
    const { code, reason } = this.stop
    throw new HookspanError('RUN_DENIED', `The run was denied (${code}): ${reason}`, { cause: this.stop })
  }

  emit<T extends AnyHookType>(type: T, init: EventInit<T>): void {
    if (!this.ended) this.record.emit(type, init)
  }

  /** The same for an event that is dear to make: it is made only where somebody hears it, and counted always. */
  tell<T extends AnyHookType>(type: T, init: () => EventInit<T>): void {
    if (this.ended) return
    if (this.record.hears(type)) this.record.emit(type, init())
    else this.record.count(type)
  }

  /** Epoch milliseconds for tracers, only where the operation has a clock of its own. */
  get timestamp(): number | undefined {
    return this.init.clock?.()
  }

  /** What went wrong beside the agent's path. */
  reportFailure(hookId: string, error: unknown): void {
    const { operationId } = this.info
    this.host.reporter.failure({ kind: 'failed', hookId, operationId, error })
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

  /** What the run was asked to do, before its gates. */
  get input(): unknown {
    return this.init.input ?? this.init.resume?.unadmitted?.input
  }

  /** The calls that go on where the run does: what waits, what has not been taken up again, what is at work. */
  get unfinishedCalls(): WaitingCall[] {
    return [...this.carried.all, ...[...this.#open].flatMap((open) => open.savedCall ?? [])]
  }

  /** The tool call whose code makes the calls of this place. */
  toolCallAt({ callKey }: CallSite): ToolCallContext | undefined {
    if (callKey === undefined) return undefined
    return [...this.#open].find(({ toolCall }) => toolCall?.callKey === callKey)?.toolCall
  }

  /** A tool call is being decided on, or at work. */
  get isCallingTools(): boolean {
    return [...this.#open].some(({ toolCall }) => toolCall !== undefined)
  }

  /** The step that goes on there. */
  get unfinishedStep(): SavedStep | undefined {
    return this.phase.suspendedStep ?? [...this.#open].findLast((open) => open.savedStep)?.savedStep
  }

  /** Nothing of the operation is held any more. */
  leave(): void {
    this.inside?.over()
    this.#inherited.release()
    this.host.ended(this.record)
  }

  /** Registers an open activity. */
  track(open: OpenActivity): void {
    this.#open.add(open)
  }

  /** False when the operation has ended it already. */
  untrack(open: OpenActivity): boolean {
    return this.#open.delete(open)
  }

  isOpen(open: OpenActivity): boolean {
    return this.#open.has(open)
  }

  /** @throws HookspanError `OPERATION_ENDED` once the end of the run, which may be under way, has ended it. */
  assertOpen(open: OpenActivity): void {
    if (!this.isOpen(open)) throw this.endedError()
  }

  /** Who reads it may have ended nothing: a signal to the process did. */
  endedError(): HookspanError {
    const { name, left } = this.phase
    const parked = left ? 'goes on in another process.' : 'is parked. Resume it.'
    const how = name === 'parked' ? parked : `has ended (${this.#closedBy}). Start a new one.`
    return new HookspanError('OPERATION_ENDED', `Operation "${this.info.operationId}" ${how}`)
  }

  /** Ends what is open, the youngest first: children before their parents. */
  closeAll(reason: CompletionReason): void {
    this.#closedBy ??= reason
    for (const open of [...this.#open].reverse()) {
      if (this.#open.delete(open)) open.cut(reason)
    }
  }

  addLlm(usage: TokenUsage | undefined, costUsd: number | undefined, model: string, untold = false): void {
    this.tree.addLlm(usage, costUsd, model, untold)
    this.#counts.addLlm(usage, costUsd)
  }

  totals(): RunTotals {
    return this.#counts.totals()
  }

  countStep(): void {
    this.#counts.addStep()
    this.tree.addStep()
  }

  countToolCall({ apiName, identifier }: ToolCallContext): void {
    this.seen?.called({ name: apiName, identifier })
    this.#counts.addToolCall()
    this.tree.addToolCall()
  }

  /** The gates that decide at a point: the parent's, then this operation's, then the plugins', by priority. */
  gatesAt(point: GatePoint): readonly Gate[] {
    return this.decidesAt(point) ? orderGates(this.allGates(), point) : NO_GATES
  }

  decidesAt(point: GatePoint): boolean {
    const gates = this.allGates()
    return gates.length > 0 && gates.some((gate) => decidesAt(gate, point))
  }

  /** The same, of gates whose decision counts: a shadow holds nothing back. */
  enforcesAt(point: GatePoint): boolean {
    return this.allGates().some((gate) => gate.shadow !== true && decidesAt(gate, point))
  }

  allGates(): readonly Gate[] {
    const inherited = this.#inherited.gates()
    const own = this.#ownGates
    const { ids, gate: isOff } = this.disabled
    const inUse = this.host.plugins.gates
    const plugged = ids.length === 0 ? inUse : inUse.filter((gate) => !isOff(gate))
    if (inherited.length === 0 && own.length === 0) return plugged
    return [...new Set([...inherited, ...own, ...plugged])]
  }

  /** Those of a caller that another dispatcher tells, too. */
  standIns(): readonly StandIn[] {
    const inherited = this.#inherited.standIns()
    const { standIns } = this.host.plugins
    return inherited.length === 0 ? standIns : [...new Set([...inherited, ...standIns])]
  }
}
