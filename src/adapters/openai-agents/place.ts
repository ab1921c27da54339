import { AsyncLocalStorage } from 'node:async_hooks'
import type { HookDispatcher, ToolCallInit } from '../../dispatcher/index.ts'
import { errorMessage } from '../../internal/errors.ts'
import { jsonIn, toContent } from '../../internal/json.ts'
import { defined } from '../../internal/objects.ts'
import { asName, asObject, asObjects, asText, parseArguments } from '../../wire/reading.ts'
import { currentCalls, type SafeCalls } from '../safe/calls.ts'
import type { SafeHuman } from '../safe/held-calls.ts'
import type { SafeOperation, SafeStep } from '../safe/operation.ts'
import type { SafeToolCall } from '../safe/tool-call.ts'
import { warnOfUnseen, withUnseenModel } from '../unseen.ts'
import { ADAPTER } from './capabilities.ts'
import type { Agent, Item, ModelRequest } from './sdk.ts'

/** A call that is decided and not run yet. */
interface HeldToolCall {
  readonly id: string | undefined
  readonly args: unknown
  readonly call: SafeToolCall<unknown, unknown>
}

/** One run of the SDK, and where it is. */
export class Place {
  readonly dispatcher: HookDispatcher
  readonly op: SafeOperation
  /** What the model is to be told in the place of the SDK's own word on a handoff, by call id, and which were not made. */
  readonly handoffs = new Map<string, { readonly told: string; readonly stays: boolean }>()
  /** Calls that wait for a human because the SDK itself asks for one, with when that was, in epoch milliseconds. */
  readonly asked: (AskedHuman & { readonly human: SafeHuman })[] = []
  /** The models that the runner's provider gives are not seen. */
  providerIsLocked = false
  #step: SafeStep | undefined
  #opening: Promise<SafeStep> | undefined
  #answered: readonly Item[] | undefined
  #refusals: Refusals = () => undefined
  #held: HeldToolCall[] = []
  /** Which of the model's calls the SDK has refused by itself, of the agent that has its turn. */
  refusals: Refusals = () => undefined
  /** Until it is told what came of the calls that the SDK made by itself. */
  #told: Promise<unknown> | undefined
  /** Names of what the model may call. */
  #offered: ReadonlySet<unknown> = new Set()
  /** Ids of the calls of the turn that are told: those that its tools were asked for, and those that run none. */
  readonly made = new Set<string | undefined>()
  /** What a tool is run with where that is not what the model wrote, by call id. */
  readonly changedArgs = new Map<string | undefined, string>()
  /** Guardrails are asked before a human is. */
  checksFirst = false
  /** What guardrails have said of calls, until the SDK asks them. */
  readonly checked: {
    readonly id: string | undefined
    readonly guardrail: object
    readonly said: unknown
  }[] = []
  /** Who has its turn. */
  agent: Agent | undefined
  /** Ids of the calls that a human has told the SDK to make. */
  readonly approved = new Set<string | undefined>()

  constructor(dispatcher: HookDispatcher, op: SafeOperation) {
    this.dispatcher = dispatcher
    this.op = op
  }

