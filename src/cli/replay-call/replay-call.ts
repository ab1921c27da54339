/** One model call of a run, made again against another model, with the user's key. */
import type { OpenAI } from 'openai'
import { isRecord } from '../../internal/objects.ts'
import { requirePeer } from '../../internal/require-peer.ts'
import { modelCall } from '../../viewer/model/call-content.ts'
import { chatMessages } from '../../viewer/model/data-set.ts'
import { formatCost, formatCount, formatDuration, visibleText } from '../../viewer/model/format.ts'
import type { AttributeValue, SpanRecord } from '../../viewer/model/span.ts'
import type { RunSource } from '../../viewer/run-source.ts'
import { installedPrices } from '../../wire/prices.ts'
import { UsageError } from '../failure.ts'
import { printJson } from '../render/terminal.ts'
import { findRun } from '../run-source.ts'
import { assertAddress, assertToken } from '../whom-to-ask.ts'

export interface ReplayCallFlags {
  model: string
  run: string
  baseUrl?: string
  timeout: string
  json?: boolean
}

/** What a model said, and what that took. */
interface Said {
  model: string
  content: string | null
  toolCalls: { name: string; arguments: string }[]
  inputTokens: number
  outputTokens: number
  cachedTokens: number
  durationMs: number
  costUsd?: number | undefined
}

/** Taken over as they were; the field of the request, and the attribute. */
const SAMPLING = {
  temperature: 'gen_ai.request.temperature',
  top_p: 'gen_ai.request.top_p',
  max_completion_tokens: 'gen_ai.request.max_tokens',
} as const

/** @throws UsageError when the span is no model call, or does not hold what the model was sent. */
export async function replayCall(source: RunSource, spanId: string, flags: ReplayCallFlags): Promise<void> {
  const { summary } = await findRun(source, flags.run)
  const span = await source.span(summary.traceId, spanId)
  if (!span)
    throw new UsageError(
      `No span "${spanId}" in run ${summary.traceId}. Name its run with --run; \`hookspan show --json\` lists the spans of one.`,
    )
  const request = requestOf(span, flags.model)
  const recorded = recordedOf(span)
  const replayed = await ask(request, flags)
  if (flags.json) return printJson({ span: spanId, run: summary.traceId, request, recorded, replayed })
  console.log(sideText('recorded', recorded))
  console.log(sideText('replayed', replayed))
}

function requestOf(span: SpanRecord, model: string): OpenAI.Chat.ChatCompletionCreateParamsNonStreaming {
  const { input, output, tools } = modelCall(span)
  if (input.length === 0)
    throw new UsageError(
      output.length === 0 && span.attributes['gen_ai.request.model'] === undefined
        ? `Span ${span.spanId} is "${span.name}", and no call of a model.`
        : `Span ${span.spanId} does not hold what the model was sent. Trace the run with \`captureContent: true\`.`,
    )
  const sampling = Object.entries(SAMPLING).flatMap(([field, attribute]) => {
    const value = span.attributes[attribute]
    return typeof value === 'number' ? [[field, value]] : []
  })
  return {
    model,
    messages: input.flatMap(chatMessages),
    ...(tools.length > 0 && { tools: tools.map(({ value }) => toolOf(value)) }),
    ...Object.fromEntries(sampling),
  } as OpenAI.Chat.ChatCompletionCreateParamsNonStreaming
}

/** As chat completions take it, whichever way it was recorded. */
function toolOf(value: AttributeValue): object {
  if (isRecord(value) && isRecord(value.function)) return value
  const {
    name,
    description,
    parameters,
    input_schema: schema,
  } = (isRecord(value) ? value : {}) as Record<string, unknown>
  return { type: 'function', function: { name, description, parameters: parameters ?? schema } }
}

function recordedOf(span: SpanRecord): Said {
  const number = (name: string) => Number(span.attributes[name] ?? 0) || 0
  const cost = span.attributes['hookspan.cost_usd']
  const model = String(
    span.attributes['gen_ai.response.model'] ?? span.attributes['gen_ai.request.model'] ?? '',
  )
  const said = modelCall(span).output.flatMap(chatMessages) as OpenAI.Chat.ChatCompletionMessage[]
  return {
    model,
    ...saidIn(said),
    inputTokens: number('gen_ai.usage.input_tokens'),
    outputTokens: number('gen_ai.usage.output_tokens'),
    cachedTokens: number('gen_ai.usage.cache_read.input_tokens'),
    durationMs: span.endUs > 0 ? (span.endUs - span.startUs) / 1000 : 0,
    ...(typeof cost === 'number' && { costUsd: cost }),
  }
}

function saidIn(messages: readonly OpenAI.Chat.ChatCompletionMessage[]): Pick<Said, 'content' | 'toolCalls'> {
  return {
    content:
      messages
        .map(({ content }) => content)
        .filter(Boolean)
        .join('\n') || null,
    toolCalls: messages.flatMap(({ tool_calls = [] }) =>
      tool_calls.flatMap((call) =>
        call.type === 'function' ? [{ name: call.function.name, arguments: call.function.arguments }] : [],
      ),
    ),
  }
}

async function ask(
  request: OpenAI.Chat.ChatCompletionCreateParamsNonStreaming,
  { baseUrl, timeout }: ReplayCallFlags,
): Promise<Said> {
  const seconds = Number(timeout)
  if (!(seconds > 0))
    throw new UsageError(`Expected --timeout to be a number of seconds above 0, got \`${timeout}\`.`)
  const apiKey = process.env.OPENAI_API_KEY
  if (!apiKey)
    throw new UsageError(
      'OPENAI_API_KEY is not set: the call is made with your key. A server of your own may take any.',
    )
  assertToken(apiKey, 'OPENAI_API_KEY')
  const server = baseUrl ?? process.env.OPENAI_BASE_URL?.trim()
  if (server) assertAddress(server, '--base-url, or OPENAI_BASE_URL,', 'OPENAI_API_KEY')
  const { OpenAI } = requirePeer<typeof import('openai')>('openai', 'hookspan replay-call')
  const client = new OpenAI({
    apiKey,
    timeout: seconds * 1000,
    ...(baseUrl !== undefined && { baseURL: baseUrl }),
  })
  const startMs = performance.now()
  const reply = await client.chat.completions.create(request)
  const durationMs = performance.now() - startMs
  const usage = {
    inputTokens: reply.usage?.prompt_tokens ?? 0,
    outputTokens: reply.usage?.completion_tokens ?? 0,
    cachedInputTokens: reply.usage?.prompt_tokens_details?.cached_tokens ?? 0,
  }
  const costUsd = reply.usage && installedPrices()?.({ provider: '', model: reply.model, usage })
  const { cachedInputTokens: cachedTokens, ...counts } = usage
  const said = saidIn(reply.choices.slice(0, 1).map(({ message }) => message))
  return { model: reply.model, ...said, ...counts, cachedTokens, durationMs, costUsd }
}

function sideText(name: string, said: Said): string {
  const { model, content, toolCalls, inputTokens, outputTokens, durationMs, costUsd } = said
  const facts = [
    model,
    `${formatCount(inputTokens)} → ${formatCount(outputTokens)} tokens`,
    formatDuration(durationMs),
    ...(costUsd ? [formatCost(costUsd)] : []),
  ]
  const lines = [
    ...(content === null ? [] : content.split('\n')),
    ...toolCalls.map((call) => `→ ${call.name}(${call.arguments})`),
  ]
  return visibleText([`${name}: ${facts.join(', ')}`, ...lines.map((line) => `  ${line}`)].join('\n'))
}
