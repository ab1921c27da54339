import type { DurableEngine } from '../engine.ts'
import type { RestateContext, RestateSdk } from './peer.ts'

/** HTTP's codes, which Restate's errors have. */
const REFUSED = 400
const TIMED_OUT = 408
const CANCELLED = 409

/** A promise of the workflow for each request: resolved once somebody says that it was answered. */
export const answerTo = (requestId: string): string => `hookspan answer ${requestId}`

export function restateEngine(sdk: RestateSdk, ctx: RestateContext): DurableEngine {
  return {
    journal: (name, closure) => ctx.run(name, closure),
    async wait(requestIds, timeoutMs) {
      const answers = requestIds.map((id) => ctx.promise(answerTo(id)).get())
      try {
        await sdk.RestatePromise.race(answers).orTimeout(Math.ceil(timeoutMs))
      } catch (error) {
        if (codeOf(error) !== TIMED_OUT) throw error
      }
    },
    isCancelled: (error) => codeOf(error) === CANCELLED,
    refusal: (message, cause) => new sdk.TerminalError(message, { errorCode: REFUSED, cause }),
    lost: ctx.request().attemptCompletedSignal,
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}
