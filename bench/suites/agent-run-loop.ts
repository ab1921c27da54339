import OpenAI from 'openai'
import type { CountingProcessor } from '../harness/telemetry.ts'
import { shapeOf } from '../harness/telemetry.ts'
import type { Proof, Workload } from '../harness/types.ts'

/** The class whose clients run, for libraries that patch it: the peers bring a copy of their own. */
export { OpenAI }

export const MODEL = 'gpt-4o-mini'
export const TURNS = 10
/** Calls per turn; the last turn answers. */
const CALLS = [1, 1, 2, 1, 2, 1, 2, 1, 2, 0]
export const TOOL_CALLS = CALLS.reduce((sum, calls) => sum + calls)
export const INSTRUCTIONS = 'You are a support agent. Look things up before you answer, and be brief.'
export const PROMPT = 'Where are my orders of last week, and when will each of them arrive?'
export const PARAMETERS = {
  type: 'object',
  properties: { order: { type: 'number' }, detail: { type: 'string' } },
  required: ['order'] as string[],
  additionalProperties: false,
} as const
export const DESCRIPTION = 'Looks up one order with its lines.'

const REPLIES = CALLS.map((calls, turn) =>
  JSON.stringify({
    id: `chatcmpl-${turn}`,
    object: 'chat.completion',
    created: 1_700_000_000,
    model: `${MODEL}-2024-07-18`,
    choices: [
      {
        index: 0,
        finish_reason: calls === 0 ? 'stop' : 'tool_calls',
        logprobs: null,
        message: {
          role: 'assistant',
          content: calls === 0 ? 'They arrive on Monday, all thirteen of them.' : null,
          refusal: null,
          ...(calls > 0 && {
            tool_calls: Array.from({ length: calls }, (_, call) => ({
              id: `call_${turn}_${call}`,
              type: 'function',
              function: {
                name: 'find_order',
                arguments: JSON.stringify({ order: turn * 2 + call, detail: 'lines' }),
              },
            })),
          }),
        },
      },
    ],
    usage: {
      prompt_tokens: 300 + turn * 280,
      completion_tokens: 40,
      total_tokens: 340 + turn * 280,
      prompt_tokens_details: { cached_tokens: turn * 256 },
      completion_tokens_details: { reasoning_tokens: 0 },
    },
  }),
)

const RESULTS = Array.from({ length: 20 }, (_, order) =>
  JSON.stringify({
    id: `order-${order}`,
    lines: Array.from({ length: 14 }, (_, line) => ({
      sku: `sku-${order}-${line}`,
      name: 'Wool socks, grey, long',
      count: line + 1,
    })),
  }),
)

let modelCalls = 0
let toolCalls = 0

/** The model: one run after the other gets the same ten replies. */
export async function answer(): Promise<Response> {
  const reply = REPLIES[modelCalls++ % TURNS] as string
  return new Response(reply, { headers: { 'content-type': 'application/json' } })
}

export async function findOrder({ order }: { order: number }): Promise<string> {
  toolCalls++
  return RESULTS[order % RESULTS.length] as string
}

export function newClient(): OpenAI {
  return new OpenAI({ apiKey: 'none', baseURL: 'http://model.invalid/v1', fetch: answer, maxRetries: 0 })
}

export type Message = OpenAI.Chat.ChatCompletionMessageParam
export type ToolCall = OpenAI.Chat.ChatCompletionMessageFunctionToolCall

const TOOLS: OpenAI.Chat.ChatCompletionTool[] = [
  {
    type: 'function',
    function: { name: 'find_order', description: DESCRIPTION, parameters: { ...PARAMETERS } },
  },
]

/** How one turn, model call and tool call are made. */
export interface LoopWays {
  ask(body: OpenAI.Chat.ChatCompletionCreateParamsNonStreaming): PromiseLike<OpenAI.Chat.ChatCompletion>
  callTool(call: ToolCall): Promise<string>
}

export function newMessages(): Message[] {
  return [
    { role: 'system', content: INSTRUCTIONS },
    { role: 'user', content: PROMPT },
  ]
}

/** One turn; true when it was the last. */
export async function turn(messages: Message[], ways: LoopWays): Promise<boolean> {
  const reply = await ways.ask({ model: MODEL, messages, tools: TOOLS, temperature: 0 })
  const message = reply.choices[0]!.message
  messages.push(message)
  const calls = (message.tool_calls ?? []) as ToolCall[]
  if (calls.length === 0) return true
  const results = await Promise.all(calls.map((call) => ways.callTool(call)))
  for (const [index, content] of results.entries()) {
    messages.push({ role: 'tool', tool_call_id: calls[index]!.id, content })
  }
  return false
}

/** The loop that people write by hand. */
export async function loop(ways: LoopWays): Promise<string> {
  const messages = newMessages()
  while (!(await turn(messages, ways))) {}
  return messages.at(-1)!.content as string
}

export function callTool(call: ToolCall): Promise<string> {
  return findOrder(JSON.parse(call.function.arguments))
}

/** Runs, one after the other, that prove what was done in them. */
export function workload(run: () => Promise<string>, spans?: CountingProcessor): Workload {
  return counted(run, async (total) =>
    spans === undefined ? { spansPerRun: 0 } : proofOf(spans, total, run),
  )
}

/** Where spans are sent while runs go on. */
export interface Sending {
  /** Until everything that ended has been taken. */
  flush(): Promise<void>
  prove(total: number): Promise<Proof>
}

/** The same, and the sending of what they made belongs to the work. */
export function sendingWorkload(run: () => Promise<string>, { flush, prove }: Sending): Workload {
  return counted(run, prove, { run: nextTurn, runs: flush })
}

/** Timers and sockets get their turn, as they do in a process whose model is not in memory. */
const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve))

function counted(
  run: () => Promise<string>,
  prove: (total: number) => Promise<Proof>,
  after?: { run(): Promise<void>; runs(): Promise<void> },
): Workload {
  let answers = 0
  return {
    async run(count) {
      for (let i = 0; i < count; i++) {
        const content = await run()
        if (content.endsWith('all thirteen of them.')) answers++
        if (after !== undefined) await after.run()
      }
      if (after !== undefined) await after.runs()
    },
    async verify(total) {
      if (answers !== total || modelCalls !== total * TURNS || toolCalls !== total * TOOL_CALLS) {
        throw new Error(
          `${answers} answers, ${modelCalls} model calls, ${toolCalls} tool calls in ${total} runs.`,
        )
      }
      return prove(total)
    },
  }
}

async function proofOf(spans: CountingProcessor, total: number, run: () => Promise<string>): Promise<Proof> {
  const spansPerRun = spans.count / total
  if (!Number.isInteger(spansPerRun) || spansPerRun < TURNS)
    throw new Error(`${spans.count} spans in ${total} runs.`)
  spans.keep = []
  await run()
  const shape = (prefix: string) => {
    const span = spans.keep?.find(({ name }) => name.startsWith(prefix))
    return span === undefined ? '' : shapeOf(span)
  }
  const bytes = spans.keep.reduce((sum, { attributes }) => sum + JSON.stringify(attributes).length, 0)
  return {
    spansPerRun,
    attributeBytesPerRun: bytes,
    agentSpan: shape('invoke_agent'),
    chatSpan: shape('chat'),
    toolSpan: shape('execute_tool'),
  }
}
