import { CallRefused } from '../../dispatcher/calls/suspended.ts'
import type {
  HookDispatcher,
  OperationInit,
  ParentOperation,
  ToolOutOfReach,
} from '../../dispatcher/index.ts'
import type { CompletionReason } from '../../hooks/index.ts'
import { HookspanError } from '../../internal/errors.ts'
import { defined, isRecord } from '../../internal/objects.ts'
import { asName } from '../../wire/reading.ts'
import { instructionIn, withInstruction } from '../instruction.ts'
import { currentCalls } from '../safe/calls.ts'
import type { SafeAgentCall } from '../safe/held-calls.ts'
import { startOperation } from '../safe/operation.ts'
import { isStepLimit } from '../sdk-run/loop-limits.ts'
import { warnOfFailure } from '../warn-once.ts'
import { ADAPTER } from './capabilities.ts'
import { keepDecided } from './handoffs.ts'
import { nameOf, observeModel, observeProvider } from './model.ts'
import { lastWord, putOutcome, putToolOutcome } from './outcome.ts'
import { tellAsked } from './own-approvals.ts'
import { type ParkedRun, putParked, takeParked } from './parked.ts'
import { callsHere, currentFrame, Place, runIn, type ToolFrame } from './place.ts'
import { takeUp } from './resume.ts'
import {
  type Agent,
  isRunState,
  type Model,
  type Run,
  type Runner,
  type RunOptions,
  type RunResult,
  type RunState,
} from './sdk.ts'

/** What the SDK was asked to run. */
export interface Asked {
  readonly runner: Runner
  readonly run: Run
  readonly agent: Agent
  readonly input: unknown
  readonly options: RunOptions | undefined
  /** Tools that wait in its input to be run, and that nothing of ours can be put into. */
  readonly unseen?: readonly ToolOutOfReach[]
}

/** How a run came to its end, or to where it waits. */
interface Ended {
  readonly operationId: string
  readonly status: CompletionReason | 'waiting_for_human'
  readonly content?: string
}

/** Runs an agent as an operation; inside of another run, as the call of an agent by it. */
export async function observedRun(dispatcher: HookDispatcher, asked: Asked): Promise<RunResult> {
  const frame = currentFrame()
  const calls = frame === undefined ? (currentCalls(dispatcher) ?? currentCalls()) : callsHere(frame)
  if (calls === undefined) return new ObservedRun(dispatcher, asked).start({})
  const agentName = asName(asked.agent?.name)
  const call = calls.openAgentCall<unknown>({
    ...(agentName && { agentName }),
    instruction: instructionIn(asked.input) ?? '',
  })
  const decided = await call.decided
  if (decided.state === 'run') {
    const { parent, instruction } = decided
    // A run that goes on has been given its own.
    const input = isRunState(asked.input) ? asked.input : withInstruction(asked.input, instruction)
    return new ObservedRun(dispatcher, { ...asked, input }, call, frame?.tool).start({ parent })
  }
  if (decided.state === 'skipped') call.settle(decided.result)
  const refused = refusalOf(decided)
  const tool = frame?.tool
  if (tool?.isAgent && decided.state === 'skipped') tool.answered = { value: decided.result }
  else if (tool !== undefined) tool.refused = refused
  throw new HookspanError('CALL_DENIED', `Agent call denied: ${refused.message}`, { cause: refused })
}

function refusalOf(decided: Exclude<Awaited<SafeAgentCall['decided']>, { state: 'run' }>): CallRefused {
  if (decided.state === 'skipped') {
    const reason = 'a gate answered in place of the agent, and the Agents SDK takes no answer for a run'
    return new CallRefused({ kind: 'deny', code: 'not_capable', reason, stop: false })
  }
  const { state, code, reason } = decided
  return new CallRefused({ kind: state === 'denied' ? 'deny' : 'reject', code, reason, stop: false })
}

class ObservedRun {
  readonly #dispatcher: HookDispatcher
  readonly #asked: Asked
  readonly #call: SafeAgentCall | undefined
  readonly #tool: ToolFrame | undefined
  #isAtLimit = false

