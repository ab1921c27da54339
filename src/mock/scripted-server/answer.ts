import type { ScriptedRequest, ScriptedStep } from './types.ts'

/** A step with everything filled in that the wire formats need. */
export interface Answer {
  id: string
  /** Seconds since the epoch. */
  createdAt: number
  model: string
  content: string | null
  reasoning: string | undefined
  toolCalls: { id: string; name: string; argumentsText: string }[]
  usage: ScriptedStep['usage']
  finishReason: string
  toolCallOrder: 'sequential' | 'interleaved'
}

export function toAnswer(step: ScriptedStep, request: ScriptedRequest): Answer {
  const toolCalls = (step.toolCalls ?? []).map((call, index) => ({
    id: call.id ?? `call_${request.index}_${index}`,
    name: call.name,
    argumentsText: argumentsText(call.arguments),
  }))
  const prefix = request.api === 'responses' ? 'resp' : 'chatcmpl'
  return {
    id: step.id ?? `${prefix}_scripted_${request.index}`,
    createdAt: Math.floor(Date.now() / 1000),
    model: step.model ?? String(request.body.model ?? 'scripted'),
    content: step.content ?? null,
    reasoning: step.reasoning,
    toolCalls,
    usage: step.usage,
    finishReason: step.finishReason ?? (toolCalls.length > 0 ? 'tool_calls' : 'stop'),
    toolCallOrder: step.toolCallOrder ?? 'sequential',
  }
}

function argumentsText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? {})
}
