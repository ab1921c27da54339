import { assertFields } from '../../internal/expect.ts'
import { HUMAN, HumanIntervention, type HumanInterventionInit } from '../humans/human-intervention.ts'
import type { OpenedCall } from '../run/bracket.ts'
import { currentPlace, placeOfOther } from '../run/current.ts'
import type { CallSite, OperationCore } from '../run/operation-core.ts'
import { invalidCall, type ParentOperation } from '../run/operation-init.ts'
import { assertInReach, type ToolOutOfReach } from '../run/out-of-reach.ts'
import { parentOf } from '../run/parent.ts'
import { admission } from './admission.ts'
import { AgentCall, type CallAgentInit } from './call-agent.ts'
import { CompactCall, type CompactInit, type CompactResult } from './compact.ts'
import { runLlmCall } from './llm-call.ts'
import type { LlmCallInit, LlmFunction } from './llm-call-init.ts'
import { OpenLlmCall } from './open-llm-call.ts'
import { OpenToolCall } from './open-tool-call.ts'
import { runToolCall } from './tool-call.ts'
import type { ToolCallInit, ToolFunction } from './tool-call-init.ts'
import type { ToolOutcome } from './tool-outcome.ts'

/** From where calls are made: a step, or the operation itself. Several calls may run at once. */
export class CallMaker {
  readonly #core: OperationCore
  readonly #site: CallSite

  /** No static block says it: bundlers would keep the class, and all that it needs, for whoever imports a name beside it. */
  static coreOf(calls: CallMaker): OperationCore {
    return calls.#core
  }

  constructor(core: OperationCore, site: CallSite) {
    this.#core = core
    this.#site = site
  }

