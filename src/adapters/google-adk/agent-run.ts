import { defined } from '../../internal/objects.ts'
import { asName, type Loose } from '../../wire/reading.ts'
import { replace } from '../replace.ts'
import { ObservedRun, type RunHost, whenAborted } from '../sdk-run/observed-run.ts'
import { type AdkChannel, type AdkInvocation, textOf } from './adk.ts'

/** One run of a runner. */
export class AgentRun {
  readonly run: ObservedRun
  #steps = 0
  #beginning: Promise<void> | undefined
  /** The last thing that an agent said. */
  said: string | undefined
  /** The SDK has begun to run its agent: the end of that is the end of the run. */
  hasBegun = false
  /** Why what it said could not be kept. */
  lost: { readonly error: unknown } | undefined
  /** The calls that a model has asked for last. */
  asked: readonly Loose[] = []
  #isAtWork = false
  /** The SDK was given a workflow, and tells its end only where it went well and was read to the end. */
  readonly #isWorkflow: boolean
  #channel: AdkChannel | undefined

  constructor(host: RunHost, agentName: string | undefined, context: AdkInvocation) {
    const { agent, userContent, abortSignal: signal } = context
    const { parts = [] } = userContent ?? {}
    this.#isWorkflow = agent === undefined
    const isText = parts.length > 0 && parts.every(({ text }) => typeof text === 'string')
    const input = isText ? textOf(userContent) : userContent && [userContent]
    this.run = new ObservedRun(host, defined({ agentName: agentName ?? agent?.name, input, signal }))
    // The SDK ends without a word, once the tools at work have ended.
    whenAborted(this.run, () => this.#endAborted())
  }

  /** Whether its agent is at work, which tells its end, or whoever reads its events is, who may have left. */
  set isAtWork(isAtWork: boolean) {
    this.#isAtWork = isAtWork
    if (this.run.signal?.aborted) this.#endAborted()
  }

  /** The first node of a workflow is the whole of it: the run ends with it, once nobody reads it any more. */
  endWith(channel: AdkChannel | undefined): void {
    if (!this.#isWorkflow || this.#channel !== undefined || channel === undefined) return
    this.#channel = channel
    const { close, fail } = channel
    let closed = 0
    replace(channel, 'close', () => {
      close.call(channel)
      closed++
      if (closed === 2) void this.left()
    })
    replace(channel, 'fail', (error: unknown) => {
      fail.call(channel, error)
      void this.run.fail(error)
    })
  }

  #endAborted(): void {
    if (!this.#isAtWork) void this.run.fail(this.run.signal?.reason)
  }

  /** Agents that work side by side and ask at the same time share a step. */
  beginTurn(): Promise<void> {
    this.#beginning ??= this.run.beginStep(this.#steps++).finally(() => {
      this.#beginning = undefined
    })
    return this.#beginning
  }

  /** The SDK runs none of the calls from one on of a tool that there is not, and tells no model why. */
  async tellUnknown(tools: Readonly<Record<string, unknown>> = {}, error: unknown): Promise<void> {
    const unknown = this.asked.find(({ name }) => !Object.hasOwn(tools, String(name)))
    this.asked = []
    const [apiName, toolCallId] = [asName(unknown?.name), asName(unknown?.id)]
    if (apiName === undefined) return
    const init = { apiName, args: unknown?.args ?? {}, ...defined({ toolCallId }) }
    await (await this.run.calls()).failedCall(init, error)
  }

  /** An event of it could not be written to the session. */
  async unwritten(error: unknown): Promise<void> {
    this.lost = { error }
    if (!this.hasBegun) await this.run.fail(error)
  }

  /** Whoever read its events has left: the SDK itself, where the session could not be written. */
  async left(): Promise<void> {
    if (this.lost === undefined) await this.run.over(this.said)
    else await this.run.fail(this.lost.error)
  }
}
