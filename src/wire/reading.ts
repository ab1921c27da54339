import type { LlmResponse, TokenUsage, ToolCallRequest } from '../hooks/values.ts'
import { isRecord } from '../internal/objects.ts'

/** What is understood of a model's reply, whoever made it. */
export interface LlmReading {
  readonly response: LlmResponse
  /** The response without what was said, where that is known before all of it is read. */
  readonly head?: LlmHead
  readonly usage?: TokenUsage
  /** US dollars, where the reply itself says so. */
  readonly costUsd?: number
}

/** What a reply says of itself. */
export type LlmHead = Pick<LlmResponse, 'id' | 'model' | 'finishReasons'>

/** Puts a streamed reply together, chunk by chunk. Never throws for a chunk it does not understand. */
export interface ChunkReader {
  push(chunk: unknown): void
  read(): LlmReading
}

export type Loose = Record<string, unknown>

export function asObject(value: unknown): Loose | undefined {
  return isRecord(value) ? value : undefined
}

export function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

export function asText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

export function asCount(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}

/** The model's arguments as a value; its own text where that is no JSON, so that nothing is lost. */
export function parseArguments(text: unknown): unknown {
  if (typeof text !== 'string') return text ?? {}
  if (text === '') return {}
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/**
 * The model's arguments as a value where its JSON is the model's text again, else the text: a value loses spaces,
 * the digits of numbers and keys given twice. A string is always the text.
 */
export function exactArguments(text: unknown): unknown {
  const value = parseArguments(text)
  return typeof text === 'string' && !saysExactly(value, text) ? text : value
}

/** Arguments for a `ToolCallRequest`. */
export function argumentsOf(text: unknown): { args: unknown; argsText?: string } {
  const args = parseArguments(text)
  return typeof text !== 'string' || text === args || saysExactly(args, text)
    ? { args }
    : { args, argsText: text }
}

function saysExactly(value: unknown, text: string): boolean {
  return typeof value !== 'string' && JSON.stringify(value) === text
}

/** A response without its absent fields. */
export function responseOf(fields: {
  id?: string | undefined
  model?: string | undefined
  finishReasons?: readonly string[] | undefined
  content?: string | undefined
  reasoning?: string | undefined
  refusal?: string | undefined
  toolCalls?: readonly ToolCallRequest[] | undefined
}): LlmResponse {
  const { id, model, finishReasons, content, reasoning, refusal, toolCalls } = fields
  const response: { -readonly [K in keyof LlmResponse]: LlmResponse[K] } = {}
  if (id !== undefined) response.id = id
  if (model !== undefined) response.model = model
  if (finishReasons !== undefined && finishReasons.length > 0) response.finishReasons = finishReasons
  if (content !== undefined) response.content = content
  if (reasoning !== undefined) response.reasoning = reasoning
  if (refusal !== undefined) response.refusal = refusal
  if (toolCalls !== undefined && toolCalls.length > 0) response.toolCalls = toolCalls
  return response
}

/** Token counts without the parts that are not known. */
export function usageOf(
  inputTokens: number | undefined,
  outputTokens: number | undefined,
  cachedInputTokens?: number,
  reasoningTokens?: number,
): TokenUsage | undefined {
  if (inputTokens === undefined && outputTokens === undefined) return undefined
  const usage: { -readonly [K in keyof TokenUsage]: TokenUsage[K] } = {
    inputTokens: inputTokens ?? 0,
    outputTokens: outputTokens ?? 0,
  }
  if (cachedInputTokens !== undefined) usage.cachedInputTokens = cachedInputTokens
  if (reasoningTokens !== undefined) usage.reasoningTokens = reasoningTokens
  return usage
}
