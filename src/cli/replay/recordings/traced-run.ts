import { isDeepStrictEqual } from 'node:util'
import { defined } from '../../../internal/objects.ts'
import { type Message, messageText, textOf } from '../../../viewer/model/messages.ts'
import { chatMessages, contentOf } from './chat-messages.ts'
import { NO_ORIGIN } from './fields.ts'
import { prompts } from './openai-chat.ts'
import { RecordingError } from './recording-error.ts'
import { RunBuilder } from './run-builder.ts'
import type { TracedCall } from './traced-call.ts'
import type { RecordedCall, RecordedOutcome, RecordedRun } from './types.ts'

/**
 * The conversation that the spans of one trace tell of: each call of a model with the messages it was sent, the tools it
 * asked for, and what they gave.
 *
 * @throws RecordingError when no model was called.
 */
export function runOfTrace(
  spans: readonly TracedCall[],
  place: { source: string; run: number },
  format: RecordedRun['format'],
): RecordedRun {
  const { calls: told, nested } = ownCalls(spans)
  const models = told.filter(({ model }) => model !== undefined)
  const [first] = spans
  if (first === undefined || models.length === 0) {
    throw new RecordingError(
      place,
      `the trace ${JSON.stringify(first?.traceId ?? '')} holds no call of a model. Export it whole, with the spans of its models.`,
    )
  }
  const reader = new TraceReader(place)
  for (const call of told) reader.add(call)
  const { items, calls } = reader.builder
  const root = spans.find(({ parentId }) => parentId === undefined)
  const agent = spans.find(({ kind, parentId }) => kind === 'agent' || parentId === undefined)
  const empty = models.filter(({ model }) => model!.input.length + model!.output.length === 0).length
  const notes = [
    ...(nested > 0 ? [`${nested} calls inside of tools are not replayed`] : []),
    ...(empty > 0 ? [`${empty} of ${models.length} model calls hold no messages`] : []),
  ]
  return {
    id: first.sessionId === undefined ? first.traceId : `${first.sessionId}/${first.traceId}`,
    ...{ source: place.source, format, index: place.run },
    ...prompts(items),
    ...defined({ agentName: agent?.name, model: models[0]?.model?.requestModel }),
    ...{ items, calls, outcome: outcomeOf(spans, root) },
    ...(notes.length > 0 ? { notes } : {}),
  }
}

/** In the order in which they began. Instrumentation tells some calls of models twice, one inside the other. */
function ownCalls(spans: readonly TracedCall[]): { calls: TracedCall[]; nested: number } {
  const byId = new Map(spans.map((span) => [span.id, span]))
  let nested = 0
  const calls = spans.filter((span) => {
    if (span.kind !== 'llm' && span.kind !== 'tool') return false
    const seen = new Set([span.id])
    for (let at = byId.get(span.parentId ?? ''); at && !seen.has(at.id); at = byId.get(at.parentId ?? '')) {
      seen.add(at.id)
      if (at.kind === 'llm' && span.kind === 'llm') return false
      if (at.kind === 'tool') {
        nested++
        return false
      }
    }
    return true
  })
  const order = new Map(spans.map((span, index) => [span, index]))
  calls.sort((a, b) => (a.startMs ?? 0) - (b.startMs ?? 0) || order.get(a)! - order.get(b)!)
  return { calls, nested }
}

class TraceReader {
  readonly builder = new RunBuilder()
  readonly #place: { source: string; run: number }
  /** How often each message has been told. */
  readonly #told = new Map<string, number>()
  #named = 0

  constructor(place: { source: string; run: number }) {
    this.#place = place
  }

  add(call: TracedCall): void {
    if (call.model) this.#modelCall(call, call.model)
    else if (call.tool) this.#toolCall(call, call.tool)
  }

