import type { LlmRequest, StreamEndKind, TokenUsage } from '../../hooks/index.ts'
import { errorMessage, errorType } from '../../internal/errors.ts'
import { expected } from '../../internal/expect.ts'
import { type LlmHead, type LlmReading, modelAsked } from '../../wire/reading.ts'
import type { Activity, LlmEnd } from '../plugins/instrument.ts'
import { Bracket } from '../run/bracket.ts'
import { type Counted, costOf } from '../run/cost.ts'
import type { CurrentPlace } from '../run/current.ts'
import { type ModelCallMark, noteHead, runModelCall } from '../run/live-calls.ts'
import type { CallSite, OperationCore } from '../run/operation-core.ts'
import { countable, isAmount } from '../run/usage.ts'
import type { LlmCallInit } from './llm-call-init.ts'
import { tellProviderCalls } from './provider-call.ts'

const TOKENS = '{ inputTokens, outputTokens }, finite numbers >= 0'

const NO_CHAT: ReadonlySet<string> = new Set(['embeddings', 'rerank'])

/** Calls that give no message. They often say no usage, too, and cost next to nothing. */
export const isNoChat = (operationName = 'chat'): boolean => NO_CHAT.has(operationName)

/** Gaps between chunks that are kept, for the metrics: a stream without end must not grow. */
const MAX_GAPS = 10_000

/** A model call between its two hooks, as they and the instruments are told of it. */
export abstract class ToldLlmCall<R> extends Bracket<LlmEnd, CallSite> {
  protected readonly init: LlmCallInit<R>
  protected readonly callKey: string
  protected readonly provider: string
  protected request: LlmRequest
  protected firstChunkMs: number | undefined
  protected readonly chunkGapsMs: number[] = []
  /** Who makes the call says that it is streamed, whatever the request says. */
  #streamed = false
  #lastChunkMs = 0
  /** What the model itself gave, where a gate put something else in its place: it is paid for all the same. */
  protected spent: LlmReading | undefined
  /** The model has answered; false where a gate did in its place. */
  protected replied = false
  readonly mark: ModelCallMark
  #announced = false

  constructor(core: OperationCore, site: CallSite, init: LlmCallInit<R>) {
    // JavaScript may leave the request out.
    const { model, request = {}, provider = 'openai' } = init
    const callKey = core.nextCallKey()
    super(core, site, activityOf(init, request, provider, callKey))
    this.init = init
    this.request = request
    this.provider = provider
    const noteChunk = () => {
      this.#streamed = true
      this.noteChunk()
    }
    this.mark = { model, scripted: false, noteChunk }
    this.callKey = callKey
  }

  /** With what gates made of the request. */
  protected get model(): string {
    return modelAsked(this.init.model, this.init.request, this.request)
  }

  /** What has come of a stream when the call is cut off. */
  protected abstract readSoFar(): LlmReading | undefined

  protected get during(): string {
    return 'during the model call'
  }

  /** Runs what makes the request, in the context of the call's span. */
  enter<T>(fn: () => T): T {
    const { core, site, mark } = this
    const place: Required<CurrentPlace> = { core, site, modelCall: mark }
    return this.traced.run(() => runModelCall(place, fn), place)
  }

  /** What was answered, for what its headers say of who answered. */
  noteResponse(response: unknown): void {
    noteHead(this.mark, response)
  }

