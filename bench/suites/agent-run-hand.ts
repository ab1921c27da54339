import { type Attributes, type Span, SpanKind, SpanStatusCode, type Tracer } from '@opentelemetry/api'
import type OpenAI from 'openai'
import { callTool, type LoopWays, newClient, newMessages, type ToolCall, turn } from './agent-run-loop.ts'

type Body = OpenAI.Chat.ChatCompletionCreateParamsNonStreaming

/** What a careful user writes once: a span around a function, its failure on it. */
function inSpan<R>(
  tracer: Tracer,
  name: string,
  kind: SpanKind,
  attributes: Attributes,
  fn: (span: Span) => Promise<R>,
): Promise<R> {
  return tracer.startActiveSpan(name, { kind, attributes }, async (span) => {
    try {
      return await fn(span)
    } catch (error) {
      span.setAttribute('error.type', error instanceof Error ? error.name : 'unknown')
      span.setStatus({ code: SpanStatusCode.ERROR, message: String(error) })
      throw error
    } finally {
      span.end()
    }
  })
}

/** Messages in the shape that the conventions ask for. */
function messagesJson(messages: Body['messages']): string {
  return JSON.stringify(
    messages.map((message) => {
      if (message.role === 'tool') {
        const { tool_call_id: id, content } = message
        return { role: 'tool', parts: [{ type: 'tool_call_response', id, response: content }] }
      }
      const parts: object[] = []
      if (typeof message.content === 'string') parts.push({ type: 'text', content: message.content })
      if (message.role === 'assistant') parts.push(...callParts(message.tool_calls as ToolCall[] | undefined))
      return { role: message.role, parts }
    }),
  )
}

function callParts(calls: readonly ToolCall[] | undefined): object[] {
  return (calls ?? []).map(({ id, function: { name, arguments: args } }) => {
    return { type: 'tool_call', id, name, arguments: JSON.parse(args) }
  })
}

/** The loop with every span written by hand, with the attributes that hookspan's have. */
export function handRun(tracer: Tracer, content: boolean, steps: boolean): () => Promise<string> {
  const client = newClient()
  let calls = 0
  let totals = { steps: 0, llmCalls: 0, toolCalls: 0, inputTokens: 0, outputTokens: 0 }

  const ask = (body: Body) => {
    const attributes: Attributes = {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': body.model,
      'gen_ai.request.temperature': body.temperature ?? 1,
      'server.address': 'model.invalid',
      'server.port': 80,
      'hookspan.call.key': `call-${calls++}`,
    }
    if (content) {
      attributes['gen_ai.input.messages'] = messagesJson(body.messages)
      attributes['gen_ai.tool.definitions'] = JSON.stringify(
        body.tools?.map((tool) => ({ type: 'function', ...(tool.type === 'function' && tool.function) })),
      )
    }
    return inSpan(tracer, `chat ${body.model}`, SpanKind.CLIENT, attributes, async (span) => {
      const reply = await client.chat.completions.create(body)
      const choice = reply.choices[0]!
      totals.llmCalls++
      totals.inputTokens += reply.usage!.prompt_tokens
      totals.outputTokens += reply.usage!.completion_tokens
      span.setAttributes({
        'gen_ai.response.id': reply.id,
        'gen_ai.response.model': reply.model,
        'gen_ai.response.finish_reasons': [choice.finish_reason],
        'gen_ai.usage.input_tokens': reply.usage!.prompt_tokens,
        'gen_ai.usage.output_tokens': reply.usage!.completion_tokens,
        'gen_ai.usage.cache_read.input_tokens': reply.usage!.prompt_tokens_details!.cached_tokens!,
        'gen_ai.usage.reasoning.output_tokens': reply.usage!.completion_tokens_details!.reasoning_tokens!,
      })
      if (content) {
        const { message, finish_reason } = choice
        const parts: object[] = []
        if (message.content !== null) parts.push({ type: 'text', content: message.content })
        parts.push(...callParts(message.tool_calls as ToolCall[] | undefined))
        span.setAttribute(
          'gen_ai.output.messages',
          JSON.stringify([{ role: 'assistant', parts, finish_reason }]),
        )
      }
      return reply
    })
  }

  const call = (toolCall: ToolCall) => {
    const { name, arguments: args } = toolCall.function
    totals.toolCalls++
    const attributes: Attributes = {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': name,
      'gen_ai.tool.type': 'function',
      'gen_ai.tool.call.id': toolCall.id,
      'gen_ai.agent.name': 'support',
      'hookspan.tool.identifier': 'local',
      'hookspan.tool.source': 'local',
      'hookspan.call.key': `call-${calls++}`,
    }
    if (content) attributes['gen_ai.tool.call.arguments'] = args
    return inSpan(tracer, `execute_tool ${name}`, SpanKind.INTERNAL, attributes, async (span) => {
      const result = await callTool(toolCall)
      span.setAttributes({
        'hookspan.tool.outcome': 'completed',
        'hookspan.tool.success': true,
        'hookspan.tool.mocked': false,
      })
      if (content) span.setAttribute('gen_ai.tool.call.result', result)
      return result
    })
  }

  const ways: LoopWays = { ask, callTool: call }
  return () => {
    const id = `op_${crypto.randomUUID()}`
    totals = { steps: 0, llmCalls: 0, toolCalls: 0, inputTokens: 0, outputTokens: 0 }
    calls = 0
    const attributes: Attributes = {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': 'support',
      'hookspan.operation.id': id,
      'hookspan.operation.root_id': id,
    }
    return inSpan(tracer, 'invoke_agent support', SpanKind.INTERNAL, attributes, async (span) => {
      const messages = newMessages()
      for (let step = 0, done = false; !done; step++) {
        totals.steps++
        done = steps
          ? await inSpan(tracer, 'step', SpanKind.INTERNAL, { 'hookspan.step.index': step }, () =>
              turn(messages, ways),
            )
          : await turn(messages, ways)
      }
      const answer = messages.at(-1)!.content as string
      span.setAttributes({
        'hookspan.operation.reason': 'done',
        'gen_ai.response.finish_reasons': ['stop'],
        'hookspan.operation.steps': totals.steps,
        'hookspan.operation.llm_calls': totals.llmCalls,
        'hookspan.operation.tool_calls': totals.toolCalls,
        'hookspan.operation.input_tokens': totals.inputTokens,
        'hookspan.operation.output_tokens': totals.outputTokens,
      })
      if (content) span.setAttribute('gen_ai.output.messages', messagesJson([messages.at(-1)!]))
      return answer
    })
  }
}
