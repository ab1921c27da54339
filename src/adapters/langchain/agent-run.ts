import { AsyncLocalStorage } from 'node:async_hooks'
import type { HookDispatcher, ParkedOperation } from '../../dispatcher/index.ts'
import { currentPlace } from '../../dispatcher/run/current.ts'
import type { PendingTool } from '../../hooks/index.ts'
import type { SafeCalls } from '../safe/calls.ts'
import { ObservedRun, type RunHost, type SaidOfRun, whenAborted } from '../sdk-run/observed-run.ts'
import { whenGone } from '../when-gone.ts'
import type { LcMessage, LcModelRequest, LcRuntime, LcState, LcToolCall } from './lang-chain.ts'
import { messageIn, textOf } from './messages.ts'
import { tellAnswered, tellAsked } from './own-questions.ts'
import type { Ended, How, ToldAgent } from './told-graphs.ts'
import { UnmadeCalls } from './unmade-calls.ts'

/** Made outside of every graph. */
const outside = AsyncLocalStorage.snapshot()

/** Calls begin together: what has not begun by then runs after these, one at a time. */
const TOGETHER_MS = 200

/** Words of LangChain. */
const LIMIT = /^Model call limits exceeded: |tool call limit reached: .*\/\d+ calls\)\.$/i

/** Runs of agents that the code of a tool call has begun, by where that code is. */
const begunIn = new WeakMap<object, Set<AgentRun>>()

/** What somebody else than us asks in a run that is parked. */
const askedIn = new WeakMap<ParkedOperation, readonly PendingTool[]>()

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
  readonly dispatcher: HookDispatcher
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
  /** The calls of the last reply. */
  #asks: readonly LcToolCall[] = []
  /** The text of the last reply. */
  #said: string | undefined
  #answers: Promise<void> | undefined
  #stopping: Promise<void> | undefined
  readonly #unmade = new UnmadeCalls()
  /** Ids of the messages of the last request, by which a summary of them is noticed. */
  seen: readonly (string | undefined)[] = []

  /** @param above whose node calls it, where no tool does. */
  constructor(host: RunHost, said: SaidOfRun, above?: SafeCalls) {
    this.run = new ObservedRun(host, said, { above })
    this.dispatcher = host.dispatcher
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
    const forget = whenGone(writer, () => {
      this.#isLeft = true
      this.#interruptLeft()
    })
    // Waited for in this place, it would hold the writer.
    outside(() => void this.run.parked.then(forget, forget))
  }

  #interruptLeft(): void {
    if (this.#isLeft && !this.#mayGoOn) void this.run.interrupt(true)
  }

  /** What LangGraph tells of its end, where somebody is told, comes after what the middleware was told. */
  async over(how: How, { content, error }: Ended): Promise<Error | undefined> {
    const { run } = this
    if (how !== 'left') await this.tellUnmade()
    if (how === 'failed') await run.fail(error)
    else if (how === 'done') return this.end(content)
    else if (how !== 'waits') await run.interrupt(how === 'left')
    else await this.stopped()
    return undefined
  }

  /** Gives what a gate says against its result. */
  end(content: string | undefined): Promise<Error | undefined> {
    // Said in the model's place, by the middleware of LangChain that limits model calls or tool calls.
    if (content !== this.#said && LIMIT.test(content ?? '')) this.run.limit = 'max_steps'
    return this.run.end(content)
  }

  /** Somebody else than a tool of it asks a human, which has stopped the graph. Calls that are at work are waited for. */
  stopped(questions: readonly unknown[] = []): Promise<void> {
    this.#stopping ??= this.#stop(questions)
    return this.#stopping
  }

  async #stop(questions: readonly unknown[]): Promise<void> {
    const { run } = this
    if (this.#ending !== undefined || run.isPart) return
    const isFirst = run.waitingFor === undefined
    this.waits(false)
    if (this.#atWork > 0) return
    clearTimeout(this.#idle)
    const asked = isFirst ? await tellAsked(run, questions, this.#asks) : []
    await this.#park()
    const parked = await run.parked
    if (parked !== undefined && asked.length > 0) askedIn.set(parked, asked)
  }

  /** Where it was parked by `stopped`, what was answered is told before anything else is. */
  goesOn(state: LcState): Promise<void> {
    const { resumed } = this.run
    const asked = resumed && askedIn.get(resumed)
    this.#answers ??= asked === undefined ? Promise.resolve() : tellAnswered(this.run, asked, state)
    return this.#answers
  }

  async beginStep({ messages }: LcState): Promise<void> {
    await this.tellUnmade(messages)
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
    const message = messageIn(reply)
    const { tool_calls = [] } = message
    this.#said = textOf(message)
    this.#asks = tool_calls
    this.#unmade.asked(message)
    this.#askedAgain = new Set(tool_calls.filter(({ name }) => !known.has(name)).map(({ id }) => id))
  }

  /** Before the step that they are of is over. */
  tellUnmade(messages?: readonly LcMessage[]): Promise<void> {
    return this.#unmade.tell(() => this.run.calls(), messages)
  }

  isAskedAgain({ messages = [] }: LcState): boolean {
    const id = messages.at(-1)?.tool_call_id
    return id !== undefined && this.#askedAgain.has(id)
  }

  /** @param calls how many calls the step is known to have. */
  begunTool(id: string | undefined, calls: number): void {
    this.#unmade.made(id)
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
    if ((this.#left ?? 0) <= 0) void this.#park()
    else this.#idle = setTimeout(() => void this.#park(), TOGETHER_MS)
  }

  #park(): Promise<unknown> {
    this.#ending = this.tellUnmade().then(() => this.run.end())
    this.#ending.then(() => this.#parking.resolve(), this.#parking.reject)
    return this.#parking.promise
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
