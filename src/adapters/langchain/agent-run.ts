import { AsyncLocalStorage } from 'node:async_hooks'
import type { ParkedOperation } from '../../dispatcher/index.ts'
import { currentPlace } from '../../dispatcher/run/current.ts'
import { sameJson } from '../../wire/rewrite.ts'
import type { SafeCalls } from '../safe/calls.ts'
import { ObservedRun, type RunHost, type SaidOfRun, whenAborted } from '../sdk-run/observed-run.ts'
import { whenGone } from '../when-gone.ts'
import type { LcModelRequest, LcRuntime, LcState, LcToolCall } from './lang-chain.ts'
import { messageIn } from './messages.ts'
import type { Ended, How, ToldAgent } from './told-graphs.ts'

/** What an interrupt of ours says, and what the graph may be resumed with as it is. */
export interface AskedHuman {
  readonly hookspan: 'approval'
  readonly requestId?: string
  readonly apiName: string
  readonly args: unknown
  /** What continues the run. */
  readonly parked: ParkedOperation
}

/** Calls begin together: what has not begun by then runs after these, one at a time. */
const TOGETHER_MS = 200

/** Runs of agents that the code of a tool call has begun, by where that code is. */
const begunIn = new WeakMap<object, Set<AgentRun>>()

const atWork = new AsyncLocalStorage<string>()

/** The name of the tool whose code runs. */
export function toolAtWork(): string | undefined {
  return atWork.getStore()
}

/**
 * Runs a tool, and ends with it what agents it has begun: LangGraph tells them nothing of an interrupt that is not their
 * own tool's, nor of an end before their last node.
 */
export async function withinTool(
  name: string,
  isInterrupt: (error: unknown) => boolean,
  body: () => unknown,
): Promise<unknown> {
  const site = currentPlace()?.site
  const begun = new Set<AgentRun>()
  if (site !== undefined) begunIn.set(site, begun)
  try {
    const result = await atWork.run(name, body)
    for (const run of begun) {
      const refusal = await run.over('done', {})
      if (refusal !== undefined) throw refusal
    }
    return result
  } catch (error) {
    for (const run of begun) await run.over(isInterrupt(error) ? 'waits' : 'failed', { error })
    throw error
  }
}

/** One run of an agent, from its first node to its end or its interrupt. */
export class AgentRun implements ToldAgent {
  readonly run: ObservedRun
  #steps = 0
  #atWork = 0
  #left: number | undefined
  #idle: NodeJS.Timeout | undefined
  readonly #parking = Promise.withResolvers<void>()
  #ending: Promise<Error | undefined> | undefined
  #handsOver = false
  #mayGoOn = true
  #isLeft = false
  /** Calls of the last reply that LangChain answers itself, to ask the model again. */
  #askedAgain = new Set<unknown>()
  /** Ids of the messages of the last request, by which a summary of them is noticed. */
  seen: readonly (string | undefined)[] = []

  /** @param above whose node calls it, where no tool does. */
  constructor(host: RunHost, said: SaidOfRun, above?: SafeCalls) {
    this.run = new ObservedRun(host, said, { above })
    const site = currentPlace()?.site
    if (this.run.isCalled && site !== undefined) begunIn.get(site)?.add(this)
    whenAborted(this.run, () => void this.run.fail(this.run.signal?.reason))
  }

  /** Nothing can go on with it but the graph that it is in. */
  cannotGoOn(): void {
    this.#mayGoOn = false
    this.#interruptLeft()
  }

  /**
   * LangGraph may tell nobody that a graph has ended: it has, when nothing holds its writer any more. A run on a thread may
   * go on even then, as somebody may have been asked.
   */
  leftWith(writer: object): void {
    whenGone(writer, () => {
      this.#isLeft = true
      this.#interruptLeft()
    })
  }

  #interruptLeft(): void {
    if (this.#isLeft && !this.#mayGoOn) void this.run.interrupt(true)
  }

  /** What LangGraph tells of its end, where somebody is told, comes after what the middleware was told. */
  async over(how: How, { content, error }: Ended): Promise<Error | undefined> {
    const { run } = this
    if (how === 'failed') await run.fail(error)
    else if (how === 'done') return run.end(content)
    else if (how !== 'waits') await run.interrupt(how === 'left')
    else if (run.isCalled) {
      run.waitingFor = 'human'
      await run.end()
    }
    return undefined
  }

