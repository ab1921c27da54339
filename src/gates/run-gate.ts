import type { GateRecord } from '../hooks/index.ts'
import { isThenable, MAX_TIMER_MS } from '../internal/async.ts'
import { errorMessage } from '../internal/errors.ts'
import { snapshot } from '../internal/snapshot.ts'
import { type Decision, decisionOf } from './decision.ts'
import { DEFAULT_GATE_TIMEOUT_MS, type Gate, type GateContext } from './gate.ts'

export type GateFailureCode = NonNullable<GateRecord['failure']>

/** What one gate answered, or how it failed. */
export type GateAnswer =
  | { readonly ok: true; readonly decision: Decision }
  | { readonly ok: false; readonly code: GateFailureCode; readonly message: string; readonly error?: unknown }

class GateTimeout extends Error {}

/** A gate's own word on how it failed: what commands and endpoints throw. */
export class GateFailure extends Error {
  override readonly name: string = 'GateFailure'
  readonly failure: GateFailureCode

  constructor(failure: GateFailureCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.failure = failure
  }
}

/** Runs one gate on its own copy of the payload, within its time. Never throws. */
export async function runGate(
  gate: Gate,
  ctx: Omit<GateContext, 'signal'>,
  runSignal?: AbortSignal,
): Promise<GateAnswer> {
  // Not `AbortSignal.any()`: a run's signal that lives on keeps something of each signal that is derived from it.
  const scope = new AbortController()
  if (runSignal?.aborted) scope.abort(runSignal.reason)
  try {
    const answer = gate.decide({ ...ctx, payload: snapshot(ctx.payload), signal: scope.signal })
    const decision = isThenable(answer)
      ? await inTime(answer as PromiseLike<Decision | undefined>, gate, scope, runSignal)
      : answer
    if (decision === undefined) return { ok: true, decision: { decision: 'proceed' } }
    const read = decisionOf(decision, ctx.point)
    if ('problem' in read) return { ok: false, code: 'gate_invalid', message: read.problem }
    return { ok: true, decision: read.decision }
  } catch (error) {
    // Whatever it still does is for nobody.
    scope.abort(error)
    return { ok: false, code: codeOf(error), message: errorMessage(error), error }
  }
}

/** Of anything that can be thrown: also of what throws when it is asked what it is. */
function codeOf(error: unknown): GateFailureCode {
  try {
    if (error instanceof GateTimeout) return 'gate_timeout'
    if (error instanceof GateFailure) return error.failure
  } catch {}
  return 'gate_error'
}

/** What an asynchronous gate answers, unless its time is over or the run is aborted before. */
function inTime(
  answer: PromiseLike<Decision | undefined>,
  gate: Gate,
  scope: AbortController,
  runSignal: AbortSignal | undefined,
): Promise<Decision | undefined> {
  const { timeoutMs = DEFAULT_GATE_TIMEOUT_MS } = gate
  return new Promise((resolve, reject) => {
    const cut = () => {
      settled()
      scope.abort(runSignal?.reason)
      reject(new Error('the run was aborted'))
    }
    const expire = () => {
      settled()
      reject(new GateTimeout(`no decision within ${timeoutMs} ms`))
    }
    const settled = () => {
      clearTimeout(timer)
      runSignal?.removeEventListener('abort', cut)
    }
    const timer =
      timeoutMs === Number.POSITIVE_INFINITY
        ? undefined
        : setTimeout(expire, Math.min(timeoutMs, MAX_TIMER_MS))
    if (runSignal?.aborted) cut()
    else runSignal?.addEventListener('abort', cut, { once: true })
    // Also where nobody waits any more: what it throws then must not end the process.
    Promise.resolve(answer).then(
      (decision) => {
        settled()
        resolve(decision)
      },
      (error: unknown) => {
        settled()
        reject(error)
      },
    )
  })
}
