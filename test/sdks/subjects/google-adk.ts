import type { ContractReply, ContractRun, ContractSubject, ContractTool } from 'hookspan/adapter/contract'
import { GOOGLE_ADK_CAPABILITIES as capabilities, hookspanPlugin } from 'hookspan/google-adk'
import { expertTools, saysOf, toldAsked, USAGE } from '../../adapter/subjects/model.ts'
import type { Untyped } from '../support/sdks.ts'

const sdk = '@google/adk'
const {
  AgentTool,
  BaseLlm,
  FunctionTool,
  InMemoryRunner,
  LlmAgent,
  StreamingMode,
  setLogLevel,
  LogLevel,
}: Untyped = await import(sdk)
setLogLevel(LogLevel.ERROR)

/** A model that says what it is told to say. */
export class ScriptedLlm extends BaseLlm {
  readonly replies: ContractReply[]
  readonly requests: Untyped[] = []

  readonly asked: ((request: object) => void) | undefined

  constructor(replies: readonly ContractReply[], asked?: (request: object) => void) {
    super({ model: 'contract' })
    this.replies = [...replies]
    this.asked = asked
  }

  async *generateContentAsync(request: Untyped, stream = false) {
    this.requests.push(structuredClone({ contents: request.contents }))
    this.asked?.(request.contents)
    const reply = this.replies.shift()
    if (reply === undefined) throw new Error('The script is over.')
    const { content, toolCalls = [], broken } = reply
    const texts = content === undefined ? [] : [{ text: content }]
    if (stream && content !== undefined) {
      yield { content: { role: 'model', parts: texts }, partial: true }
      if (broken) throw new Error('the connection broke')
    }
    const calls = toolCalls.map(({ id, name, args }) => ({ functionCall: { id, name, args } }))
    const usageMetadata = {
      promptTokenCount: USAGE.inputTokens,
      candidatesTokenCount: USAGE.outputTokens,
    }
    yield { content: { role: 'model', parts: [...texts, ...calls] }, finishReason: 'STOP', usageMetadata }
  }
}

/** The real package, on a model of its own base class. */
export const googleAdkSubject: ContractSubject = {
  name: 'google-adk',
  waitsForTools: true,
  capabilities,
  async run(run) {
    const { dispatcher, signal, stream } = run
    const runner = new InMemoryRunner({
      agent: agentOf(run),
      appName: 'contract',
      plugins: [hookspanPlugin({ dispatcher })],
    })
    let content = ''
    let failed = false
    const user = { appName: 'contract', userId: 'u' }
    const session = await runner.sessionService.createSession(user)
    for await (const event of runner.runAsync({
      userId: user.userId,
      sessionId: session.id,
      newMessage: { role: 'user', parts: [{ text: run.prompt }] },
      ...(stream && { runConfig: { streamingMode: StreamingMode.SSE } }),
      ...(signal && { abortSignal: signal }),
    })) {
      failed ||= event.errorCode !== undefined
      content = textOf(event) || content
      if (stream === 'abandon' && event.partial) break
    }
    if (signal?.aborted) return { status: 'interrupted' }
    return failed ? { status: 'error' } : { status: 'done', content }
  },
}

function agentOf(run: ContractRun): Untyped {
  const { agentName, replies, tools, subAgent } = run
  const functions = (of: readonly ContractTool[]) =>
    of.map(
      ({ name, description, parameters, execute }) =>
        new FunctionTool({
          name,
          description,
          parameters,
          execute: (args: { q: string }, context: Untyped) =>
            execute(args, context?.abortSignal ? { signal: context.abortSignal } : {}),
        }),
    )
  const expert =
    subAgent &&
    new LlmAgent({
      name: subAgent.name,
      description: saysOf(subAgent.name),
      model: new ScriptedLlm(subAgent.replies, (request) => toldAsked(run, subAgent.name, request)),
      tools: functions(expertTools(run)),
    })
  return new LlmAgent({
    name: agentName,
    model: new ScriptedLlm(replies.map(asking), (request) => toldAsked(run, 'contract', request)),
    tools: expert ? [...functions(tools), new AgentTool({ agent: expert })] : functions(tools),
  })
}

/** The SDK has its own name for what an agent is told that is a tool. */
function asking(reply: ContractReply): ContractReply {
  const { toolCalls = [] } = reply
  const named = toolCalls.map((call) => {
    const { instruction: request, ...args } = call.args as { instruction?: string }
    return request === undefined ? call : { ...call, args: { ...args, request } }
  })
  return { ...reply, ...(toolCalls.length > 0 && { toolCalls: named }) }
}

export const textOf = (event: Untyped): string =>
  (event.content?.parts ?? []).map((part: { text?: string }) => part.text ?? '').join('')
