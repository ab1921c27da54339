import { HookDispatcher } from '../../dispatcher/index.ts'
import { errorMessage } from '../../internal/errors.ts'
import { a, assertFields, type Fields } from '../../internal/expect.ts'
import type { DurableRun } from '../agent-run.ts'
import { AnswerWatch } from '../answer-watch.ts'
import { warnOfEngine } from '../engine-version.ts'
import type { LoopOutcome } from '../loop/loop-outcome.ts'
import { DURABLE_FIELDS, type DurableAgentOptions } from '../options.ts'
import { runsOf } from '../runs.ts'
import { answerTo, restateEngine } from './engine.ts'
import { type RestateContext, type RestateSdk, restateSdk } from './peer.ts'

export interface RestateAgentOptions extends DurableAgentOptions {
  /**
   * Base URL of Restate's ingress, as this process reaches it: then a run goes on as soon as its approval is answered, by
   * whichever channel. Without, a run that waits looks for its answers after 2 seconds, 4, 8, ... and every 10 minutes at last.
   */
  ingress?: string
  /** Milliseconds between looks at the approvals that runs of this process wait for. Minimum 1. @default 500 */
  pollMs?: number
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
  pollMs: a.milliseconds,
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
  assertFields<RestateAgentOptions>(options, FIELDS, 'durableAgent')
  const { name, maxDurationMs, segmentTimeoutMs = HOUR_MS, dispatcher = new HookDispatcher() } = options
  const begin = runsOf(options, dispatcher)
  /** Restate begins the next attempt as soon as it has lost one, which may not have noticed. */
  const attempts = new Map<string, () => void>()
  const sdk = restateSdk()
  warnOfEngine('@restatedev/restate-sdk')
  const watch = answerWatch(options)
  const run = async (ctx: RestateContext, input: unknown): Promise<DurableRun | LoopOutcome> => {
    const engine = restateEngine(sdk, ctx)
    const watched = {
      ...engine,
      wait(requestIds: readonly string[], timeoutMs: number) {
        watch?.add(ctx.key, requestIds)
        return engine.wait(requestIds, timeoutMs)
      },
    }
    const { leave, outcome } = terminal(sdk, () => begin(watched, ctx.key, input))
    attempts.get(ctx.key)?.()
    attempts.set(ctx.key, leave)
    ctx.request().attemptCompletedSignal.addEventListener('abort', leave, { once: true })
    try {
      return await outcome(maxDurationMs)
    } finally {
      leave()
      if (attempts.get(ctx.key) === leave) attempts.delete(ctx.key)
    }
  }
  const answered = async (ctx: RestateContext, { requestId }: { requestId: string }): Promise<void> => {
    const promise = ctx.promise(answerTo(requestId))
    // Told before: by another channel, or at another attempt.
    if ((await promise.peek()) === undefined) await promise.resolve(true)
  }
  const settings = { abortTimeout: segmentTimeoutMs, asTerminalError: () => undefined }
  return sdk.workflow({ name, handlers: { run, answered }, options: settings }) as RestateWorkflow
}

function answerWatch(options: RestateAgentOptions): AnswerWatch | undefined {
  const { name, ingress } = options
  if (ingress === undefined) return undefined
  const base = ingress.replace(/\/+$/, '')
  return AnswerWatch.of(options, async (key, requestId) => {
    const url = `${base}/${encodeURIComponent(name)}/${encodeURIComponent(key)}/answered/send`
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ requestId }),
      signal: AbortSignal.timeout(TELL_TIMEOUT_MS),
    })
    await response.body?.cancel()
    if (!response.ok) throw new Error(`POST ${url} answered ${response.status}`)
  })
}

/** What will fail each time is not tried again. */
function terminal<T>({ TerminalError }: RestateSdk, fn: () => T): T {
  try {
    return fn()
  } catch (error) {
    throw new TerminalError(errorMessage(error), { errorCode: 400, cause: error })
  }
}
