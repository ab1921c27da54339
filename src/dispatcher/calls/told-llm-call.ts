import type { LlmRequest } from '../../hooks/index.ts'
import { errorMessage, errorType } from '../../internal/errors.ts'
import type { LlmHead, LlmReading } from '../../wire/reading.ts'
import type { Activity, LlmEnd } from '../plugins/instrument.ts'
import type { TracedActivity } from '../plugins/traced-activity.ts'
import type { CurrentPlace } from '../run/current.ts'
import { type ModelCallMark, noteScripted, runModelCall } from '../run/live-calls.ts'
import type { CallSite, OpenCall, OperationCore } from '../run/operation-core.ts'
import type { LlmCallInit } from './llm-call.ts'

/** A model call between its two hooks, as they and the instruments are told of it. */
export abstract class OpenLlmCall<R> implements OpenCall {
  protected readonly core: OperationCore
  protected readonly site: CallSite
  protected readonly init: LlmCallInit<R>
  protected readonly callKey: string
  protected readonly traced: TracedActivity
  protected readonly provider: string
  protected request: LlmRequest
  protected firstChunkMs: number | undefined
  /** What the model itself gave, where a gate put something else in its place: it is paid for all the same. */
  protected spent: LlmReading | undefined
  readonly #startedAt = performance.now()
  readonly mark: ModelCallMark

  constructor(core: OperationCore, site: CallSite, init: LlmCallInit<R>) {
    this.core = core
    this.site = site
    this.init = init
    // JavaScript may leave it out.
    this.request = init.request ?? {}
    this.provider = init.provider ?? 'openai'
    this.mark = { model: init.model, scripted: false }
    this.callKey = core.nextCallKey()
    this.traced = core.open(site, activityOf(init, this.request, this.provider, this.callKey))
    core.track(this)
  }

  /** What has come of a stream when the call is cut off. */
  protected abstract readSoFar(): LlmReading | undefined

  /** Runs what makes the request, in the context of the call's span. */
  enter<T>(fn: () => T): T {
    const { core, site, mark } = this
    const place: Required<CurrentPlace> = { core, site, modelCall: mark }
    return this.traced.run(() => runModelCall(place, fn), place)
  }

  /** What was answered, for what its headers say of who answered. */
  noteResponse(response: unknown): void {
    noteScripted(this.mark, response)
  }

  /** The operation ends while the call is in flight. */
  cut(reason: string): void {
    const read = this.readSoFar()
    if (read !== undefined) this.succeed(read, 'abandoned')
    else if (this.mark.answered) this.succeed({ response: {} })
    else this.#failed(new DOMException(`The run ended (${reason}) during the model call.`, 'AbortError'))
  }

  /** Unless the operation has ended the call already. */
  fail(error: unknown): void {
    if (this.core.untrack(this)) this.#failed(error)
  }

  protected get elapsedMs(): number {
    return performance.now() - this.#startedAt
  }

  protected announce(): undefined {
    if (!this.core.skipUnheard('beforeLlmCall')) this.core.emit('beforeLlmCall', this.#told())
  }

  protected succeed(reading: LlmReading, streamEnd?: 'finished' | 'abandoned'): void {
    const { core } = this
    const { usage, costUsd: told } = this.spent ?? reading
    const { model = this.init.model } = reading.head ?? reading.response
    const costUsd = told ?? core.priceOf(this.provider, model, usage)
    core.addLlm(usage, costUsd)
    this.site.noteLlm?.(reading, usage, costUsd)
    const end = new LlmActivityEnd(reading, this.request)
    if (usage !== undefined) end.usage = usage
    if (costUsd !== undefined) end.costUsd = costUsd
    if (this.firstChunkMs !== undefined) end.timeToFirstChunkMs = this.firstChunkMs
    if (streamEnd !== undefined) end.streamEnd = streamEnd
    if (this.#scripted()) end.mocked = true
    if (!core.skipUnheard('afterLlmCall')) {
      const { kind: _kind, reading: _reading, ...shared } = end
      const { response } = reading
      core.emit('afterLlmCall', { ...this.#told(), ...shared, response, executionTimeMs: this.elapsedMs })
    }
    this.traced.end(end, core.timestamp)
  }

  #failed(error: unknown): void {
    const { core } = this
    const { usage, costUsd } = this.spent ?? {}
    const mocked = this.#scripted(error) && { mocked: true }
    core.addLlm(usage, costUsd ?? core.priceOf(this.provider, this.init.model, usage))
    core.emit('onLlmCallError', {
      ...this.#told(),
      ...mocked,
      error,
      errorType: errorType(error),
      errorMessage: errorMessage(error),
      executionTimeMs: this.elapsedMs,
    })
    const partial = this.readSoFar()
    this.traced.end(
      {
        kind: 'llm',
        error,
        ...mocked,
        request: this.request,
        ...(partial && { response: partial.response, ...(partial.usage && { usage: partial.usage }) }),
        ...(this.firstChunkMs !== undefined && { timeToFirstChunkMs: this.firstChunkMs }),
      },
      core.timestamp,
    )
  }

  #scripted(error?: unknown): boolean {
    noteScripted(this.mark, error)
    if (this.mark.scripted) this.traced.annotate({ kind: 'mock', source: 'scripted' })
    return this.mark.scripted
  }

  #told() {
    const { stepIndex } = this.site
    return {
      ...(stepIndex !== undefined && { stepIndex }),
      model: this.init.model,
      provider: this.provider,
      request: this.request,
      callKey: this.callKey,
    }
  }
}

/** Written out: putting it together of parts would cost as much as a span's attributes. */
function activityOf<R>(
  init: LlmCallInit<R>,
  request: LlmRequest,
  provider: string,
  callKey: string,
): Activity {
  const { model, serverAddress, serverPort } = init
  const kind = 'llm'
  if (serverAddress === undefined) return { kind, callKey, model, provider, request }
  if (serverPort === undefined) return { kind, callKey, model, provider, request, serverAddress }
  return { kind, callKey, model, provider, request, serverAddress, serverPort }
}

/** The end of a call as tracers see it. All of the reply is read only for those who look at it. */
class LlmActivityEnd implements LlmEnd {
  readonly kind = 'llm'
  readonly request: LlmRequest
  readonly reading: LlmReading
  declare usage?: NonNullable<LlmEnd['usage']>
  declare costUsd?: number
  declare timeToFirstChunkMs?: number
  declare streamEnd?: 'finished' | 'abandoned'
  declare mocked?: boolean

  constructor(reading: LlmReading, request: LlmRequest) {
    this.reading = reading
    this.request = request
  }

  get reply(): LlmHead {
    return this.reading.head ?? this.reading.response
  }

  get response(): LlmReading['response'] {
    return this.reading.response
  }
}
