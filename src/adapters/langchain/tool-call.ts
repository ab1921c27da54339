import { isBubbleUp, isGraphInterrupt } from '../../adapter/interrupts.ts'
import { RunSuspended } from '../../dispatcher/calls/suspended.ts'
import { ToolResult, tellsFailure, wordsOf } from '../../dispatcher/calls/tool-outcome.ts'
import type { HookDispatcher, ToolCallDecision, ToolCallInit, ToolOutcome } from '../../dispatcher/index.ts'
import { toContent } from '../../internal/json.ts'
import { defined, isRecord } from '../../internal/objects.ts'
import { serverOf } from '../mcp/listed-tools.ts'
import type { SafeToolCall } from '../safe/tool-call.ts'
import { type AgentRun, withinTool } from './agent-run.ts'
import {
  isToolMessage,
  type LcHandler,
  type LcMessage,
  type LcMessages,
  type LcState,
  type LcTool,
  type LcToolCall,
  type LcToolRequest,
  loadMessages,
} from './lang-chain.ts'
import { type AskedHuman, answersIn } from './resumed.ts'

type Call = SafeToolCall<unknown, unknown>

/** One tool call, in the agent's own chain. */
export async function callTool(
  agent: AgentRun,
  request: LcToolRequest,
  handler: LcHandler<LcToolRequest>,
  toolErrors: 'tell' | 'throw' = 'tell',
): Promise<unknown> {
  const classes = await loadMessages()
  agent.begunTool(request.toolCall.id, unanswered(request.state))
  let ended = false
  const end = () => {
    if (!ended) agent.endedTool()
    ended = true
  }
  try {
    const call = await openCall(agent, request)
    const decision = await call.decided
    if (decision.state === 'waiting') {
      agent.waits(true)
      end()
      return await ask(agent, classes, request, decision)
    }
    // The answer to our own question, so that the tool's own questions keep their order.
    passAnswers(agent, request)
    const made = decision.state === 'run' ? await runTool(call, request, handler) : { outcome: decision }
    if (made.thrown !== undefined) {
      if (isGraphInterrupt(made.thrown)) agent.waits(false)
      end()
      if (isGraphInterrupt(made.thrown)) await agent.parked()
      throw made.thrown
    }
    // The SDK has said it.
    if (made.outcome.state === 'errored' && made.outcome.error instanceof NoSuchTool) return made.message
    if (made.outcome.state === 'errored' && toolErrors === 'throw') throw made.outcome.error
    const message = messageOf(classes, request, made.outcome, made.message)
    if (isCommand(message) && message.graph === '__parent__') {
      agent.handsOver()
      end()
      const refusal = await agent.handedOver()
      if (refusal !== undefined) throw refusal
    }
    return message
  } finally {
    end()
  }
}

async function openCall(agent: AgentRun, { toolCall, tool, state }: LcToolRequest): Promise<Call> {
  await agent.goesOn(state)
  const calls = await agent.run.calls()
  const { id, name, args } = toolCall
  const { description, schema } = tool ?? {}
  return calls.openToolCall<unknown, unknown>({
    apiName: name,
    args,
    ...homeOf(agent.dispatcher, tool),
    ...defined({
      toolCallId: id,
      description: typeof description === 'string' ? description : undefined,
      inputSchema: isRecord(schema) ? schema : undefined,
    }),
  })
}

/** Of what `@langchain/mcp-adapters` makes of a tool that a client has listed: by it a server's tool is one call, and not two. */
function homeOf(
  dispatcher: HookDispatcher,
  { name = '', description = '', metadata, responseFormat }: LcTool = {},
): Pick<ToolCallInit, 'source' | 'identifier'> {
  const isListed =
    responseFormat === 'content_and_artifact' && isRecord(metadata) && 'annotations' in metadata
  const identifier = isListed ? serverOf(dispatcher, name, toContent(description)) : undefined
  return identifier === undefined ? {} : { source: 'mcp', identifier }
}

export interface Made {
  readonly outcome: ToolOutcome
  readonly message?: unknown
  /** What LangGraph itself threw through the tool. */
  readonly thrown?: unknown
}

/** @param handler runs the tool, of the given request with the arguments that were decided on. */
export async function runTool<R extends Pick<LcToolRequest, 'toolCall' | 'tool'>>(
  call: Call,
  request: R,
  handler: LcHandler<R>,
): Promise<Made> {
  let message: unknown
  let thrown: unknown
  const outcome = await call.run(async (args) => {
    try {
      const asked = { ...request, toolCall: { ...request.toolCall, args } }
      message = await withinTool(request.toolCall.name, isGraphInterrupt, () => handler(asked))
      const said = messageIn(message, request)
      if (said !== undefined && isOfNoTool(said, request)) throw new NoSuchTool(toContent(said.content))
      return said === undefined ? message : saidBy(said)
    } catch (error) {
      if (!isBubbleUp(error)) throw error
      thrown = error
      // What was left for another graph is done here; what waits goes on in this call.
      if (isGraphInterrupt(error)) throw new RunSuspended()
      return undefined
    }
  })
  return { outcome, message, thrown }
}

class NoSuchTool extends Error {}

/** The SDK's own answer to a call of a tool that there is not. A middleware behind ours may have given another. */
function isOfNoTool(
  { content }: LcMessage,
  { tool, toolCall }: Pick<LcToolRequest, 'toolCall' | 'tool'>,
): boolean {
  if (tool !== undefined || typeof content !== 'string') return false
  return content.startsWith(`Error: ${toolCall.name} is not a valid tool`)
}

interface CommandLike {
  readonly lg_name: 'Command'
  readonly graph?: unknown
  readonly update?: { readonly messages?: unknown }
}

