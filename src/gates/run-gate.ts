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
  const scope = new GateScope(runSignal)
  let timer: NodeJS.Timeout | undefined
  let cut: (() => void) | undefined
  try {
    const answer = gate.decide({
      ...ctx,
      payload: snapshot(ctx.payload),
      get signal() {
        return scope.signal
      },
    })
    const decision = isThenable(answer)
      ? await Promise.race([
          answer,
          new Promise<never>((_resolve, reject) => {
            const expire = () => reject(new GateTimeout(`no decision within ${timeoutMs} ms`))
            if (timeoutMs !== Number.POSITIVE_INFINITY)
              timer = setTimeout(expire, Math.min(timeoutMs, MAX_TIMER_MS))
            cut = () => reject(new Error('the run was aborted'))
            if (runSignal?.aborted) cut()
            else runSignal?.addEventListener('abort', cut, { once: true })
          }),
        ])
      : answer
    if (decision === undefined) return { ok: true, decision: { decision: 'proceed' } }
    const problem = decisionProblem(decision, ctx.point)
    if (problem !== undefined) return { ok: false, code: 'gate_invalid', message: problem }
    return { ok: true, decision: snapshot(decision as Decision) }
  } catch (error) {
    // Whatever it still does is for nobody.
    scope.abort(error)
    const code =
      error instanceof GateTimeout
        ? 'gate_timeout'
        : error instanceof GateFailure
          ? error.failure
          : 'gate_error'
    return { ok: false, code, message: errorMessage(error), error }
  } finally {
    clearTimeout(timer)
    if (cut !== undefined) runSignal?.removeEventListener('abort', cut)
    scope.leave()
  }
}

/**
 * The signal of one decision, made for gates that ask for it only. Not `AbortSignal.any()`: a run's signal that lives on
 * keeps something of each signal that is derived from it.
 */
class GateScope {
  readonly #run: AbortSignal | undefined
  #controller: AbortController | undefined
  readonly #onAbort = () => this.#controller?.abort(this.#run?.reason)

  constructor(run: AbortSignal | undefined) {
    this.#run = run
  }

  get signal(): AbortSignal {
    if (this.#controller !== undefined) return this.#controller.signal
    this.#controller = new AbortController()
    if (this.#run?.aborted) this.#onAbort()
    else this.#run?.addEventListener('abort', this.#onAbort, { once: true })
    return this.#controller.signal
  }

  abort(reason: unknown): void {
    this.#controller?.abort(reason)
  }

  leave(): void {
    this.#run?.removeEventListener('abort', this.#onAbort)
  }
}

/** Longer delays make Node fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1

function isThenable(value: unknown): value is PromiseLike<Decision | undefined> {
  return (
    typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
  )
}
