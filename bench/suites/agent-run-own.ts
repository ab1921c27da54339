import { type Attributes, type Span, SpanKind, SpanStatusCode, type Tracer } from '@opentelemetry/api'
import { HookDispatcher } from 'hookspan'
import { execAgent } from 'hookspan/agent'
import { observeOpenAI } from 'hookspan/openai'
import { traceHooks } from 'hookspan/tracing'
import type OpenAI from 'openai'
import { setUpTelemetry } from '../harness/telemetry.ts'
import type { Workload } from '../harness/types.ts'
import {
  callTool,
  DESCRIPTION,
  findOrder,
  INSTRUCTIONS,
  type LoopWays,
  loop,
  MODEL,
  newClient,
  newMessages,
  PARAMETERS,
  PROMPT,
  type ToolCall,
  turn,
  workload,
} from './agent-run-loop.ts'

type Body = OpenAI.Chat.ChatCompletionCreateParamsNonStreaming

function bare(): Workload {
  const client = newClient()
  return workload(() => loop({ ask: (body) => client.chat.completions.create(body), callTool }))
}

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

function byHand(content: boolean, steps: boolean): Workload {
  const { tracer, spans } = setUpTelemetry()
  const client = newClient()
  let calls = 0
  let totals = { steps: 0, llmCalls: 0, toolCalls: 0, inputTokens: 0, outputTokens: 0 }

  const ask = (body: Body) => {
    const attributes: Attributes = {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'openai',
      'gen_ai.system': 'openai',
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
  const run = () => {
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
          ? await inSpan(tracer, `step ${step}`, SpanKind.INTERNAL, { 'hookspan.step.index': step }, () =>
              turn(messages, ways),
            )
          : await turn(messages, ways)
      }
      const answer = messages.at(-1)!.content as string
      span.setAttributes({
        'hookspan.operation.reason': 'done',
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
  return workload(run, spans)
}

function observed(captureContent: boolean, stepSpans: boolean): Workload {
  const { tracer, spans } = setUpTelemetry()
  const dispatcher = new HookDispatcher()
  dispatcher.use(traceHooks({ tracer, captureContent, stepSpans }))
  const client = observeOpenAI(newClient(), { dispatcher })
  return workload(async () => {
    const operation = dispatcher.startOperation({ agentName: 'support' })
    const messages = newMessages()
    for (let done = false; !done; ) {
      done = await operation.step((step) =>
        turn(messages, {
          ask: (body) => client.chat.completions.create(body),
          callTool: async ({ id, function: { name, arguments: args } }) => {
            const init = { toolCallId: id, apiName: name, args: JSON.parse(args) }
            return (await step.toolCall(init, findOrder)).toToolMessage().content
          },
        }),
      )
    }
    const content = messages.at(-1)!.content as string
    await operation.complete({ reason: 'done', content })
    return content
  }, spans)
}

function agent(captureContent: boolean, stepSpans: boolean): Workload {
  const { tracer, spans } = setUpTelemetry()
  const dispatcher = new HookDispatcher()
  dispatcher.use(traceHooks({ tracer, captureContent, stepSpans }))
  const client = newClient()
  const support = {
    name: 'support',
    instructions: INSTRUCTIONS,
    model: MODEL,
    temperature: 0,
    tools: [{ name: 'find_order', description: DESCRIPTION, parameters: PARAMETERS, execute: findOrder }],
  }
  return workload(async () => {
    const run = await execAgent({ agent: support, prompt: PROMPT, client, dispatcher })
    return run.content
  }, spans)
}

export const ways = {
  bare,
  hand: () => byHand(false, false),
  'hand-steps': () => byHand(false, true),
  'hand-content': () => byHand(true, false),
  hookspan: () => observed(false, false),
  'hookspan-steps': () => observed(false, true),
  'hookspan-content': () => observed(true, false),
  'hookspan-steps-content': () => observed(true, true),
  'exec-agent': () => agent(false, false),
  'exec-agent-steps': () => agent(false, true),
}