function isCommand(made: unknown): made is CommandLike {
  return (made as { lg_name?: unknown } | null | undefined)?.lg_name === 'Command'
}

function messagesOf({ update }: CommandLike): readonly LcMessage[] {
  return Array.isArray(update?.messages) ? update.messages : []
}

/** What the model is to be told: what a tool gave as a message, or in a command that changes the state, too. */
export function messageIn(
  made: unknown,
  { toolCall: { id } }: { readonly toolCall: Pick<LcToolCall, 'id'> },
): LcMessage | undefined {
  if (isToolMessage(made)) return made
  if (!isCommand(made)) return undefined
  // Of a call that a tool makes by itself there is no id.
  return messagesOf(made).find((one) => isToolMessage(one) && (one.tool_call_id === id || id === undefined))
}

/** The same command, with another message. */
function commandWith(command: CommandLike, said: LcMessage, instead: LcMessage): object {
  const messages = messagesOf(command).map((one) => (one === said ? instead : one))
  const copy = Object.create(Object.getPrototypeOf(command)) as object
  return Object.assign(copy, command, { update: { ...command.update, messages } })
}

/** A tool may answer with a message that tells of its failure. */
export function saidBy({ content, status }: LcMessage): unknown {
  return status === 'error'
    ? new ToolResult({ content: toContent(content), success: false, data: content })
    : content
}

/** Stops the graph until somebody has answered, by a throw, as LangGraph does. */
async function ask(
  agent: AgentRun,
  { ToolMessage }: LcMessages,
  { toolCall, runtime }: LcToolRequest,
  { request }: Extract<ToolCallDecision<unknown, unknown>, { state: 'waiting' }>,
): Promise<LcMessage> {
  const parked = await agent.parked()
  if (agent.isHandedOver) {
    const content = 'Not run: it waited for a human, and a call beside it handed over to another agent.'
    return new ToolMessage({ tool_call_id: toolCall.id ?? '', name: toolCall.name, status: 'error', content })
  }
  if (parked === undefined || runtime.interrupt === undefined) {
    throw new Error(`Tool "${toolCall.name}" waits for a human, and this run cannot be interrupted.`)
  }
  const { name: apiName, args } = toolCall
  const asked: AskedHuman = {
    hookspan: 'approval',
    apiName,
    args,
    parked,
    ...defined({ requestId: request?.id }),
  }
  // Resumed before there was an answer, however often: those questions have been answered with nothing.
  passAnswers(agent, { toolCall, runtime })
  runtime.interrupt(asked)
  throw new Error(`Tool "${apiName}" waits for a human, and the graph went on without an answer.`)
}

/** The node runs again because our question about this call was answered, with whatever, and as often as it was asked. */
function passAnswers(
  agent: AgentRun,
  { toolCall, runtime }: Pick<LcToolRequest, 'toolCall' | 'runtime'>,
): void {
  const { waiting = [] } = agent.run.resumed ?? {}
  const asked = waiting.some(({ toolCallId, request }) => request !== undefined && toolCallId === toolCall.id)
  if (!asked) return
  for (let left = answersIn(runtime); left > 0; left--) runtime.interrupt?.(undefined)
}

function unanswered({ messages = [] }: LcState): number {
  const last = messages.findLastIndex(({ tool_calls = [] }) => tool_calls.length > 0)
  const answered = new Set(messages.slice(last + 1).map(({ tool_call_id }) => tool_call_id))
  return (messages[last]?.tool_calls ?? []).filter(({ id }) => !answered.has(id)).length
}

/** What the model is told: the tool's own message, unless something else came of the call. */
export function messageOf(
  { ToolMessage }: LcMessages,
  { toolCall }: Pick<LcToolRequest, 'toolCall'>,
  outcome: ToolOutcome,
  message: unknown,
): unknown {
  const { id: tool_call_id = '', name } = toolCall
  if (outcome.state === 'errored') {
    if (isOfInput(outcome.error)) throw outcome.error
    // As LangChain tells it where no middleware is.
    return new ToolMessage({
      tool_call_id,
      name,
      status: 'error',
      content: `${outcome.error}\n Please fix your mistakes.`,
    })
  }
  if (!('result' in outcome)) {
    return new ToolMessage({ tool_call_id, name, status: 'error', content: outcome.toToolMessage().content })
  }
  const said = messageIn(message, { toolCall })
  if (outcome.state === 'completed' && outcome.result === (said?.content ?? message)) return message
  // What the model is not told goes where the SDK has it for whoever reads its messages.
  const apart = wordsOf(outcome) === undefined ? undefined : outcome.result
  const { artifact = apart } = said ?? {}
  const instead = new ToolMessage({
    tool_call_id: said?.tool_call_id ?? tool_call_id,
    name,
    status: tellsFailure(outcome) ? 'error' : 'success',
    content:
      apart === undefined && keepsParts(said, outcome.result)
        ? outcome.result
        : outcome.toToolMessage().content,
    ...defined({ artifact }),
  })
  return said !== undefined && isCommand(message) ? commandWith(message, said, instead) : instead
}

/** Of a result in parts, with pictures say, a gate may have made other parts. */
function keepsParts(said: LcMessage | undefined, result: unknown): boolean {
  const isPart = (part: unknown) => isRecord(part) && typeof part.type === 'string'
  return Array.isArray(said?.content) && Array.isArray(result) && result.length > 0 && result.every(isPart)
}

/** Arguments that the tool's schema refuses: LangChain has its own words for the model. */
function isOfInput(error: unknown): boolean {
  return (error as { '~brand'?: unknown } | null | undefined)?.['~brand'] === 'ToolInvocationError'
}
