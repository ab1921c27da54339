import { RunSuspended } from '../../dispatcher/calls/suspended.ts'
import { saidOf } from '../../dispatcher/calls/tool-outcome.ts'
import type { HookspanError } from '../../internal/errors.ts'
import { isRecord } from '../../internal/objects.ts'
import type { ObservedRun } from '../sdk-run/observed-run.ts'
import { normalized, notResumed, ownStatus, refusedBy, unanswered } from './approval-status.ts'
import { copyOf } from './copy-of.ts'
import { type DecidedCall, DecidedCalls } from './decided-calls.ts'
import { tellAnswered, tellAsked } from './own-approval.ts'
import { performedLate, performTool, type ToldModel } from './perform-tool.ts'
import type { ClientResult, RefusedCall } from './resumed-messages.ts'
import {
  type ApprovalOptions,
  type ApprovalStatus,
  type ApproveAny,
  type LocalCaller,
  ranByProvider,
  type SdkArguments,
  type SdkTool,
  type SdkTools,
  type ToolOptions,
} from './sdk.ts'
import { tellKeptBack } from './shown-calls.ts'
import { isSearch, searchingTool } from './tool-search.ts'

/**
 * The tools of one call of the SDK. A tool call is decided when the SDK asks whether it is approved, before any tool
 * runs, and is run when the SDK runs the tool.
 */
export class ObservedTools {
  readonly #run: ObservedRun
  readonly #originals: SdkTools
  readonly #copies: Record<string, SdkTool> = {}
  /** What the copies are of. */
  readonly #copied = new Map<string, SdkTool>()
  /** What takes the place of the user's `toolApproval`, where that is no function. */
  #approvals: { readonly own: Readonly<Record<string, unknown>>; readonly given: object } | undefined
  readonly #calls: DecidedCalls
  /** What the model is told in the place of results, by its ids, which may repeat. */
  readonly #words = new Map<string, { readonly told: ToldModel; readonly result: unknown }>()

  #answered: Promise<void> | undefined

  constructor(run: ObservedRun, tools: SdkTools) {
    this.#run = run
    this.#originals = tools
    this.#calls = new DecidedCalls(run, (decided, told, result) => this.#says(decided, told, result))
    this.refresh()
  }

