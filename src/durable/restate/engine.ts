import { within } from '../../internal/async.ts'
import type { DurableEngine } from '../engine.ts'
import type { RestateContext, RestateSdk } from './peer.ts'
import type { Streaming } from './streaming.ts'

/** HTTP's codes, which Restate's errors have. */
const REFUSED = 400
const TIMED_OUT = 408
const CANCELLED = 409

/** What has come already, where the attempt goes on with a run, has by then. */
const REPLAYED_MS = 50

/** A promise of the workflow for each request: resolved once somebody says that it was answered. */
export const answerTo = (requestId: string): string => `hookspan answer ${requestId}`

export function restateEngine(sdk: RestateSdk, ctx: RestateContext, streaming: Streaming): DurableEngine {
  const request = ctx.request()
  let isLetGo = false
  return {
    async journal(name, closure) {
      let isNew = false
      const value = await ctx.run(name, async () => {
        const since = performance.now()
        const given = await closure()
        isNew = !isLetGo
        if (isNew) streaming.given(request, performance.now() - since)
        return given
      })
      if (isNew) streaming.kept(request)
      return value
    },
    async wait(requestIds, timeoutMs) {
      const answers = requestIds.map((id) => ctx.promise(answerTo(id)).get())
      const answer = sdk.RestatePromise.race(answers).orTimeout(Math.ceil(timeoutMs))
      try {
        const isOver = await within(
          REPLAYED_MS,
          answer.then(() => true),
        )
        if (isOver) return
        // As if Restate had asked for it, which it does late: while a tool is at work, nothing may come of a run for long. What comes
        // next, a look for answers, is kept and ends the attempt, should the answer come at this moment.
        isLetGo = true
        ctx.coreVm?.notify_input_closed?.()
        await sdk.RestatePromise.race([answer])
      } catch (error) {
        if (codeOf(error) !== TIMED_OUT) throw error
      }
    },
    isCancelled: (error) => codeOf(error) === CANCELLED,
    refusal: (message, cause) => new sdk.TerminalError(message, { errorCode: REFUSED, cause }),
    lost: request.attemptCompletedSignal,
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}
