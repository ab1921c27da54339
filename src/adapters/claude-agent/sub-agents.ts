import type { CompleteResult } from '../../dispatcher/run/completion.ts'
import { within } from '../../internal/async.ts'
import { errorMessage, HookspanError } from '../../internal/errors.ts'
import { defined } from '../../internal/objects.ts'
import { asName, asObject, asObjects, type Loose } from '../../wire/reading.ts'
import { saidIn } from '../instruction.ts'
import type { SafeAgentCall } from '../safe/held-calls.ts'
import { type SafeOperation, type SafeStep, startOperation } from '../safe/operation.ts'
import { textToAsk, whyNotCalled } from '../unfit-agent.ts'
import { ADAPTER } from './capabilities.ts'
import type { ClaudeRun } from './claude-run.ts'
import { Lane, TOLD_WITHIN_MS } from './lane.ts'
import type { Message } from './sdk.ts'

interface SubAgent {
  readonly call: SafeAgentCall<unknown>
  readonly op: SafeOperation
  readonly lane: Lane
  step: SafeStep | undefined
  hasBegun: boolean
  isInBackground: boolean
  readonly over: PromiseWithResolvers<void>
  /** What gates made of its last word, where they did not leave it. */
  outcome?: Outcome
}

type Outcome = Pick<CompleteResult, 'content' | 'refusal'>

/** What is decided of calling one: why it may not be called, or what it is told. */
type Called = { readonly refused: string } | { readonly instruction: string }

/**
 * The agents that Claude Code runs for a query. They go on beside it: the tool that calls one has ended when it has begun, so
 * that they lie below the run, and end when Claude Code says that they have.
 */
export class SubAgents {
  readonly #run: ClaudeRun
  /** By the id of the tool call. */
  readonly #called = new Map<string, SubAgent>()
  /** The same, by the id of the agent. */
  readonly #agents = new Map<string, SubAgent>()
  readonly #waiting = new Map<string, PromiseWithResolvers<void>>()

  constructor(run: ClaudeRun) {
    this.#run = run
  }