  constructor(dispatcher: HookDispatcher, asked: Asked, call?: SafeAgentCall, tool?: ToolFrame) {
    this.#dispatcher = dispatcher
    this.#asked = asked
    this.#call = call
    this.#tool = tool
  }

  async start({ parent }: { parent?: ParentOperation }): Promise<RunResult> {
    const { input, options } = this.#asked
    const parked = isRunState(input) ? takeParked(input) : undefined
    let place: Place
    try {
      const init =
        parked === undefined
          ? await this.#init()
          : { resume: parked.operation, input: (input as RunState)._originalInput }
      const op = startOperation(this.#dispatcher, {
        adapter: ADAPTER,
        ...init,
        ...(parent && { parent }),
        ...(options?.signal instanceof AbortSignal && { signal: options.signal }),
      })
      place = new Place(this.#dispatcher, op)
      const { toolExecution = this.#asked.runner.config?.toolExecution } = options ?? {}
      place.checksFirst = toolExecution?.preApprovalInputGuardrails === true
    } catch (error) {
      this.#call?.fail(error)
      throw error
    }
    try {
      return await this.#drive(place, parked)
    } catch (error) {
      await this.#guarded(() => this.#failed(place, error))
      throw error
    }
  }

  /** What of the runner is locked. @throws HookspanError `NOT_CAPABLE` where it should be decided on. */
  #notice(place: Place): void {
    const { runner, unseen = [] } = this.#asked
    const { model, modelProvider } = runner.config ?? {}
    place.op.assertInReach(unseen)
    place.providerIsLocked = !observeProvider(modelProvider)
    if (!observeModel(model)) place.unseenModel(nameOf(model as Model))
  }

