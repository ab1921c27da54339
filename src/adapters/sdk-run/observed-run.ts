import type {
  HookDispatcher,
  OperationInit,
  ParkedOperation,
  ToolOutOfReach,
  WaitingCall,
} from '../../dispatcher/index.ts'
import { type AdapterInfo, assertCapable } from '../../dispatcher/run/capabilities.ts'
import { type CurrentPlace, currentPlace } from '../../dispatcher/run/current.ts'
import { assertInReach } from '../../dispatcher/run/out-of-reach.ts'
import type { CompletionReason } from '../../hooks/index.ts'
import { unref } from '../../internal/async.ts'
import { HookspanError } from '../../internal/errors.ts'
import { safeStringify } from '../../internal/json.ts'
import { defined } from '../../internal/objects.ts'
import { instructionIn, withInstruction } from '../instruction.ts'
import { currentCalls, type SafeCalls } from '../safe/calls.ts'
import type { SafeAgentCall } from '../safe/held-calls.ts'
import { type SafeOperation, type SafeStep, startOperation } from '../safe/operation.ts'
import { whenGone } from '../when-gone.ts'
import { isStepLimit, type ReachedLimit } from './loop-limits.ts'
import { takeRunInit } from './run-with.ts'

/** What an SDK was attached with. */
export interface RunHost {
  readonly dispatcher: HookDispatcher
  readonly adapter: AdapterInfo
}

/** What the SDK says of a run. */
export type SaidOfRun = Pick<
  OperationInit,
  'agentName' | 'agentId' | 'conversationId' | 'input' | 'instructions' | 'tools' | 'signal'
>

/** How an agent that is called by another ended, as its caller's hooks are told. */
interface AgentResult {
  readonly operationId: string
  readonly reason: CompletionReason
  readonly content?: string
  /** What a gate or a human has ended it for. */
  readonly denial?: { readonly code: string; readonly reason: string }
}

/**
 * One run of an SDK: a run of its own, the run of a sub-agent when a tool makes it, or part of the run
 * that it is made in.
 */
export class ObservedRun {
  readonly #host: RunHost
  readonly #init: OperationInit
  /** Where it belongs, when it is no run of its own. */
  readonly #within: SafeCalls | undefined
  readonly #withinCore: CurrentPlace['core'] | undefined
  readonly #agentCall: SafeAgentCall<AgentResult> | undefined
  readonly #ready: Promise<SafeOperation> | undefined
  #op: SafeOperation | undefined
  #step: SafeStep | undefined
  #stepNumber: number | undefined
  #resumes: boolean
  #takenUp: Promise<SafeStep> | undefined
  #outOfReach: readonly ToolOutOfReach[] = []
  readonly #parked = Promise.withResolvers<ParkedOperation | undefined>()
  #ending: Promise<HookspanError | undefined> | undefined
  /** The first step has begun: what the SDK does before is to make the calls that a human has answered. */
  started = false
  /** For whom the loop stops after this step. */
  waitingFor: 'human' | 'client' | undefined
  /** Why the SDK ended its loop, where the model had asked for more. */
  limit: ReachedLimit | undefined
  /** Why it went on before anybody had answered, and its SDK cannot wait again: what was resumed goes on from the same state once more. */
  tooEarly: HookspanError | undefined
  /** Tells what a human has refused in the SDK's own way, before the first step. */
  refusals: (() => Promise<unknown>) | undefined
  /** What the last model call failed with. */
  failure: { readonly error: unknown } | undefined
  /** Cut off what is read of model streams that nobody reads any more. */
  readonly streams = new Set<() => Promise<void>>()

  /** Whether somebody reads what the SDK gives, where that can be seen. */
  isRead: (() => boolean) | undefined

  /** Called when nobody reads the model's stream any more. */
  onLeft: (() => void) | undefined

