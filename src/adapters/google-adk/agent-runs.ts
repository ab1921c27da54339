import type { HookDispatcher } from '../../dispatcher/index.ts'
import { HookspanError } from '../../internal/errors.ts'
import { relay } from '../sdk-loop/relay.ts'
import { withOwn } from '../sdk-loop/with-own.ts'
import { type AdkAgent, type AdkEvent, type AdkInvocation, textOf } from './adk.ts'
import { AgentRun } from './agent-run.ts'
import { ADAPTER } from './capabilities.ts'
import { withoutSpans } from './sdk-spans.ts'

/** The runs that a plugin hears of, from where they begin to where nothing is to be told of them any more. */
export class AgentRuns {
  readonly #dispatcher: HookDispatcher
  readonly #omitsSpans: boolean
  /** By the SDK's ids of its invocations. */
  readonly #runs = new Map<string, AgentRun>()

  constructor({ dispatcher, sdkSpans }: { dispatcher: HookDispatcher; sdkSpans?: 'omit' | 'nest' }) {
    this.#dispatcher = dispatcher
    this.#omitsSpans = sdkSpans !== 'nest'
  }

  of(context: AdkInvocation | undefined): AgentRun | undefined {
    return context && this.#runs.get(context.invocationId)
  }

  start(context: AdkInvocation, agentName: string | undefined): AgentRun {
    const agent = new AgentRun({ dispatcher: this.#dispatcher, adapter: ADAPTER }, agentName, context)
    const { invocationId } = context
    this.#runs.set(invocationId, agent)
    const forget = () => void this.#runs.delete(invocationId)
    agent.run.parked.then(forget, forget)
    return agent
  }

  async admit(agent: AgentRun, { invocationId }: AdkInvocation): Promise<unknown> {
    try {
      return await agent.run.admit()
    } catch (error) {
      this.#runs.delete(invocationId)
      await agent.run.fail(error)
      throw error
    }
  }

  forget(invocationId: string): AgentRun | undefined {
    const agent = this.#runs.get(invocationId)
    this.#runs.delete(invocationId)
    return agent
  }

  /** Runs code as part of a run. */
  within(run: AgentRun['run']): <T>(fn: () => T) => T {
    return (fn) => run.run(() => (this.#omitsSpans ? withoutSpans(fn) : fn()))
  }

  /** The agent of a runner, which is asked to run once. */
  observed(agent: AdkAgent, runOf: (context: AdkInvocation) => AgentRun | Promise<AgentRun>): AdkAgent {
    const self = this
    return withOwn(agent, {
      async *runAsync(context: AdkInvocation): AsyncGenerator<AdkEvent, void> {
        yield* self.#run(await runOf(context), agent, context)
      },
    })
  }

  async *#run(agent: AgentRun, original: AdkAgent, context: AdkInvocation): AsyncGenerator<AdkEvent, void> {
    const { run } = agent
    const within = this.within(run)
    context.agent = original
    run.leftWith(context)
    let isRead = false
    agent.isAtWork = true
    try {
      for await (const event of relay(original.runAsync(context), within)) {
        const text = textOf(event.content)
        if (text !== '' && event.partial !== true) agent.said = text
        agent.isAtWork = false
        yield event
        agent.isAtWork = true
      }
      isRead = true
    } catch (error) {
      await run.fail(error)
      throw error
    } finally {
      if (!isRead) await agent.left()
      this.#runs.delete(context.invocationId)
    }
    const refusal = await run.over(agent.said)
    const asked = refusal ?? run.failure?.error
    // What was asked for and cannot be done, or is forbidden, must not look like an answer.
    if (asked instanceof HookspanError) throw asked
  }
}