  /**
   * Makes a model call. Gives what `fn` gives, the same object, and throws what it throws; a stream's call ends
   * when the stream is read, fails or is abandoned.
   *
   * @throws HookspanError `CALL_DENIED` when a gate refused it and there is no `standIn`.
   */
  llmCall<R>(init: LlmCallInit<R>, fn: LlmFunction<R>): Promise<R> {
    return runLlmCall(this.#core, this.#site, init, fn)
  }

  /**
   * For adapters: says which tools of the run are run where nothing of ours comes between.
   *
   * @throws HookspanError `NOT_CAPABLE` where a gate or a mock is meant for one of them.
   */
  assertInReach(tools: readonly ToolOutOfReach[]): void {
    if (tools.length > 0) assertInReach(this.#core, tools)
  }

  /**
   * Makes a tool call: gates, hooks, mocks, the tool, gates, hooks. Never throws for what any of them did.
   *
   * @throws HookspanError `INVALID_CALL` when the call itself is malformed.
   */
  toolCall<A, R>(init: ToolCallInit<A>, fn: ToolFunction<A, R>): Promise<ToolOutcome<R>> {
    return runToolCall(this.#core, this.#site, init, fn)
  }

  /**
   * Calls another agent and waits until it has finished. Hand `parent` to the child's `startOperation`.
   *
   * @throws what `fn` throws; HookspanError `INVALID_CALL` when the call itself is malformed, `CALL_DENIED` when a
   * gate refused it, `OPERATION_ENDED`, `RUN_DENIED`.
   */
  async callAgent<R>(
    init: CallAgentInit,
    fn: (
      parent: ParentOperation,
      options: { signal: AbortSignal | undefined; instruction: string },
    ) => R | PromiseLike<R>,
  ): Promise<R> {
    if (typeof fn !== 'function') {
      throw invalidCall('fn', 'an agent call', 'the function that runs the agent', fn)
    }
    const waits = admission(this.#core)
    if (waits !== undefined) await waits
    const call = this.openAgentCall<R>(init)
    const { signal } = this.#core
    return call.run(({ parent, instruction }) => fn(parent, { signal, instruction }))
  }

  /**
   * Compacts the conversation.
   *
   * @throws what `fn` throws; HookspanError `INVALID_CALL` when the call itself is malformed, `CALL_DENIED` when a
   * gate refused it, `OPERATION_ENDED`, `RUN_DENIED`.
   */
  async compact<R extends CompactResult>(init: CompactInit, fn: () => R | PromiseLike<R>): Promise<R> {
    if (typeof fn !== 'function') throw invalidCall('fn', 'a compaction', 'the function that compacts', fn)
    const waits = admission(this.#core)
    if (waits !== undefined) await waits
    return this.openCompaction<R>(init).run(fn)
  }

  /**
   * A tool call that is decided now and run later, by somebody else: see {@link OpenToolCall}.
   *
   * @throws HookspanError `INVALID_CALL` when the call itself is malformed.
   */
  openToolCall<A, R = unknown>(init: ToolCallInit<A>): OpenToolCall<A, R> {
    return this.opened(new OpenToolCall<A, R>(this.#core, this.#site, init))
  }

  /**
   * A model call whose reply is handed in when it is there: see {@link OpenLlmCall}.
   *
   * @throws HookspanError `INVALID_CALL` when the call itself is malformed.
   */
  openLlmCall<R = unknown>(init: LlmCallInit<R>): OpenLlmCall<R> {
    return this.opened(new OpenLlmCall<R>(this.#core, this.#site, init))
  }

  /**
   * The call of another agent, told in pieces.
   *
   * @throws HookspanError `INVALID_CALL`, `OPERATION_ENDED`, `RUN_DENIED`.
   */
  openAgentCall<R = unknown>(init: CallAgentInit): AgentCall<R> {
    this.#core.assertRunning()
    return this.opened(new AgentCall<R>(this.#core, this.#site, init))
  }

  /** A compaction, told in pieces. @throws HookspanError `INVALID_CALL`, `OPERATION_ENDED`, `RUN_DENIED`. */
  openCompaction<R extends CompactResult = CompactResult>(init: CompactInit): CompactCall<R> {
    this.#core.assertRunning()
    return this.opened(new CompactCall<R>(this.#core, this.#site, init))
  }

  /**
   * A human is asked by the runtime itself, not by a gate: `answered()` tells what came of it, `park()` that the
   * answer will come to another process.
   *
   * @throws HookspanError `INVALID_CALL`, `OPERATION_ENDED`, `RUN_DENIED`.
   */
  openHumanIntervention(init: HumanInterventionInit): HumanIntervention {
    assertFields<HumanInterventionInit>(init, HUMAN, 'a human intervention', 'INVALID_CALL')
    this.#core.assertRunning()
    return this.opened(new HumanIntervention(this.#core, this.#site, init, init.askedAt))
  }

  /** Told of each call that was opened here. */
  protected opened<C extends OpenedCall>(call: C): C {
    return call
  }
}

/** What a call maker is of: for those of ours that go on where it fails. */
export const coreOf = (calls: CallMaker): OperationCore => CallMaker.coreOf(calls)

/** The run of these calls as the parent of an agent's that is called in it. */
export function parentFor(calls: CallMaker): ParentOperation {
  const core = coreOf(calls)
  return parentOf(core, core.traced, () => {})
}

/**
 * What a run of this dispatcher begins below, where the running code belongs to one of another dispatcher: the gates of both
 * hold. Those of a model call that the other one has told of itself have decided on it already.
 */
export function parentOfOther(dispatcher: object): ParentOperation | undefined {
  const place = placeOfOther(dispatcher)
  if (place === undefined) return undefined
  const { core, site, modelCall } = place
  const parent = parentOf(core, site.traced, () => {}, site.callKey)
  return modelCall === undefined ? parent : { ...parent }
}

/**
 * Makes calls from where the running code is: a step, a tool's body, a compaction. Undefined where no operation
 * runs.
 */
export function currentCalls(): CallMaker | undefined {
  return callsHere()
}

/** The same, of the runs of this dispatcher alone, and also in one that its SDK takes along by itself. */
export function callsHere(dispatcher?: object): CallMaker | undefined {
  const place = currentPlace(dispatcher)
  return place && new CallMaker(place.core, place.site)
}