  /** An agent is about to be called. Undefined for any other tool. */
  async called(toolName: string, toolUseId: string, args: Loose): Promise<Called | undefined> {
    if (toolName !== 'Agent' && toolName !== 'Task') return undefined
    const instruction = asName(args.prompt) ?? ''
    const agentName = asName(args.subagent_type) ?? 'agent'
    const call = this.#run.beside?.openAgentCall<unknown>({ agentName, instruction })
    if (call === undefined) return undefined
    const decided = await call.decided
    if (decided.state !== 'run') return { refused: whyNotCalled(call, decided, 'Claude Code') }
    const { signal } = this.#run.run
    const op = startOperation(this.#run.dispatcher, {
      agentName,
      input: decided.instruction,
      parent: decided.parent,
      adapter: { ...ADAPTER, capabilities: { ...ADAPTER.capabilities, park: false } },
      ...(signal && { signal }),
    })
    try {
      const told = textToAsk(await op.admit())
      this.#called.set(toolUseId, this.#agent(call, op, told))
      return { instruction: told }
    } catch (error) {
      await op.fail(error)
      call.fail(error)
      return { refused: errorMessage(error) }
    }
  }

  #agent(call: SafeAgentCall<unknown>, op: SafeOperation, instruction: string): SubAgent {
    const turns = {
      signal: this.#run.run.signal,
      asked: this.#run.asked,
      unrun: this.#run.unrun,
      async beginStep() {
        await agent.step?.end()
        agent.step = await op.openStep()
      },
      async calls() {
        return agent.step ?? op
      },
    }
    const lane = new Lane(turns, instruction)
    const agent: SubAgent = {
      call,
      op,
      lane,
      step: undefined,
      hasBegun: false,
      isInBackground: false,
      over: Promise.withResolvers<void>(),
    }
    return agent
  }

  /** Whose turns they are in which something happens. */
  async laneOf(agentId: string | undefined): Promise<Lane> {
    if (agentId === undefined) return this.#run.root
    if (!this.#agents.has(agentId)) {
      // Which call it is of is told by a message that may come later than this.
      const waiting = this.#waiting.get(agentId) ?? Promise.withResolvers<void>()
      this.#waiting.set(agentId, waiting)
      await within(TOLD_WITHIN_MS, waiting.promise)
    }
    return this.#agents.get(agentId)?.lane ?? this.#run.root
  }

  /** Whether a gate or a human said that this one's run is to end. */
  isStopped(agentId: string | undefined): boolean {
    return agentId !== undefined && this.#agents.get(agentId)?.op.stopRequested !== undefined
  }

  /** The lane of a message. */
  of(message: Message): Lane {
    const id = message.parent_tool_use_id
    return (typeof id === 'string' ? this.#called.get(id)?.lane : undefined) ?? this.#run.root
  }

  /** Whether it is what an agent in the foreground says beside its tools, which Claude Code shows to who asks for it. */
  isAside({ type, parent_tool_use_id: id, message }: Message): boolean {
    if (type !== 'assistant' || typeof id !== 'string') return false
    const content = asObjects(asObject(message)?.content)
    return !this.#called.get(id)?.isInBackground && !content.some((block) => block.type === 'tool_use')
  }

  async told(message: Message): Promise<void> {
    const toolUseId = asName(message.tool_use_id)
    const taskId = asName(message.task_id)
    if (message.subtype === 'task_started' && taskId !== undefined) {
      const agent = this.#called.get(toolUseId ?? '')
      if (agent !== undefined) {
        agent.hasBegun = true
        agent.isInBackground = message.is_backgrounded === true
        this.#agents.set(taskId, agent)
      }
      this.#waiting.get(taskId)?.resolve()
    }
    if (message.subtype === 'task_updated' && asObject(message.patch)?.is_backgrounded === true) {
      const agent = this.#agents.get(taskId ?? '')
      if (agent !== undefined) agent.isInBackground = true
    }
    if (message.subtype === 'task_notification' && taskId !== undefined) {
      const agent = this.#agents.get(taskId)
      this.#agents.delete(taskId)
      if (agent !== undefined) await this.#end(agent, message)
    }
    if (message.type === 'user') await this.#heard(asObjects(asObject(message.message)?.content))
  }

  /** What came of calling agents: one that has not begun by now does not, as somebody else refused it. */
  async #heard(content: readonly Loose[]): Promise<void> {
    for (const { tool_use_id: id, content: why } of content) {
      const agent = this.#called.get(asName(id) ?? '')
      if (agent === undefined || agent.hasBegun || agent.op.ended) continue
      await this.#end(agent, { type: 'system', status: 'failed', summary: asName(why) })
    }
  }

  #end(agent: SubAgent, message: Message): Promise<void> {
    return this.#ended(agent, message).finally(() => agent.over.resolve())
  }

  async #ended(agent: SubAgent, { status, summary }: Message): Promise<void> {
    await agent.lane.over()
    await agent.step?.end()
    // Of one that was ended before its last word, Claude Code tells what it was called for.
    const content = agent.op.stopRequested === undefined ? asName(summary) : undefined
    const { operationId } = agent.op
    if (status === 'failed') {
      const error = new Error(content ?? 'the agent failed')
      await agent.op.fail(error)
      agent.call.fail(error)
      return
    }
    const ended = await agent.op.complete({
      reason: status === 'stopped' ? 'interrupted' : 'done',
      ...defined({ content }),
    })
    const { refusal, reason } = ended
    if (refusal !== undefined || ended.content !== content) agent.outcome = ended
    // In the background its caller reads what it said.
    const read = agent.isInBackground ? content : ended.content
    if (refusal === undefined) agent.call.settle({ operationId, reason, ...defined({ content: read }) })
    else
      agent.call.fail(
        new HookspanError('RUN_DENIED', `The outcome was withheld (${refusal.code}): ${refusal.reason}`),
      )
  }

  /** What gates made of the last word of an agent that a call has run, of which it gives `result`. Undefined where they left it. */
  async outcomeOf(toolUseId: string, result: unknown): Promise<Outcome | undefined> {
    const agent = this.#called.get(toolUseId)
    if (agent === undefined || agent.isInBackground || !agent.op.enforcesAt('beforeComplete'))
      return undefined
    // Its end is told by a message that may come later than this.
    await within(TOLD_WITHIN_MS, agent.over.promise)
    const { content, status } = asObject(result) ?? {}
    if (!agent.op.ended && status === 'completed') {
      await this.#end(agent, { type: 'system', status, summary: saidIn(content) })
    }
    return agent.outcome
  }

  /** Nothing comes of any of them any more. */
  async over(): Promise<void> {
    for (const waiting of this.#waiting.values()) waiting.resolve()
    for (const agent of this.#called.values()) {
      if (!agent.op.ended) await this.#end(agent, { type: 'system', status: 'completed' })
    }
  }
}