  /**
   * The SDK looks into the user's own object at each step, and a tool may have put others there.
   *
   * @returns those that are new.
   */
  refresh(): readonly [name: string, tool: SdkTool][] {
    for (const name of this.#copied.keys()) {
      if (Object.hasOwn(this.#originals, name)) continue
      this.#copied.delete(name)
      delete this.#copies[name]
    }
    const fresh = Object.entries(this.#originals).filter(([name, tool]) => this.#copied.get(name) !== tool)
    for (const [name, tool] of fresh) {
      this.#copied.set(name, tool)
      put(this.#copies, name, this.#copy(name, tool))
      this.#approveEach(name, tool)
    }
    return fresh
  }

  /** The same tools, with their names, schemas and order. */
  get tools(): SdkTools {
    return this.#copies
  }

  #copy(name: string, tool: SdkTool): SdkTool {
    if (!isRecord(tool)) return tool
    if (isSearch(tool)) {
      const open = () => this.#calls.waiting(name)
      const take = (toolCallId: string, input?: unknown) => this.#calls.take(name, toolCallId, input)
      return searchingTool(tool, { open, take, worded: this.#worded(tool) })
    }
    const caller = localCallerOf(tool)
    const own: Partial<SdkTool> = {
      ...(typeof tool.execute === 'function' && this.#executed(name, tool)),
      ...(typeof tool.toModelOutput === 'function' && this.#worded(tool)),
      ...(caller && {
        experimental_toolCaller: {
          ...caller,
          // What it makes of itself once it has the tools that it calls is what the SDK runs.
          bind: (tools: SdkTools) => {
            const bound = caller.bind(tools)
            return isRecord(bound) ? copyOf(bound, this.#executed(name, bound)) : bound
          },
        },
      }),
    }
    return copyOf(tool, own)
  }

  #executed(name: string, tool: SdkTool): Pick<SdkTool, 'execute'> {
    return { execute: (input, options) => this.#execute(name, tool, input, options) }
  }

  /** What takes the place of the user's `toolApproval`, which is asked first. */
  approval({ toolApproval }: SdkArguments): unknown {
    if (typeof toolApproval === 'function') return this.#approveAny(toolApproval as ApproveAny)
    const own = isRecord(toolApproval) ? toolApproval : {}
    this.#approvals = { own, given: { ...own } }
    for (const [name, tool] of this.#copied) this.#approveEach(name, tool)
    return this.#approvals.given
  }

  #approveEach(name: string, tool: SdkTool): void {
    if (this.#approvals === undefined || !isRecord(tool) || ranByProvider(tool)) return
    const { own, given } = this.#approvals
    put(given, name, this.#approveOne(name, tool, Object.hasOwn(own, name) ? own[name] : undefined))
  }

  #approveAny(own: ApproveAny): ApproveAny {
    return async (asked) => {
      const { toolName, input, toolCallId, providerExecuted } = asked.toolCall
      const status = own(asked) as Promise<ApprovalStatus>
      const tool = Object.hasOwn(this.#originals, toolName) ? this.#originals[toolName] : undefined
      if (tool === undefined || providerExecuted === true) return status
      return this.#asked(toolName, tool, input, toolCallId, Promise.resolve(status))
    }
  }

  #approveOne(name: string, tool: SdkTool, own: unknown) {
    return (input: unknown, options: ApprovalOptions) =>
      this.#asked(name, tool, input, options.toolCallId, ownStatus(tool, own, input, options))
  }

  /** @param own what the user's own approval says: what that refuses is shown as without us. */
  #asked(
    name: string,
    tool: SdkTool,
    input: unknown,
    toolCallId: string,
    own: Promise<ApprovalStatus>,
  ): Promise<ApprovalStatus> {
    const status = own.then((said) => this.#approve(name, tool, input, toolCallId, said))
    const kept = isRemote(tool) && Promise.all([own, status]).then(([said, ours]) => said !== ours)
    tellKeptBack(input, kept)
    return status
  }

  /** @param own what the user's own approval says. */
  async #approve(
    name: string,
    tool: SdkTool,
    input: unknown,
    toolCallId: string,
    own: ApprovalStatus,
  ): Promise<ApprovalStatus> {
    // As it is with the calls that were decided before the last reader went away: none of them is begun.
    if (this.#run.isLeft) return { type: 'denied', reason: 'nobody reads the run any more' }
    if (!this.#run.started) await this.#allAnswered()
    const { type, reason } = normalized(own)
    // Asked for the first time. Before the first step, the SDK asks about what a human has answered.
    if (type === 'user-approval' && this.#run.started) {
      this.#run.waitingFor = 'human'
      await tellAsked(this.#run, { name, input, toolCallId }, reason)
      return own
    }
    if (type === 'user-approval') await tellAnswered(this.#run, { name, input, toolCallId }, true)
    if (type === 'denied') {
      await this.#calls.decide(name, tool, input, toolCallId, refusedBy(reason))
      return own
    }
    return this.#approved(name, tool, await this.#calls.decide(name, tool, input, toolCallId), own)
  }

  /** Before one of them is decided, which may be run once: the others would have to wait where the SDK cannot. */
  #allAnswered(): Promise<void> {
    this.#answered ??= this.#assertAnswered()
    return this.#answered
  }

  async #assertAnswered(): Promise<void> {
    const open = await this.#run.unanswered()
    if (open !== undefined) throw this.#tooEarly(open.apiName, open.request?.id)
  }

  #tooEarly(name: string, id: string | undefined): HookspanError {
    this.#run.tooEarly = this.#run.resumed === undefined ? notResumed(name) : unanswered(name, id)
    return this.#run.tooEarly
  }

  /** Calls that a human refused as the SDK's messages have it: it asks nobody about them. */
  async tellRefused(calls: readonly RefusedCall[]): Promise<void> {
    for (const { toolName, input, toolCallId, reason } of calls) {
      const tool = Object.hasOwn(this.#originals, toolName) ? this.#originals[toolName] : undefined
      if (tool === undefined) continue
      const refused = refusedBy(reason)
      await tellAnswered(this.#run, { name: toolName, input, toolCallId }, false, reason)
      // What was said where a gate asks is told as that, unless it was a yes.
      const answered = await this.#run.isAnswered(toolCallId)
      const { call, decision } = await this.#calls.decide(
        toolName,
        tool,
        input,
        toolCallId,
        answered ? undefined : refused,
      )
      if (decision.state === 'run') await call.refuse(refused)
    }
  }

  /**
   * Calls that the client has run, with what it gave for them.
   *
   * @returns what the model is to be told instead, by the ids of the calls.
   */
  async tellReturned(results: readonly ClientResult[]): Promise<ReadonlyMap<string, object>> {
    const instead = new Map<string, object>()
    for (const { toolName, input, toolCallId, output } of results) {
      const tool = Object.hasOwn(this.#originals, toolName) ? this.#originals[toolName] : undefined
      if (tool === undefined || tool.execute !== undefined) continue
      const { call, decision } = await this.#calls.decide(toolName, tool, input, toolCallId)
      if (decision.state === 'waiting') throw this.#tooEarly(toolName, decision.request?.id)
      const { type, value } = output
      const failed = type === 'error-text' || type === 'error-json'
      const outcome =
        decision.state !== 'run'
          ? decision
          : await (failed ? call.fail(new Error(textOf(value))) : call.settle(value))
      const said = saidOf(outcome)
      if (outcome.state !== 'errored' && said !== value) instead.set(toolCallId, asItIs(said))
    }
    return instead
  }

  #approved(name: string, tool: SdkTool, decided: DecidedCall, own: ApprovalStatus): ApprovalStatus {
    const { call, decision } = decided
    if (decision.state === 'waiting') {
      if (!this.#run.started) throw this.#tooEarly(name, decision.request?.id)
      this.#run.waitingFor = 'human'
      return { type: 'user-approval', reason: decision.request?.instructions }
    }
    if (decision.state === 'denied' || decision.state === 'rejected') {
      return { type: 'denied', reason: decision.toToolMessage().content }
    }
    const remote = isRemote(tool)
    if (remote && decision.state === 'run') {
      // The client runs it, and its result comes with the messages of another call.
      this.#run.waitingFor ??= 'client'
      call.fail(new RunSuspended()).catch(() => {})
      return own
    }
    this.#calls.keep(decided)
    if (remote) this.#answerFor(name, tool)
    return own
  }

  /** A stand-in has answered what the client would have run. */
  #answerFor(name: string, tool: SdkTool): void {
    const copy = this.#copies[name]
    if (copy !== undefined) Object.assign(copy, this.#executed(name, tool))
  }

  #worded(tool: SdkTool): Pick<SdkTool, 'toModelOutput'> {
    return {
      toModelOutput: (asked) => {
        const said = this.#words.get(asked.toolCallId)
        if (said !== undefined && said.result === asked.output) return said.told
        return tool.toModelOutput === undefined ? asItIs(asked.output) : tool.toModelOutput(asked)
      },
    }
  }

  #says({ name, toolCallId }: DecidedCall, told: ToldModel, result: unknown): void {
    this.#words.set(toolCallId, { told, result })
    const [tool, copy] = [this.#originals[name], this.#copies[name]]
    if (tool !== undefined && copy !== undefined && copy.toModelOutput === undefined)
      Object.assign(copy, this.#worded(tool))
  }

  #execute(name: string, tool: SdkTool, input: unknown, options: ToolOptions): unknown {
    const decided = this.#calls.take(name, options.toolCallId, input)
    const begun = decided && begunBefore(decided)
    const perform = (now: DecidedCall) => this.#calls.whileAtWork(() => performTool(now, tool, options))
    if (decided !== undefined && begun === undefined) return perform(decided)
    // The SDK did not ask before, or its tool is not to be begun at once.
    const late =
      decided === undefined
        ? this.#calls.decide(name, tool, input, options.toolCallId)
        : Promise.resolve(decided)
    return performedLate(
      tool,
      late.then(async (now) => {
        await (begun ?? begunBefore(now))
        return perform(now)
      }),
    )
  }
}

/** In a durable run: until it is kept that the tool is at work. */
function begunBefore({ call, decision }: DecidedCall): Promise<void> | undefined {
  return decision.state === 'run' ? call.begins() : undefined
}

/** Whatever its name is, `__proto__` included. */
function put(object: object, name: string, value: unknown): void {
  Object.defineProperty(object, name, { value, configurable: true, writable: true, enumerable: true })
}

/** How a tool becomes one that calls others by itself. */
function localCallerOf({ experimental_toolCaller: caller }: SdkTool): LocalCaller | undefined {
  return isRecord(caller) && caller.type === 'local' && typeof caller.bind === 'function'
    ? (caller as unknown as LocalCaller)
    : undefined
}

/** As the SDK tells an output of which the tool says nothing. */
function asItIs(output: unknown): object {
  if (typeof output === 'string') return { type: 'text', value: output }
  return { type: 'json', value: output === undefined ? null : JSON.parse(JSON.stringify(output) ?? 'null') }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
}

/** Whether the client runs it. */
function isRemote(tool: SdkTool): boolean {
  return tool.execute === undefined && localCallerOf(tool) === undefined
}
