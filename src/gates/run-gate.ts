import { errorMessage } from '../internal/errors.ts'
import { snapshot } from '../internal/snapshot.ts'
import { type Decision, decisionProblem } from './decision.ts'
import { DEFAULT_GATE_TIMEOUT_MS, type Gate, type GateContext } from './gate.ts'

export type GateFailureCode = 'gate_error' | 'gate_timeout' | 'gate_invalid'

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
  const timeoutMs = gate.timeoutMs ?? DEFAULT_GATE_TIMEOUT_MS
  // Not AbortSignal.any(): a run's signal that lives on keeps something of each signal that is derived from it.
  const controller = new AbortController()
  const { signal } = controller
  const onAbort = () => controller.abort(runSignal?.reason)
  if (runSignal?.aborted) onAbort()
  else runSignal?.addEventListener('abort', onAbort, { once: true })
  let timer: NodeJS.Timeout | undefined
  try {
    const answer = gate.decide({ ...ctx, payload: snapshot(ctx.payload), signal })
    const decision = isThenable(answer)
      ? await Promise.race([
          answer,
          new Promise<never>((_resolve, reject) => {
            const expire = () => reject(new GateTimeout(`no decision within ${timeoutMs} ms`))
            if (timeoutMs !== Number.POSITIVE_INFINITY)
              timer = setTimeout(expire, Math.min(timeoutMs, MAX_TIMER_MS))
            const cut = () => reject(new Error('the run was aborted'))
            if (signal.aborted) cut()
            else signal.addEventListener('abort', cut, { once: true })
          }),
        ])
      : answer
    if (decision === undefined) return { ok: true, decision: { decision: 'proceed' } }
    const problem = decisionProblem(decision, ctx.point)
    if (problem !== undefined) return { ok: false, code: 'gate_invalid', message: problem }
    return { ok: true, decision: snapshot(decision as Decision) }
  } catch (error) {
    const code =
      error instanceof GateTimeout
        ? 'gate_timeout'
        : error instanceof GateFailure
          ? error.failure
          : 'gate_error'
    return { ok: false, code, message: errorMessage(error), error }
  } finally {
    clearTimeout(timer)
    runSignal?.removeEventListener('abort', onAbort)
    controller.abort()
  }
}

/** Longer delays make Node fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1

function isThenable(value: unknown): value is PromiseLike<Decision | undefined> {
  return (
    typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
  )
}