  async #init(): Promise<OperationInit> {
    const { agent, input, options, runner } = this.#asked
    const agentName = asName(agent?.name)
    const conversationId = await conversationOf(runner, options)
    const instructions = asName(agent?.instructions)
    // Of a state of a run that nobody observed nobody has decided on what it began with.
    const begun = isRunState(input) ? input._originalInput : input
    return defined({ agentName, conversationId, instructions, input: begun })
  }

  async #drive(place: Place, parked: ParkedRun | undefined): Promise<RunResult> {
    const { runner, run, agent, input, options } = this.#asked
    const { op } = place
    this.#notice(place)
    const admitted = await op.admit()
    if (isRunState(input)) {
      if (parked === undefined && admitted !== undefined) input._originalInput = admitted
      await takeUp(place, input, parked).catch((error: unknown) => {
        // The calls that wait go on to wait, in the state as it was.
        this.#park(place, input)
        throw error
      })
    }
    const given = isRunState(input) ? input : (admitted ?? input)
    const frame = { place }
    const asking = this.#notingLimit(options)
    const result = await op.run(() => runIn(frame, () => run.call(runner, agent, given, asking)))
    if (options?.stream !== true || result?.completed === undefined) {
      await this.#finished(place, result)
      return result
    }
    this.#finishLater(place, result, result.completed)
    return result
  }

  /** Where a handler of the user's gives a result at the limit of turns, nothing but its being asked says that it was one. */
  #notingLimit(options: RunOptions | undefined): RunOptions | undefined {
    const { errorHandlers } = options ?? {}
    if (!isRecord(errorHandlers)) return options
    const noting = (kind: 'maxTurns' | 'default') => {
      const handler = errorHandlers[kind]
      if (typeof handler !== 'function') return {}
      const value = async (asked: { readonly error?: unknown }) => {
        const given: unknown = await handler(asked)
        if (given && isStepLimit(asked.error)) this.#isAtLimit = true
        return given
      }
      return { [kind]: { value, enumerable: true } }
    }
    const handlers = Object.create(errorHandlers, { ...noting('maxTurns'), ...noting('default') })
    return { ...options, errorHandlers: handlers }
  }

  /** Whoever waits for the end of the stream waits until it is told, too. */
  #finishLater(place: Place, result: RunResult, completed: Promise<void>): void {
    const value = completed.then(
      () => this.#guarded(() => this.#finished(place, result)),
      async (error: unknown) => {
        await this.#guarded(() => this.#failed(place, error))
        throw error
      },
    )
    // As the SDK does it: a stream that is read tells its error to the reader.
    value.catch(() => {})
    Object.defineProperty(result, 'completed', { value, configurable: true })
  }

  /** Nothing that is told of a run's end may reject where nobody listens. */
  async #guarded(tell: () => Promise<void>): Promise<void> {
    try {
      await tell()
    } catch (error) {
      warnOfFailure('the end of an observed run could not be told', error)
    }
  }

  async #finished(place: Place, result: RunResult): Promise<void> {
    const { op } = place
    const { state } = result
    keepDecided(state?._generatedItems ?? [], place)
    if (op.ended) return
    if ((state?.getInterruptions().length ?? 0) > 0) {
      await tellAsked(place, state)
      for (const { human } of place.asked) human.park()
      await place.endStep()
      this.#park(place, state)
      this.#settle({ operationId: op.operationId, status: 'waiting_for_human' })
      return
    }
    await place.endStep()
    const content = state && lastWord(state)
    const reason = result.cancelled ? 'interrupted' : this.#isAtLimit ? 'max_steps' : 'done'
    const ended = await op.complete({ reason, ...defined({ content }) })
    if (ended.refusal !== undefined) {
      const { code, reason: why } = ended.refusal
      const error = new HookspanError('RUN_DENIED', `The outcome was withheld (${code}): ${why}`)
      this.#call?.fail(error)
      this.#refuseTool({ code, reason: why })
      if (result.completed === undefined) throw error
      putOutcome(result, undefined)
      return
    }
    if (ended.content !== content) {
      const put = this.#tool?.isAgent ? putToolOutcome : putOutcome
      put(result, ended.content)
    }
    this.#settle({
      operationId: op.operationId,
      status: ended.reason,
      ...defined({ content: ended.content }),
    })
  }

  #settle(ended: Ended): void {
    if (ended.status === 'waiting_for_human' && this.#tool !== undefined) this.#tool.parked = true
    this.#call?.settle(ended)
  }

  #park(place: Place, state: RunState): void {
    const { op, asked } = place
    if (op.ended) return
    const waitedFor = asked.map(({ human: _open, ...rest }) => rest)
    const operation = op.park({ waitingFor: 'human' })
    if (operation !== undefined) putParked(state, { operation, asked: waitedFor })
  }

  /** The tool in whose body it was run has no result. */
  #refuseTool(why: { readonly code: string; readonly reason: string }): void {
    if (this.#tool !== undefined) this.#tool.refused = new CallRefused({ kind: 'deny', stop: false, ...why })
  }

  async #failed(place: Place, thrown: unknown): Promise<void> {
    const { op } = place
    if (op.stopRequested !== undefined) this.#refuseTool(op.stopRequested)
    const error = causeOf(thrown)
    const { state } = (thrown ?? {}) as { state?: unknown }
    if (isRunState(state)) keepDecided(state._generatedItems ?? [], place)
    try {
      if (!op.ended) await this.#ended(place, error)
    } finally {
      // They share a span, which says how the run came to its end, and is over with the call.
      this.#call?.fail(error)
    }
  }

  async #ended(place: Place, error: unknown): Promise<void> {
    const { op } = place
    const interrupted = this.#asked.options?.signal?.aborted === true
    const tooLong = isStepLimit(error)
    await (interrupted || tooLong ? place.endStep() : place.endStep({ error }))
    if (interrupted) await op.complete({ reason: 'interrupted' })
    else if (tooLong) await op.complete({ reason: 'max_steps' })
    else await op.fail(error)
  }
}

/** The SDK puts what a tool threw into an error of its own. */
function causeOf(thrown: unknown): unknown {
  const inner = isRecord(thrown) ? thrown.error : undefined
  return inner instanceof HookspanError ? inner : thrown
}

async function conversationOf(runner: Runner, options: RunOptions | undefined): Promise<string | undefined> {
  const { conversationId, session } = options ?? {}
  const named = asName(conversationId) ?? asName(runner.config?.groupId)
  if (named !== undefined || typeof session?.getSessionId !== 'function') return named
  try {
    return asName(await session.getSessionId())
  } catch {
    // The SDK asks for it as well, and tells.
    return undefined
  }
}