  /** Where the calls of a turn belong: one model call begins one, what it is asked again for stays in it. */
  async turn({ input, tools, handoffs }: ModelRequest): Promise<SafeStep> {
    if (this.#step !== undefined && this.#answered !== undefined) {
      await this.#tellUnmade(({ callId: called }) => {
        const isAnswer = ({ type, callId }: Item) => type === 'function_call_result' && callId === called
        const why = asText(asObject(asObjects(input).findLast(isAnswer)?.output)?.text)
        return why === undefined ? undefined : new Error(why)
      })
      await this.endStep()
    }
    const called = [...asObjects(tools), ...asObjects(handoffs)]
    this.#offered = new Set(called.flatMap(({ name, toolName }) => [name, toolName]))
    return this.#step ?? this.#open()
  }

  /** The turn that is under way. Of a resumed run it is the one in which it was parked. */
  step(): SafeStep | Promise<SafeStep> {
    return this.#step ?? this.#open()
  }

  /** Tells of a call that the SDK makes by itself in the turn. @returns tells what came of it. */
  ownCall(init: ToolCallInit<unknown>): (result: unknown) => void {
    this.made.add(init.toolCallId)
    const call = this.#step?.openToolCall<unknown, unknown>(init)
    // The first one of a run that goes on, which a human has let. A run that has ended begins no turn.
    const made = call ?? this.#open().then((step) => step.openToolCall<unknown, unknown>(init))
    const opened = Promise.resolve(made).catch(() => undefined)
    return (result) => {
      this.#told = Promise.all([this.#told, opened.then((one) => one?.settle(result))])
    }
  }

  /** Calls that waited before anybody observed are made at once, and are of one turn. */
  async #open(): Promise<SafeStep> {
    this.#opening ??= this.op.openStep()
    try {
      this.#step = await this.#opening
    } finally {
      this.#opening = undefined
    }
    return this.#step
  }

  /** The model has answered: whatever it is asked next is of another turn. */
  answered(output: readonly Item[]): void {
    this.#answered = output
    // Before the turn is over, the next one's agent has been asked for its tools.
    this.#refusals = this.refusals
  }

  /** @throws HookspanError `NOT_CAPABLE` where gates decide on model calls. */
  unseenModel(name: string): void {
    this.op.assertCapable(withUnseenModel(ADAPTER))
    warnOfUnseen(`the model ${name}`)
  }

  /**
   * Calls that run no tool: of those that there are not, which end the run or are answered by the SDK, and with arguments
   * that are no JSON, which it answers.
   */
  async #tellUnmade(why: (call: Item) => unknown): Promise<void> {
    for (const item of this.#answered ?? []) {
      const { type, name, namespace, callId } = item
      const [apiName, toolCallId] = [asName(name), asName(callId)]
      const isOffered = this.#offered.has(name)
      // What a namespace has may wait to be found by a search.
      if (type !== 'function_call' || apiName === undefined || (namespace !== undefined && !isOffered))
        continue
      const text = asText(item.arguments) ?? ''
      if ((isOffered && jsonIn(text) !== undefined) || this.made.has(toolCallId)) continue
      const error = why(item) ?? (isOffered ? new Error('the arguments are no JSON') : undefined)
      if (error === undefined) continue
      this.made.add(toolCallId)
      const args = parseArguments(text)
      await this.#step?.failedCall({ apiName, args, ...defined({ toolCallId }) }, error)
    }
  }

  /** A call, as the model wrote it. */
  callOf(id: string | undefined): Item | undefined {
    return this.#answered?.find(({ type, callId }) => type === 'function_call' && callId === id)
  }

  /** The model's id of a call, where all that is known is what was called. */
  callIdOf(name: string): string | undefined {
    return asName(this.#answered?.find((item) => item.type === 'function_call' && item.name === name)?.callId)
  }

  /** Tells once whom the SDK itself asks, however often it does before there is an answer. */
  askHuman(step: SafeStep, about: Omit<AskedHuman, 'askedAt'>, askedAt?: number): void {
    if (this.asked.some(({ toolCallId }) => toolCallId === about.toolCallId)) return
    const pendingTools = [{ identifier: 'local', ...about }]
    const human = step.openHumanIntervention({ pendingTools, ...defined({ askedAt }) })
    this.asked.push({ ...about, askedAt: askedAt ?? Date.now(), human })
  }

  hold(id: string | undefined, args: unknown, call: SafeToolCall<unknown, unknown>): void {
    this.#held.push({ id, args, call })
    this.runsWith(id, args, call.args)
  }

  /** @returns the text that the tool is given, where that is not what the model wrote. */
  runsWith(id: string | undefined, written: unknown, args: unknown): string | undefined {
    if (args === written) return undefined
    const text = toContent(args)
    if (text === toContent(written)) return undefined
    this.changedArgs.set(id, text)
    return text
  }

  /** The call that was decided before. Two may share an id: then their arguments tell. */
  take(id: string | undefined, read: () => unknown): HeldToolCall | undefined {
    const [first, ...others] = this.#held.filter((held) => held.id === id)
    const args = others.length > 0 && text(read())
    const found = others.find((held) => text(held.args) === args && text(first?.args) !== args) ?? first
    if (found !== undefined) this.#held.splice(this.#held.indexOf(found), 1)
    return found
  }

  /** `failed`: with what the turn came to its end. */
  async endStep(failed?: { readonly error: unknown }): Promise<void> {
    if (this.#told !== undefined) await this.#told
    this.#told = undefined
    const step = this.#step
    const ended = errorMessage(failed?.error)
    await this.#tellUnmade(({ name }) =>
      ended.startsWith(`Tool ${String(name)} not found`) ? failed?.error : undefined,
    )
    for (const item of this.#answered ?? []) {
      const init = this.#refusals(item, this.made)
      if (init !== undefined) await step?.openToolCall<unknown, unknown>(init).outcome
    }
    this.made.clear()
    this.changedArgs.clear()
    this.checked.length = 0
    this.#step = undefined
    this.#answered = undefined
    // Decided, and kept from running by the SDK: a guardrail of the tool, or of its neighbours, refused, or the run has failed.
    const notRun = new NotRun(failed === undefined ? undefined : ended)
    for (const { call } of this.#held.splice(0)) await call.fail(notRun)
    if (failed !== undefined) step?.fail(failed.error)
    await step?.end()
  }
}

/** @param made ids of the calls that were made, of which none was refused. */
export type Refusals = (
  rawItem: Item,
  made: ReadonlySet<string | undefined>,
) => ToolCallInit<unknown> | undefined

export interface AskedHuman {
  readonly toolCallId: string
  readonly apiName: string
  readonly identifier?: string
  readonly args: unknown
  readonly askedAt: number
}

export class NotRun extends Error {
  override readonly name: string = 'ToolNotRun'
  constructor(why = 'one of its guardrails refused the call') {
    super(`the SDK did not run the tool: ${why}`)
  }
}

function text(args: unknown): string {
  return JSON.stringify(args) ?? ''
}

export interface Frame {
  readonly place: Place
  /** Set while a tool's body runs: what it calls is the call's, not the run's. */
  readonly tool?: ToolFrame
}

/** What the body of a tool call has met with. */
export interface ToolFrame {
  /** The tool is an agent. */
  readonly isAgent: boolean
  /** The call of an agent in it was refused, or what came of it withheld. */
  refused?: unknown
  /** What a gate gave in the place of the agent that it is. */
  answered?: { readonly value: unknown }
  /** An agent's run in it waits for a human in another process. */
  parked?: boolean
  /** The SDK has caught what the tool threw, and says so. */
  swallowed?: { readonly error: unknown }
}

const frames = new AsyncLocalStorage<Frame>()

export function runIn<T>(frame: Frame, fn: () => T): T {
  return frames.run(frame, fn)
}

export function currentFrame(): Frame | undefined {
  return frames.getStore()
}

/** From where the code that runs now makes its calls, inside of a tool or beside the turns. */
export function callsHere({ place }: Frame): SafeCalls {
  return currentCalls() ?? place.op
}
