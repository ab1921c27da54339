import { AIMessage, HumanMessage } from '@langchain/core/messages'
import { fakeModel } from '@langchain/core/testing'
import { Command, MemorySaver } from '@langchain/langgraph'
import type {
  ContractOutcome,
  ContractReply,
  ContractRun,
  ContractSubject,
  ContractTool,
} from 'hookspan/adapter/contract'
import { hookspanMiddleware, LANGCHAIN_CAPABILITIES } from 'hookspan/langchain'
import { createAgent, tool } from 'langchain'
import { askedOf, expertTools, saysOf, toldAsked, USAGE } from './model.ts'

interface Saved {
  readonly checkpoints: string
  readonly asked: unknown
}

/** The real packages, on their own test model. */
export const langchainSubject: ContractSubject = {
  name: 'langchain',
  capabilities: LANGCHAIN_CAPABILITIES,
  readsItself: true,
  async run(run) {
    const saved = run.state as Saved | undefined
    const checkpointer = new MemorySaver()
    if (saved !== undefined) Object.assign(checkpointer, fromText(saved.checkpoints))
    const agent = createAgent({
      model: scripted(run.replies, (request) => toldAsked(run, 'contract', request)),
      tools: toolsOf(run) as never,
      middleware: [hookspanMiddleware({ dispatcher: run.dispatcher, agentName: run.agentName })],
      checkpointer,
    })
    const config = { configurable: { thread_id: 'one' }, ...(run.signal && { signal: run.signal }) }
    const input =
      saved === undefined
        ? { messages: [new HumanMessage(run.prompt)] }
        : new Command({ resume: saved.asked as object })
    try {
      if (run.stream === undefined) return outcomeOf(await agent.invoke(input as never, config), checkpointer)
      let content = ''
      const stream = await agent.stream(input as never, { ...config, streamMode: 'messages' })
      for await (const [message] of stream) if (message.type === 'ai') content += message.text
      return { status: 'done', content }
    } catch (error) {
      if (run.signal?.aborted) return { status: 'interrupted' }
      if (run.stream !== undefined) return { status: 'error' }
      throw error
    }
  },
}

function outcomeOf(result: object, { storage, writes }: MemorySaver): ContractOutcome {
  const { messages, __interrupt__: asked } = result as {
    messages: { text: string }[]
    __interrupt__?: { value: unknown }[]
  }
  if (asked?.[0] === undefined) return { status: 'done', content: messages.at(-1)?.text ?? '' }
  const state: Saved = { checkpoints: toText({ storage, writes }), asked: asked[0].value }
  return { status: 'waiting', state }
}

function toText(value: object): string {
  return JSON.stringify(value, (_key, one) =>
    one instanceof Uint8Array ? { bytes: Buffer.from(one).toString('base64') } : one,
  )
}

function fromText(text: string): object {
  return JSON.parse(text, (_key, one) =>
    typeof one?.bytes === 'string' ? new Uint8Array(Buffer.from(one.bytes, 'base64')) : one,
  )
}

function toolsOf(run: ContractRun) {
  const { tools, subAgent, dispatcher } = run
  const given = (of: readonly ContractTool[]) =>
    of.map((one) =>
      tool(
        (args: { q: string }, { signal }: { signal?: AbortSignal }) =>
          one.execute(args, signal ? { signal } : {}),
        { name: one.name, description: one.description, schema: one.parameters as never },
      ),
    )
  if (subAgent === undefined) return given(tools)
  const { name, replies } = subAgent
  const expert = createAgent({
    model: scripted(replies, (request) => toldAsked(run, name, request)),
    tools: given(expertTools(run)) as never,
    middleware: [hookspanMiddleware({ dispatcher, agentName: name })],
  })
  const ask = async ({ instruction }: { instruction: string }) => {
    const { messages } = await expert.invoke({ messages: askedOf(run, instruction) }, { recursionLimit: 60 })
    return messages.at(-1)?.text ?? ''
  }
  const schema = { type: 'object', properties: { instruction: { type: 'string' } } }
  return [...given(tools), tool(ask, { name, description: saysOf(name), schema: schema as never })]
}

function scripted(replies: readonly ContractReply[], asked: (request: object) => void) {
  const model = fakeModel()
  const { inputTokens, outputTokens } = USAGE
  for (const { content = '', toolCalls = [], broken } of replies) {
    const tool_calls = toolCalls.map((call) => ({ ...call, type: 'tool_call' as const }))
    const reply = new AIMessage({
      content,
      tool_calls: tool_calls as never,
      response_metadata: { finish_reason: toolCalls.length > 0 ? 'tool_calls' : 'stop' },
      usage_metadata: { input_tokens: inputTokens, output_tokens: outputTokens, total_tokens: 5 },
    })
    model.respond((messages) => {
      asked(messages)
      return broken ? new Error('the connection broke') : reply
    })
  }
  return model
}
