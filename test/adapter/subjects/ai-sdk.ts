import * as ai from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import type { ParkedOperation } from 'hookspan'
import type {
  ContractOutcome,
  ContractReply,
  ContractRun,
  ContractSubject,
  ContractTool,
} from 'hookspan/adapter/contract'
import { AI_SDK_CAPABILITIES, observeAISDK, parkedRun, runWith } from 'hookspan/ai-sdk'
import { askedOf, USAGE as COUNTS, expertTools, saysOf, toldAsked } from './model.ts'

interface Saved {
  readonly parked: ParkedOperation
  readonly messages: ai.ModelMessage[]
}

/** The real package, on its own test model. */
export const aiSdkSubject: ContractSubject = {
  name: 'ai-sdk',
  waitsForTools: true,
  capabilities: AI_SDK_CAPABILITIES,
  async run(run) {
    const saved = run.state as Saved | undefined
    if (saved === undefined) return outcomeOf(run, () => start(run, [{ role: 'user', content: run.prompt }]))
    return outcomeOf(run, () => runWith({ resume: saved.parked }, () => start(run, saved.messages)))
  },
}

/** What a run gives, whichever of the SDK's functions made it. */
interface Ran {
  readonly text?: string
  readonly error?: unknown
  readonly messages: ai.ModelMessage[]
  readonly result: object
}

async function start(run: ContractRun, messages: ai.ModelMessage[]): Promise<Ran> {
  const { generateText, streamText } = observeAISDK(ai, { dispatcher: run.dispatcher })
  const options = {
    model: scripted(run.replies, (request) => toldAsked(run, 'contract', request)),
    tools: toolsOf(run),
    messages,
    maxRetries: 0,
    stopWhen: ai.isStepCount(15),
    telemetry: { functionId: run.agentName },
    ...(run.signal && { abortSignal: run.signal }),
  }
  if (run.stream === undefined) {
    const result = await generateText(options)
    return { result, text: result.text, messages: [...messages, ...result.response.messages] }
  }
  let error: unknown
  const result = streamText({
    ...options,
    onError: (event) => {
      error = event.error
    },
  })
  let text = ''
  for await (const chunk of result.textStream) {
    text += chunk
    if (run.stream === 'abandon') break
  }
  return { result, text, error, messages }
}

async function outcomeOf(run: ContractRun, ran: () => Promise<Ran>): Promise<ContractOutcome> {
  try {
    const { result, text, error, messages } = await ran()
    if (error !== undefined) return { status: 'error' }
    const parked = await parkedRun(result)
    if (parked !== undefined) return { status: 'waiting', state: { parked, messages } satisfies Saved }
    return { status: 'done', ...(text !== undefined && { content: text }) }
  } catch (error) {
    if (run.signal?.aborted) return { status: 'interrupted' }
    if (run.stream !== undefined) return { status: 'error' }
    throw error
  }
}

function toolsOf(run: ContractRun): ai.ToolSet {
  const { tools, subAgent, dispatcher } = run
  const given = (of: readonly ContractTool[]) =>
    of.map((one) => {
      const { name, description, parameters } = one
      const execute = (args: { q: string }, { abortSignal }: { abortSignal?: AbortSignal }) =>
        one.execute(args, abortSignal ? { signal: abortSignal } : {})
      const inputSchema = ai.jsonSchema<{ q: string }>(parameters)
      return [name, ai.tool({ description, inputSchema, execute })]
    })
  if (subAgent === undefined) return Object.fromEntries(given(tools))
  const { ToolLoopAgent } = observeAISDK(ai, { dispatcher })
  const expert = new ToolLoopAgent({
    id: subAgent.name,
    model: scripted(subAgent.replies, (request) => toldAsked(run, subAgent.name, request)),
    tools: Object.fromEntries(given(expertTools(run))) as ai.ToolSet,
    stopWhen: ai.isStepCount(15),
  })
  const inputSchema = ai.jsonSchema<{ instruction: string }>({
    type: 'object',
    properties: { instruction: { type: 'string' } },
  })
  const ask = async ({ instruction }: { instruction: string }) => {
    const messages = askedOf(run, instruction)
    const asked = messages.length > 1 ? { messages } : { prompt: instruction }
    return run.stream ? (await expert.stream(asked)).text : (await expert.generate(asked)).text
  }
  return Object.fromEntries([
    ...given(tools),
    [subAgent.name, ai.tool({ description: saysOf(subAgent.name), inputSchema, execute: ask })],
  ])
}

type Content = Awaited<ReturnType<MockLanguageModelV4['doGenerate']>>

export function scripted(
  replies: readonly ContractReply[],
  asked?: (request: object) => void,
): MockLanguageModelV4 {
  const left = [...replies]
  const next = (request: object) => {
    asked?.(request)
    const reply = left.shift()
    if (reply === undefined) throw new Error('the model was asked once more than scripted')
    return reply
  }
  return new MockLanguageModelV4({
    modelId: 'contract',
    doGenerate: async ({ prompt }) => replyOf(next(prompt)),
    doStream: async ({ prompt }) => ({ stream: streamOf(next(prompt)) }),
  })
}

const USAGE = {
  inputTokens: {
    total: COUNTS.inputTokens,
    noCache: COUNTS.inputTokens,
    cacheRead: undefined,
    cacheWrite: undefined,
  },
  outputTokens: { total: COUNTS.outputTokens, text: COUNTS.outputTokens, reasoning: undefined },
}

function replyOf({ content, toolCalls = [] }: ContractReply): Content {
  return {
    content: [
      ...(content === undefined ? [] : [{ type: 'text' as const, text: content }]),
      ...toolCalls.map(callOf),
    ],
    finishReason: finishOf(toolCalls),
    usage: USAGE,
    warnings: [],
  }
}

const finishOf = (toolCalls: readonly object[]): Content['finishReason'] =>
  toolCalls.length > 0 ? { unified: 'tool-calls', raw: 'tool_calls' } : { unified: 'stop', raw: 'stop' }

const callOf = ({ id, name, args }: { id: string; name: string; args: object }) => ({
  type: 'tool-call' as const,
  toolCallId: id,
  toolName: name,
  input: JSON.stringify(args),
})

/** Letter by letter, each when there was time for the one before to be read. */
function streamOf({ content = '', broken = false, toolCalls = [] }: ContractReply): ReadableStream<never> {
  const letters = [...content]
  async function* chunks() {
    yield { type: 'stream-start', warnings: [] }
    yield { type: 'text-start', id: '1' }
    for (const delta of letters) {
      yield { type: 'text-delta', id: '1', delta }
      if (broken) throw new Error('the connection broke')
      await new Promise((resolve) => setImmediate(resolve))
    }
    yield { type: 'text-end', id: '1' }
    yield* toolCalls.map(callOf)
    yield { type: 'finish', finishReason: finishOf(toolCalls), usage: USAGE }
  }
  return ReadableStream.from(chunks()) as ReadableStream<never>
}
