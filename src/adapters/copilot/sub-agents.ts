import { within } from '../../internal/async.ts'
import { errorMessage } from '../../internal/errors.ts'
import { defined } from '../../internal/objects.ts'
import { asName, asObject, type Loose } from '../../wire/reading.ts'
import type { SafeCalls } from '../safe/calls.ts'
import type { SafeAgentCall } from '../safe/held-calls.ts'
import { type SafeOperation, type SafeStep, startOperation } from '../safe/operation.ts'
import type { RunHost } from '../sdk-run/observed-run.ts'
import { textToAsk, whyNotCalled } from '../unfit-agent.ts'
import { TOLD_WITHIN_MS } from './announced.ts'
import { Lane } from './lane.ts'
import type { CopilotEvent } from './sdk.ts'

/** The run that calls them. */
interface Calling {
  readonly host: RunHost
  readonly signal: AbortSignal | undefined
  readonly provider: string
  /** From where the run itself calls an agent: beside its turns, as one in the background goes on over several. */
  beside(): SafeCalls | undefined
  /** Nothing comes any more of what the agent had begun. */
  left(agentId: string): Promise<void>
}

export interface SubAgent {
  readonly call: SafeAgentCall<unknown>
  readonly op: SafeOperation
  readonly lane: Lane
  calls(): SafeCalls
  endStep(): Promise<void>
}

/** What is decided of calling one: why it may not be called, or what it is told. */
export type Called = { readonly refused: string } | { readonly instruction: string }

/** The agents that Copilot calls by its tool `task`: each lies below whoever called it, beside that one's turns. */
export class SubAgents {
  readonly #run: Calling
  /** Those that were called and have not begun: models repeat the ids of calls. */
  readonly #called: { readonly toolCallId: string; readonly agent: SubAgent }[] = []
  readonly #atWork = new Map<string, SubAgent>()
  /** Whose events have come: what is not at work of them is not told any more. */
  readonly #known = new Set<string>()
  readonly #waiting = new Map<string, PromiseWithResolvers<void>>()

  constructor(run: Calling) {
    this.#run = run
  }

  /** Somebody other than the session may make a call. */
  get areAtWork(): boolean {
    return this.#atWork.size > 0
  }

  /** Undefined for the session's own agent, and for one that is not told. */
  async of(agentId: string | undefined): Promise<SubAgent | undefined> {
    if (agentId === undefined) return undefined
    if (!this.#known.has(agentId)) {
      const waiting = this.#waiting.get(agentId) ?? Promise.withResolvers<void>()
      this.#waiting.set(agentId, waiting)
      await within(TOLD_WITHIN_MS, waiting.promise)
    }
    return this.#atWork.get(agentId)
  }

  /** One is about to be called. */
  async called(by: SubAgent | undefined, toolCallId: string, args: Loose): Promise<Called> {
    const instruction = asName(args.prompt) ?? ''
    const agentName = asName(args.agent_type) ?? 'agent'
    const call = (by?.op ?? this.#run.beside())?.openAgentCall<unknown>({ agentName, instruction })
    if (call === undefined) return { instruction }
    const decided = await call.decided
    if (decided.state !== 'run') return { refused: whyNotCalled(call, decided, 'Copilot') }
    const { name, capabilities } = this.#run.host.adapter
    const { signal } = this.#run
    const op = startOperation(this.#run.host.dispatcher, {
      agentName,
      input: decided.instruction,
      parent: decided.parent,
      adapter: { name: `${name} (sub-agent)`, capabilities: { ...capabilities, park: false } },
      ...defined({ signal }),
    })
    const agent = this.#agent(call, op)
    try {
      const told = textToAsk(await op.admit())
      this.#called.push({ toolCallId, agent })
      return { instruction: told }
    } catch (error) {
      await this.#fail(agent, error)
      return { refused: errorMessage(error) }
    }
  }

  #agent(call: SafeAgentCall<unknown>, op: SafeOperation): SubAgent {
    let step: SafeStep | undefined
    const calls = () => step ?? op
    const turns = {
      signal: this.#run.signal,
      async beginStep() {
        await step?.end()
        step = await op.openStep()
      },
      calls: async () => calls(),
    }
    const lane = new Lane(turns, this.#run.provider, 'unknown', [])
    return { call, op, lane, calls, endStep: async () => step?.end() }
  }

  #take({ toolCallId: id }: Loose): SubAgent | undefined {
    const at = this.#called.findIndex(({ toolCallId }) => toolCallId === id)
    return at < 0 ? undefined : this.#called.splice(at, 1)[0]?.agent
  }

  /** At once, so that what is asked meanwhile finds it. */
  hear({ type, data = {}, agentId }: CopilotEvent): void {
    if (type !== 'subagent.started' || agentId === undefined) return
    const agent = this.#take(data)
    if (agent !== undefined) this.#atWork.set(agentId, agent)
    this.#known.add(agentId)
    this.#waiting.get(agentId)?.resolve()
  }

  async told(event: CopilotEvent): Promise<void> {
    const { type, data = {}, agentId = '' } = event
    if (type === 'tool.execution_complete') await this.#neverBegan(data)
    const agent = this.#atWork.get(agentId)
    if (agent === undefined) return
    if (type === 'user.message') agent.lane.asked(asName(data.content) ?? '')
    await agent.lane.told(event)
    if (type !== 'subagent.completed' && type !== 'subagent.failed') return
    this.#atWork.delete(agentId)
    await this.#run.left(agentId)
    if (type === 'subagent.failed')
      await this.#fail(agent, new Error(asName(data.error) ?? 'the agent failed'))
    else await this.#end(agent, data.cancelled === true)
  }

  /** Copilot or its user refused it. */
  async #neverBegan(data: Loose): Promise<void> {
    const agent = this.#take(data)
    if (agent === undefined) return
    const why = asName(asObject(data.error)?.message)
    await this.#fail(agent, new Error(why ?? 'the agent did not begin'))
  }

  async #fail({ call, op, lane, endStep }: SubAgent, error: unknown): Promise<void> {
    lane.over(error)
    await endStep()
    await op.fail(error)
    call.fail(error)
  }

  async #end({ call, op, lane, endStep }: SubAgent, isCut: boolean): Promise<void> {
    lane.over()
    await endStep()
    const { operationId } = op
    const said = defined({ content: lane.content })
    const isCutOff = isCut && op.stopRequested === undefined
    const { reason } = await op.complete({ reason: isCutOff ? 'interrupted' : 'done', ...said })
    call.settle({ operationId, reason, ...said })
  }

  /** Nothing comes of any of them any more. Those that others called end before these. */
  async over(): Promise<void> {
    const left = [...this.#atWork.values(), ...this.#called.splice(0).map(({ agent }) => agent)]
    this.#atWork.clear()
    for (const waiting of this.#waiting.values()) waiting.resolve()
    for (const agent of left.reverse()) await this.#end(agent, true)
  }
}