  /**
   * @param isAgent false for what makes model calls and no loop: inside of a tool, too, they belong to what runs.
   * @param above whose sub-agent it is, where nothing tells by where it begins.
   */
  constructor(
    host: RunHost,
    said: SaidOfRun,
    { isAgent = true, above }: { isAgent?: boolean; above?: SafeCalls | undefined } = {},
  ) {
    const given = takeRunInit()
    this.#host = host
    this.#init = { ...said, ...given }
    this.#resumes = given?.resume?.openStep !== undefined
    this.#parked.promise.catch(() => {})
    const isOwn = given?.parent !== undefined || given?.resume !== undefined
    const place = isOwn ? undefined : placeOf(host.dispatcher, isAgent)
    const caller = isOwn ? undefined : above
    if (place === undefined && caller === undefined) {
      this.#op = startOperation(host.dispatcher, { ...this.#init, adapter: host.adapter })
      return
    }
    const calls =
      place === undefined
        ? (caller as SafeCalls)
        : ((currentCalls(host.dispatcher) ?? currentCalls()) as SafeCalls)
    if (place !== undefined && (place.site.callKey === undefined || !isAgent)) {
      this.#within = calls
      this.#withinCore = place.core
      place.core.seen?.list(this.#init.tools)
      return
    }
    const { agentName, input } = this.#init
    const instruction = instructionIn(input) ?? safeStringify(input ?? '')
    this.#agentCall = calls.openAgentCall<AgentResult>({ instruction, ...defined({ agentName }) })
    this.#ready = this.#startChild(this.#agentCall, instruction)
    this.#ready.catch(() => {})
  }

  async #startChild(call: SafeAgentCall<AgentResult>, asked: string): Promise<SafeOperation> {
    const decided = await call.decided
    if (decided.state !== 'run') {
      const why =
        'reason' in decided
          ? `denied (${decided.code}): ${decided.reason}`
          : 'answered by a gate, which the SDK cannot be given. Answer the call of its tool at beforeToolCall.'
      throw new HookspanError('CALL_DENIED', `The agent's call was ${why}`)
    }
    const { parent, instruction } = decided
    const { input: given } = this.#init
    const isKnown = instructionIn(given) !== undefined
    const input = instruction === asked ? given : isKnown ? withInstruction(given, instruction) : instruction
    const adapter = insideOfATool(this.#host.adapter)
    this.#op = startOperation(this.#host.dispatcher, { ...this.#init, input, adapter, parent })
    this.#op.assertInReach(this.#outOfReach)
    return this.#op
  }

  /** Gates decide on its last word. */
  get decidesLast(): boolean {
    return this.#op?.enforcesAt('beforeComplete') === true
  }

  /** True when it is part of somebody else's run, who tells its steps and its end. */
  get isPart(): boolean {
    return this.#within !== undefined
  }

  /** True when a tool calls it. */
  get isCalled(): boolean {
    return this.#agentCall !== undefined
  }

  /** Rejects with what refuses the run. Gives what the gates made of the input. */
  async admit(): Promise<unknown> {
    if (this.#within !== undefined) return this.#init.input
    return (await this.#operation()).admit()
  }

  get input(): unknown {
    return this.#init.input
  }

  /** A gate or a human said that the run is to end. */
  get isStopped(): boolean {
    return this.#op?.stopRequested !== undefined
  }

  /** It ended because nobody reads what the SDK gives, and nobody does by now. */
  get isLeft(): boolean {
    return this.#ending !== undefined && this.#op?.ended === true && this.isRead?.() === false
  }

  /** Refuses guards and mocks for tools that run where nobody is asked. @throws HookspanError `NOT_CAPABLE`. */
  assertInReach(tools: readonly ToolOutOfReach[]): void {
    this.#outOfReach = tools
    if (tools.length === 0) return
    if (this.#withinCore === undefined) this.#op?.assertInReach(tools)
    else assertInReach(this.#withinCore, tools)
  }

  /** Refuses guards that cannot hold in it. @throws HookspanError `NOT_CAPABLE`. */
  assertCapable(adapter: AdapterInfo): void {
    if (this.#withinCore === undefined) this.#op?.assertCapable(adapter)
    else assertCapable(adapter, this.#withinCore.allGates(), false)
  }

  /** Of the span that code of the run lies below. */
  get traceparent(): string | undefined {
    return this.run(() => currentPlace()?.site.traced.traceparent)
  }

  /** Runs code as part of the run. */
  run<T>(fn: () => T): T {
    return this.#op === undefined ? fn() : this.#op.run(fn)
  }

  async #operation(): Promise<SafeOperation> {
    const op = this.#op ?? (await this.#ready)
    if (op !== undefined && !(op.ended && this.#ending !== undefined)) return op
    // What an SDK still begins of a run that was aborted is no run.
    this.signal?.throwIfAborted()
    // Somebody reads on in a stream that was left: what comes now is a run of its own.
    this.#ending = undefined
    this.#step = undefined
    this.#resumes = false
    const { resume: _ended, operationId: _taken, parent: _gone, ...init } = this.#init
    this.#op = startOperation(this.#host.dispatcher, { ...init, adapter: this.#host.adapter })
    this.#endUnread(this.#op)
    return this.#op
  }

  /** What an SDK does by itself after it was left: nobody will tell of its end. */
  #endUnread(op: SafeOperation): void {
    const timer = setInterval(() => {
      const over = op !== this.#op || op.ended || this.isRead === undefined
      if (!over && (this.isRead?.() || op.isCallingTools)) return
      clearInterval(timer)
      if (!over) void this.over()
    }, UNREAD_MS)
    unref(timer)
  }

  /** From where calls are made now. */
  async calls(): Promise<SafeCalls> {
    if (this.#within !== undefined) return this.#within
    const op = await this.#operation()
    // The calls that waited when the run was parked go on in their step.
    if (this.#resumes && !this.started) await this.#takeUp(op)
    return this.#step ?? op
  }

  /** Once, however many of them go on together. */
  async #takeUp(op: SafeOperation): Promise<void> {
    this.#takenUp ??= op.openStep()
    const step = await this.#takenUp
    if (this.#resumes) this.#step = step
    this.#resumes = false
  }

  async beginStep(stepNumber = 0): Promise<void> {
    if (!this.started) await this.refusals?.()
    this.started = true
    if (this.#within !== undefined) return
    const op = await this.#operation()
    await this.#step?.end()
    this.#stepNumber = stepNumber
    this.#step = await op.openStep()
  }

  /** Of a stream, the next step may have begun before the end of this one is told. */
  async endStep(stepNumber: number | undefined): Promise<void> {
    if (stepNumber === undefined || stepNumber === this.#stepNumber) await this.#step?.end()
  }

  /** It is over. Gives what a gate says against its result. A second call does nothing. */
  end(content?: string): Promise<HookspanError | undefined> {
    this.#ending ??= this.#end(content).finally(() => this.#settleParked())
    return this.#ending
  }

  async #end(content: string | undefined): Promise<HookspanError | undefined> {
    const op = this.#op
    if (op === undefined || op.ended) return undefined
    for (const leave of this.streams) await leave()
    if (this.tooEarly !== undefined) return this.#endTooEarly(op, this.tooEarly)
    await this.#step?.end()
    const { waitingFor } = this
    if (waitingFor !== undefined && this.#agentCall === undefined) {
      this.#parked.resolve(op.park({ waitingFor }))
      return undefined
    }
    const reason = op.signal?.aborted || waitingFor === 'human' ? 'interrupted' : this.#endsWith(op)
    const told = await op.complete({ reason, ...defined({ content }) })
    const refusal = refusalOf(told, content)
    const { operationId, stopRequested: denial } = op
    if (refusal !== undefined) this.#agentCall?.fail(refusal)
    else this.#agentCall?.settle({ operationId, reason: told.reason, ...defined({ content, denial }) })
    return refusal
  }

  /** What a gate or a human has ended is denied, whatever limit it was at. */
  #endsWith({ stopRequested }: SafeOperation): CompletionReason {
    return stopRequested === undefined ? (this.limit ?? 'done') : 'done'
  }

  /** What streams are read of is over: well, or with what the model failed with. */
  over(content?: string): Promise<HookspanError | undefined> {
    if (this.failure === undefined) return this.end(content)
    return this.fail(this.failure.error).then(() => undefined)
  }

  /** It failed, or its signal was aborted. */
  async fail(error: unknown): Promise<void> {
    this.#ending ??= this.#fail(error)
      .then(() => undefined)
      .finally(() => this.#settleParked())
    await this.#ending
  }

  /** Where it was parked before it is that still, if it went on too early. */
  #settleParked(): void {
    this.#parked.resolve(this.tooEarly && this.resumed)
  }

  /** Too early. Nobody goes on with what was no saved run, and nobody is to be asked about it. */
  async #endTooEarly(op: SafeOperation, tooEarly: HookspanError): Promise<undefined> {
    if (this.resumed === undefined) await op.fail(tooEarly)
    else op.leave()
  }

  async #fail(error: unknown): Promise<void> {
    const op = this.#op
    if (op !== undefined && !op.ended) {
      if (op.signal?.aborted) {
        await op.complete({ reason: 'interrupted' })
      } else if (this.tooEarly !== undefined) {
        await this.#endTooEarly(op, this.tooEarly)
      } else if (isStepLimit(error) && op.stopRequested === undefined) {
        await this.#step?.end()
        await op.complete({ reason: 'max_steps' })
      } else {
        this.#step?.fail(error)
        await op.fail(error)
      }
    }
    this.#agentCall?.fail(error)
  }

  /** Nobody tells how it ended. @param isLeft nothing of it is left, either. */
  async interrupt(isLeft = false): Promise<void> {
    this.#ending ??= this.#interrupt(isLeft)
      .then(() => undefined)
      .finally(() => this.#parked.resolve(undefined))
    await this.#ending
  }

  /** Nobody can read the rest of it once nobody holds this. */
  leftWith(given: object): void {
    whenGone(given, () => void this.interrupt(true))
  }

  async #interrupt(isLeft: boolean): Promise<void> {
    const op = this.#op
    if (op === undefined || op.ended) return
    if (isLeft) op.abandon()
    else await op.complete({ reason: 'interrupted' })
    this.#agentCall?.settle({ operationId: op.operationId, reason: 'interrupted' })
  }

  /** What continues it elsewhere, once it is over. */
  get parked(): Promise<ParkedOperation | undefined> {
    return this.#parked.promise
  }

  get resumed(): ParkedOperation | undefined {
    return this.#init.resume
  }

  /** Of the calls that wait one that nobody has answered, where others are: these are not to be begun without it. */
  async unanswered(): Promise<WaitingCall | undefined> {
    const asked = (this.resumed?.waiting ?? []).filter(({ request }) => request !== undefined)
    if (asked.length < 2) return undefined
    const op = await this.#operation()
    const answered = await Promise.all(asked.map(({ request }) => op.isAnswered(request?.id as string)))
    return answered.includes(true) ? asked[answered.indexOf(false)] : undefined
  }

  /** Of a call that waited when the run was parked: whether who was asked about it has answered. */
  async isAnswered(toolCallId: string): Promise<boolean> {
    const { request } = this.resumed?.waiting?.find((call) => call.toolCallId === toolCallId) ?? {}
    return request !== undefined && (await (await this.#operation()).isAnswered(request.id)) === true
  }

  get signal(): AbortSignal | undefined {
    return this.#init.signal
  }
}

/** How often it is looked whether anything is left to do in a run that nobody reads. */
const UNREAD_MS = 500

/** Until the run is over: a signal may outlive many runs. */
export function whenAborted(run: ObservedRun, aborted: () => void): void {
  const { signal } = run
  if (signal === undefined) return
  signal.addEventListener('abort', aborted, { once: true })
  run.parked.finally(() => signal.removeEventListener('abort', aborted)).catch(() => {})
}

/** Of a run of another dispatcher only a tool is a place: an agent in it is a sub-agent, all else a run of its own. */
function placeOf(dispatcher: HookDispatcher, isAgent: boolean): CurrentPlace | undefined {
  const here = currentPlace(dispatcher)
  if (here !== undefined || !isAgent) return here
  const other = currentPlace()
  return other?.site.callKey === undefined ? undefined : other
}

/** The loop of the agent that called this one cannot be held up inside of a tool. */
function insideOfATool({ name, capabilities }: AdapterInfo): AdapterInfo {
  return { name: `${name} (sub-agent)`, capabilities: { ...capabilities, park: false } }
}

/** The SDK's result is as it is: what a gate wants to be told instead cannot be told. */
function refusalOf(
  { content: told, refusal }: { content?: string; refusal?: { code: string; reason: string } },
  content: string | undefined,
): HookspanError | undefined {
  if (refusal !== undefined) {
    return new HookspanError('RUN_DENIED', `The run's result was denied (${refusal.code}): ${refusal.reason}`)
  }
  if (told === content) return undefined
  return new HookspanError(
    'NOT_CAPABLE',
    'A beforeComplete gate changed the last word of a run, and the result of the SDK cannot be changed. ' +
      'Change the reply at afterLlmCall.',
  )
}