  async beginStep(): Promise<void> {
    this.#left = undefined
    this.#askedAgain = new Set()
    await this.run.beginStep(this.#steps++)
  }

  /**
   * A structured answer that does not fit its schema is a call of a tool that the agent does not have, and LangChain asks once more.
   * Beside that it goes on to the end of the agent, as after any answer.
   */
  answered({ tools = [] }: LcModelRequest, reply: unknown): void {
    const known = new Set(tools.map(({ name }) => name))
    const { tool_calls = [] } = messageIn(reply)
    this.#askedAgain = new Set(tool_calls.filter(({ name }) => !known.has(name)).map(({ id }) => id))
  }

  isAskedAgain({ messages = [] }: LcState): boolean {
    const id = messages.at(-1)?.tool_call_id
    return id !== undefined && this.#askedAgain.has(id)
  }

  /** @param calls how many calls the step is known to have. */
  begunTool(id: string | undefined, calls: number): void {
    this.#askedAgain.delete(id)
    clearTimeout(this.#idle)
    this.#left ??= calls
    this.#left--
    this.#atWork++
  }

  /**
   * A tool gave what leaves the graph of the agent for the one around it. LangGraph tells no middleware that it is left. It
   * goes where the last call says: whoever was asked before is asked nothing any more.
   */
  handsOver(): void {
    this.#handsOver = true
    this.run.waitingFor = undefined
  }

  /** Of a call that waits for a human. Our question beside a call that hands over is withdrawn: nobody comes back for its answer. */
  waits(isOurs: boolean): void {
    if (isOurs && this.#handsOver) return
    this.#handsOver = false
    this.run.waitingFor = 'human'
  }

  /** It has ended, or waits. Where one waits or hands over, the run is parked or over once none is at work. */
  endedTool(): void {
    this.#atWork--
    if ((this.run.waitingFor === undefined && !this.#handsOver) || this.#atWork > 0) return
    const park = () => {
      this.#ending = this.run.end()
      this.#ending.then(() => this.#parking.resolve(), this.#parking.reject)
    }
    if ((this.#left ?? 0) <= 0) park()
    else this.#idle = setTimeout(park, TOGETHER_MS)
  }

  /** Gives what a gate says against its result, once the calls beside have ended: LangGraph waits for them, too. */
  async handedOver(): Promise<Error | undefined> {
    await this.#parking.promise
    if (this.#handsOver) await afterTheOthers()
    return this.#ending
  }

  /** What continues the run, once the calls beside the one that waits have ended. */
  async parked(): Promise<ParkedOperation | undefined> {
    await this.#parking.promise
    if (!this.#handsOver) await afterTheOthers()
    return this.run.parked
  }

  /** The graph goes on with another agent, whoever was asked. */
  get isHandedOver(): boolean {
    return this.#handsOver
  }
}

/** Of several calls that stop the graph LangGraph does what the last one says. */
const afterTheOthers = () => new Promise<void>((resolve) => setImmediate(resolve))

/** The signal of whoever called the agent: those of its nodes live no longer than they. */
export function signalOf({ signal, configurable }: LcRuntime): AbortSignal | undefined {
  const signals = configurable?.__pregel_abort_signals as { externalAbortSignal?: unknown } | undefined
  const external = signals?.externalAbortSignal ?? signal
  return external instanceof AbortSignal ? external : undefined
}

interface Scratchpad {
  readonly resume?: readonly unknown[]
  readonly nullResume?: unknown
}

function answers({ configurable }: LcRuntime): readonly unknown[] {
  const { resume = [], nullResume } = (configurable?.__pregel_scratchpad ?? {}) as Scratchpad
  return nullResume === undefined ? resume : [...resume, nullResume]
}

/** How many questions of this node have been answered. */
export function answersIn(runtime: LcRuntime): number {
  return answers(runtime).length
}

/**
 * The run that the graph was resumed with: of the question of ours that was answered as it is, and the last one where it was
 * asked again. The node of a call beside it may begin first: its question has been answered with something else.
 */
export function resumedWith(runtime: LcRuntime, state: LcState): ParkedOperation | undefined {
  const { __pregel_resume_map: beside = {} } = runtime.configurable ?? {}
  const all = Object.values(beside as object).filter((answer) => isOurs(answer) && isOf(state, answer.parked))
  return [...all, ...answers(runtime)].findLast(isOurs)?.parked
}

function isOurs(answer: unknown): answer is AskedHuman {
  return (answer as Partial<AskedHuman> | null | undefined)?.hookspan === 'approval'
}

/** Whether it waits in the step that the agent is in. */
function isOf(state: LcState, { waiting = [] }: ParkedOperation): boolean {
  const calls = callsIn(state)
  return waiting.some(({ toolCallId }) => calls.some(({ id }) => id === toolCallId))
}

/** The same, and nobody has edited the calls: a call that has begun goes on with the arguments that were decided on. */
export function goesOnWith(state: LcState, { openStep }: ParkedOperation): boolean {
  const asked = openStep?.last?.toolCalls?.map(({ toolCallId, args }) => [toolCallId, args])
  return sameJson(
    asked,
    callsIn(state).map(({ id, args }) => [id, args]),
  )
}

/** Nobody has gone on with it elsewhere, where it may have ended long since: its calls have no results. */
export function stillWaits(state: LcState, { openStep }: ParkedOperation): boolean {
  const { messages = [] } = state
  const calls = callsIn(state).map(({ id }) => id)
  const asked = openStep?.last?.toolCalls?.map(({ toolCallId }) => toolCallId) ?? []
  const last = messages.findLastIndex(({ tool_calls = [] }) => tool_calls.length > 0)
  const answered = messages.slice(last + 1).map(({ tool_call_id }) => tool_call_id)
  return asked.some((id) => calls.includes(id) && !answered.includes(id))
}

function callsIn({ messages = [] }: LcState): readonly LcToolCall[] {
  return messages.findLast(({ tool_calls = [] }) => tool_calls.length > 0)?.tool_calls ?? []
}