  protected noteChunk(): void {
    const cameMs = this.elapsedMs
    if (this.firstChunkMs === undefined) this.firstChunkMs = cameMs
    else if (this.chunkGapsMs.length < MAX_GAPS) this.chunkGapsMs.push(cameMs - this.#lastChunkMs)
    this.#lastChunkMs = cameMs
  }

  /** What was read of a stream counts, and so does an answer that its caller reads for itself. */
  override cut(reason: Parameters<Bracket<LlmEnd>['cut']>[0]): void {
    this.announce()
    const read = this.readSoFar()
    if (read !== undefined) this.#end(read, 'abandoned')
    else if (this.mark.answered) this.#end(this.mark.answered)
    else super.cut(reason)
  }

  announce(): undefined {
    if (this.#announced) return
    this.#announced = true
    this.core.seen?.offered(this.request)
    this.core.tell('beforeLlmCall', () => this.#told())
  }

  /** Unless the operation has ended the call already. */
  protected succeed(reading: LlmReading, streamEnd?: StreamEndKind): void {
    if (this.claim()) this.#end(reading, streamEnd)
  }

  #end(reading: LlmReading, streamEnd?: StreamEndKind): void {
    this.close(this.#answered(reading, streamEnd))
    tellProviderCalls(this.core, this.site, reading)
  }

  #answered(reading: LlmReading, streamEnd?: StreamEndKind): LlmEnd {
    const { core } = this
    const counted = this.#counted(this.spent ?? reading)
    const { usage } = counted
    const { model = this.model } = reading.head ?? reading.response
    const costUsd = costOf(core, { provider: this.provider, model, ...counted })
    const scripted = this.#scripted()
    core.addLlm(usage, costUsd, model, !scripted && this.#untold(usage))
    this.site.noteLlm?.(reading, usage, costUsd)
    const end = new LlmActivityEnd(reading, this.request)
    if (usage !== undefined) end.usage = usage
    if (costUsd !== undefined) end.costUsd = costUsd
    if (this.firstChunkMs !== undefined) end.timeToFirstChunkMs = this.firstChunkMs
    if (this.chunkGapsMs.length > 0) end.chunkGapsMs = this.chunkGapsMs
    if (this.#streamed) end.streamed = true
    if (streamEnd !== undefined) end.streamEnd = streamEnd
    if (scripted) end.mocked = true
    core.tell('afterLlmCall', () => {
      const { kind: _kind, reading: _reading, chunkGapsMs: _gaps, streamed: _streamed, ...shared } = end
      const { response } = reading
      return { ...this.#told(), ...this.decidedBy, ...shared, response, executionTimeMs: this.elapsedMs }
    })
    return end
  }

  protected failed(error: unknown): LlmEnd {
    this.announce()
    const { core } = this
    const partial = this.readSoFar()
    const counted = this.#counted(this.spent ?? partial ?? { response: {} })
    const { usage } = counted
    const mocked = this.#scripted(error) && { mocked: true }
    // What is asked for by a name of one's own (a deployment, an ARN) has a price by that of the model that began to answer.
    const { model = this.model } = partial?.head ?? partial?.response ?? {}
    const cost = costOf(core, { provider: this.provider, model, ...counted })
    core.addLlm(usage, cost, model)
    const came = {
      ...mocked,
      ...(partial && { response: partial.response, ...(partial.usage && usage && { usage }) }),
      ...(this.firstChunkMs !== undefined && { timeToFirstChunkMs: this.firstChunkMs }),
    }
    core.emit('onLlmCallError', {
      ...this.#told(),
      ...this.decidedBy,
      ...came,
      error,
      errorType: errorType(error),
      errorMessage: errorMessage(error),
      executionTimeMs: this.elapsedMs,
    })
    const { chunkGapsMs } = this
    return {
      kind: 'llm',
      error,
      request: this.request,
      ...came,
      ...(cost !== undefined && { costUsd: cost }),
      ...(chunkGapsMs.length > 0 && { chunkGapsMs }),
    }
  }

  /** As sums can take it. What is no amount counts as not said, which a budget takes for too much. */
  #counted({ usage: given, costUsd, reportedCostUsd = this.mark.costUsd }: LlmReading): Counted {
    const usage = countable(given)
    if ((given ?? undefined) !== undefined && usage === undefined) this.#uncountable('usage', TOKENS, given)
    if (isAmount(costUsd)) return { usage, costUsd, reportedCostUsd }
    if ((costUsd ?? undefined) !== undefined) this.#uncountable('costUsd', 'a finite number >= 0', costUsd)
    return { usage, costUsd: undefined, reportedCostUsd }
  }

  #uncountable(field: string, what: string, value: unknown): void {
    const wrong = expected(`\`${field}\` of a reply of model "${this.model}" to be ${what}`, value)
    this.core.reportFailure('llmCall.read', wrong)
  }

  /** A model that says nothing of its tokens has used some all the same. What a client of MCP asks its model is not ours to pay. */
  #untold(usage: TokenUsage | undefined): boolean {
    return (
      this.replied && usage === undefined && !isNoChat(this.init.operationName) && this.provider !== 'mcp'
    )
  }

  #scripted(error?: unknown): boolean {
    noteHead(this.mark, error)
    if (this.mark.scripted) this.traced.annotate({ kind: 'mock', source: 'scripted' })
    return this.mark.scripted
  }

  #told() {
    const { operationName, serverAddress, serverPort } = this.init
    return {
      ...this.where,
      ...(operationName !== undefined && { operationName }),
      model: this.model,
      provider: this.provider,
      request: this.request,
      callKey: this.callKey,
      ...(serverAddress !== undefined && { serverAddress }),
      ...(serverPort !== undefined && { serverPort }),
    }
  }
}

function activityOf<R>(
  { model, serverAddress, serverPort, operationName }: LlmCallInit<R>,
  request: LlmRequest,
  provider: string,
  callKey: string,
): Activity {
  return { kind: 'llm', callKey, model, provider, request, serverAddress, serverPort, operationName }
}

/** The end of a call as tracers see it. All of the reply is read only for those who look at it. */
class LlmActivityEnd implements LlmEnd {
  readonly kind = 'llm'
  readonly request: LlmRequest
  readonly reading: LlmReading
  declare usage?: NonNullable<LlmEnd['usage']>
  declare costUsd?: number
  declare timeToFirstChunkMs?: number
  declare chunkGapsMs?: readonly number[]
  declare streamed?: boolean
  declare streamEnd?: StreamEndKind
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
