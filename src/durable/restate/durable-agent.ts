import { a, type Fields } from '../../internal/expect.ts'
import type { TellAnswer } from '../answer-watch.ts'
import { enginePeer } from '../engine-peer.ts'
import { DURABLE_FIELDS, type DurableAgentOptions } from '../options.ts'
import { DurableRuns } from '../runs.ts'
import { answerTo, restateEngine } from './engine.ts'
import { type RestateContext, restateSdk } from './peer.ts'
import { Streaming } from './streaming.ts'

export interface RestateAgentOptions extends DurableAgentOptions {
  /**
   * Base URL of Restate's ingress, as this process reaches it: then a run goes on as soon as its approval is answered, by
   * whichever channel. Without, a run that waits looks for its answers after 2 seconds, 4, 8, ... and every 10 minutes at last.
   */
  ingress?: string
  /**
   * Milliseconds that one model call or tool may take without Restate giving the attempt up. Minimum 1.
   *
   * @default 3_600_000
   */
  segmentTimeoutMs?: number
}

const FIELDS: Fields<RestateAgentOptions> = {
  ...DURABLE_FIELDS,
  ingress: a.name,
  segmentTimeoutMs: a.milliseconds,
}

const HOUR_MS = 3_600_000
const TELL_TIMEOUT_MS = 10_000

/** A Restate workflow: what `restate.serve({ services: [...] })` takes. Its key is the run's `operationId`. */
export interface RestateWorkflow {
  readonly name: string
}

/**
 * Runs an agent as a Restate workflow: each model call and each tool is kept by Restate, so that a run goes on where it was when
 * its process, or Restate, dies. Needs the optional peer `@restatedev/restate-sdk`.
 *
 * @throws HookspanError `INVALID_OPTION`, `MISSING_DEPENDENCY`.
 * @example
 * const support = durableAgent({ name: 'support', agent, dispatcher, ingress: 'http://127.0.0.1:8080' })
 * restate.serve({ services: [support], port: 9080 })
 * // begin a run: POST http://127.0.0.1:8080/support/run-7/run/send {"prompt":"Refund order 7"}
 */
export function durableAgent(options: RestateAgentOptions): RestateWorkflow {
  const runs = DurableRuns.of(options, FIELDS, tellOf)
  const { name, segmentTimeoutMs = HOUR_MS } = options
  const sdk = enginePeer('@restatedev/restate-sdk', 'hookspan/restate', restateSdk)
  const streaming = new Streaming()
  const run = sdk.handlers.workflow.workflow(
    { hooks: [streaming.hook] },
    async (ctx: RestateContext, input: unknown) => {
      streaming.assert()
      return runs.run(restateEngine(sdk, ctx, streaming), ctx.key, input)
    },
  )
  const answered = async (ctx: RestateContext, { requestId }: { requestId: string }): Promise<void> => {
    const promise = ctx.promise(answerTo(requestId))
    // Told before: by another channel, or at another attempt.
    if ((await promise.peek()) === undefined) await promise.resolve(true)
  }
  const settings = {
    // Restate asks for a suspension then: the next thing that is kept ends the attempt, and with it the tools at work beside it.
    inactivityTimeout: segmentTimeoutMs,
    abortTimeout: segmentTimeoutMs,
    asTerminalError: () => undefined,
  }
  return sdk.workflow({ name, handlers: { run, answered }, options: settings }) as RestateWorkflow
}

function tellOf({ name, ingress }: RestateAgentOptions): TellAnswer | undefined {
  if (ingress === undefined) return undefined
  const base = ingress.replace(/\/+$/, '')
  return async (key, requestId) => {
    const url = `${base}/${encodeURIComponent(name)}/${encodeURIComponent(key)}/answered/send`
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ requestId }),
      signal: AbortSignal.timeout(TELL_TIMEOUT_MS),
    })
    await response.body?.cancel()
    if (!response.ok) throw new Error(`POST ${url} answered ${response.status}`)
  }
}
