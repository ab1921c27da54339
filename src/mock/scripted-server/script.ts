import { setTimeout as sleep } from 'node:timers/promises'
import { refusal, reply } from './reply.ts'
import { describeRequest, misfit, parseRequest, problemWith, type RawRequest, shorten } from './request.ts'
import { ScriptError } from './script-error.ts'
import type { Respond, ScriptedRequest, ScriptedStep, ScriptOptions, ScriptReport } from './types.ts'
import { checkOptions, checkStep } from './validate.ts'

/** Steps, what was asked of them, and what was asked that they do not hold. Knows nothing of ports. */
export class Script implements ScriptReport {
  readonly requests: ScriptedRequest[] = []
  readonly unexpected: string[] = []
  readonly #steps: readonly ScriptedStep[]
  readonly #respond: Respond | undefined
  readonly #latencyMs: number
  readonly #recordRequests: boolean
  #received = 0
  #answered = 0

  /** @throws ScriptError when the script is wrong in itself. */
  constructor(options: ScriptOptions) {
    checkOptions(options)
    this.#steps = [...(options.steps ?? [])]
    this.#respond = options.respond
    this.#latencyMs = options.latencyMs ?? 0
    this.#recordRequests = options.recordRequests ?? true
  }

  get remaining(): number {
    return this.#respond ? 0 : this.#steps.length - this.#answered
  }

  /** Answers one request. Rejects only when `signal` aborts, with its reason, as `fetch` does. */
  async handle(raw: RawRequest, signal: AbortSignal): Promise<Response> {
    const request = parseRequest(raw, this.#received++)
    if (this.#recordRequests) this.requests.push(request)
    const problem = problemWith(request)
    if (problem) return this.#refuse(request, problem)
    let response: Response
    let latencyMs: number
    try {
      const step = this.#respond ? await this.#ask(this.#respond, request, signal) : this.#nextStep(request)
      if (typeof step === 'string') return this.#refuse(request, step)
      response = reply(step, request, signal)
      latencyMs = step.latencyMs ?? this.#latencyMs
    } catch (error) {
      return this.#refuse(request, (error as Error)?.message ?? String(error))
    }
    if (latencyMs > 0) {
      await sleep(latencyMs, undefined, { signal }).catch(() => {})
      signal.throwIfAborted()
    }
    return response
  }

  assertDone(): void {
    const lines = [...this.unexpected]
    for (let index = this.#answered; index < this.#answered + this.remaining; index++) {
      lines.push(`steps[${index}] was never asked for: ${shorten(JSON.stringify(this.#steps[index]))}`)
    }
    if (lines.length === 0) return
    throw new ScriptError('SCRIPT_NOT_FOLLOWED', `The script was not followed:\n- ${lines.join('\n- ')}`)
  }

  /** Taken before anything is awaited, so that steps go out in the order in which requests came. */
  #nextStep(request: ScriptedRequest): ScriptedStep | string {
    const count = this.#steps.length
    const step = this.#steps[this.#answered]
    if (step) {
      const problem = misfit(step, request)
      if (problem === undefined) this.#answered++
      return problem ?? step
    }
    return count === 0
      ? 'the script has no steps'
      : `all ${count} steps are used. Add a step, or find why one more call is made`
  }

  async #ask(
    respond: Respond,
    request: ScriptedRequest,
    signal: AbortSignal,
  ): Promise<ScriptedStep | string> {
    const step = await respond(request, { answered: this.#answered, signal })
    if (step === undefined) return '`respond` returned undefined for it'
    checkStep(step, `the answer of \`respond\` to request ${request.index}`)
    const problem = misfit(step, request)
    if (problem === undefined) this.#answered++
    return problem ?? step
  }

  #refuse(request: ScriptedRequest, why: string): Response {
    const message = `Unexpected ${describeRequest(request)}: ${why}.`.replace(/\.\.$/, '.')
    this.unexpected.push(message)
    return refusal(message)
  }
}