  #modelCall(call: TracedCall, model: NonNullable<TracedCall['model']>): void {
    const { input, output, costUsd, usage, finishReason, requestModel, responseModel } = model
    const counts = new Map<string, number>()
    for (const message of input) {
      const print = JSON.stringify(message)
      const count = (counts.get(print) ?? 0) + 1
      counts.set(print, count)
      if (count > (this.#told.get(print) ?? 0)) this.#hear(message, call)
    }
    for (const [print, count] of counts) this.#told.set(print, Math.max(count, this.#told.get(print) ?? 0))
    for (const message of output) {
      const print = JSON.stringify(message)
      this.#told.set(print, (this.#told.get(print) ?? 0) + 1)
    }
    const parts = output.flatMap((message) => message.parts)
    const asked = parts.flatMap((part) => (part.type === 'tool_call' ? [part] : []))
    const calls = this.builder.addCalls(
      asked.map(({ id, name, arguments: args }) => ({
        ...{ id: id || this.#newId(), name, madeBy: 'assistant', origin: NO_ORIGIN },
        ...{ args, argumentsText: typeof args === 'string' ? args : JSON.stringify(args ?? {}) },
      })),
    )
    const texts = output.map(({ parts: own }) => contentOf(own)).filter((text) => text !== null)
    const reasoning = parts.map((part) => (part.type === 'reasoning' ? part.text : '')).join('')
    this.builder.add({
      ...{ kind: 'assistant', content: texts.length > 0 ? texts.join('\n') : null, calls, origin: NO_ORIGIN },
      ...(input.length > 0 ? { sent: chatMessages(input) } : {}),
      ...(reasoning === '' ? {} : { reasoning }),
      ...defined({ costUsd, usage, finishReason, requestModel, responseModel }),
      ...defined({ error: call.error, timestampMs: call.endMs }),
    })
  }

  /** What is new to a model: what was said to it, and what tools gave that no span tells of. */
  #hear(message: Message, { startMs }: TracedCall): void {
    for (const part of message.parts) {
      if (part.type !== 'tool_result') continue
      const asked = this.#unanswered(({ id }) => id === part.id)
      if (asked) this.#answer(asked, { content: textOf(part.result), isError: false, timestampMs: startMs })
    }
    const content = messageText(message)
    if (message.role === 'system' || message.role === 'developer') {
      this.builder.add({ kind: 'system', role: message.role, content, origin: NO_ORIGIN })
    } else if (message.role === 'user' && !message.parts.some(({ type }) => type === 'tool_result')) {
      this.builder.add({
        ...{ kind: 'user', content, calls: [], origin: NO_ORIGIN },
        ...defined({ timestampMs: startMs }),
      })
    }
  }

  #toolCall(call: TracedCall, tool: NonNullable<TracedCall['tool']>): void {
    const asked =
      this.#unanswered(({ id }) => tool.id !== undefined && id === tool.id) ??
      this.#unanswered(({ name, args }) => name === tool.name && isDeepStrictEqual(args, tool.args)) ??
      this.#unanswered(({ name }) => name === tool.name)
    const { error, endMs } = call
    const result = tool.result ?? error
    this.#answer(asked ?? this.#codeCall(tool), {
      content: typeof result === 'string' ? result : (JSON.stringify(result) ?? ''),
      isError: error !== undefined,
      timestampMs: endMs,
      invented: result === undefined || undefined,
    })
  }

  /** No model asked for it: the program runs it by itself. */
  #codeCall({ id = this.#newId(), name, args = {} }: NonNullable<TracedCall['tool']>): RecordedCall {
    const calls = this.builder.addCalls([
      { id, name, args, argumentsText: JSON.stringify(args), madeBy: 'code', origin: NO_ORIGIN },
    ])
    this.builder.add({ kind: 'code', content: null, calls, origin: NO_ORIGIN })
    return calls[0] as RecordedCall
  }

  #unanswered(isIt: (call: RecordedCall) => boolean): RecordedCall | undefined {
    return this.builder.calls.find((call) => call.resultItem === undefined && isIt(call))
  }

  #answer(
    { id }: RecordedCall,
    {
      content,
      isError,
      timestampMs,
      invented,
    }: {
      content: string
      isError: boolean
      timestampMs: number | undefined
      invented?: true | undefined
    },
  ): void {
    this.builder.addResult(id, this.#place, ({ name, madeBy }) => ({
      ...{ name, madeBy, content, isError, origin: NO_ORIGIN },
      ...defined({ timestampMs, invented }),
    }))
  }

  #newId(): string {
    return `call-${this.#named++}`
  }
}

function outcomeOf(spans: readonly TracedCall[], root: TracedCall | undefined): RecordedOutcome {
  const starts = spans.flatMap(({ startMs }) => startMs ?? [])
  const ends = spans.flatMap(({ endMs }) => endMs ?? [])
  return defined({
    error: root?.error,
    startedAtMs: starts.length > 0 ? starts.reduce((a, b) => Math.min(a, b)) : undefined,
    endedAtMs: ends.length > 0 ? ends.reduce((a, b) => Math.max(a, b)) : undefined,
  })
}

/** The spans of each trace, in the order in which the traces are first told of. */
export function byTrace(spans: readonly TracedCall[]): TracedCall[][] {
  return [...Map.groupBy(spans, ({ traceId }) => traceId).values()]
}
