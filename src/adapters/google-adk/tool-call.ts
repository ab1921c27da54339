import { AsyncLocalStorage } from 'node:async_hooks'
import { ToolResult, tellsFailure, wordsOf } from '../../dispatcher/calls/tool-outcome.ts'
import type { ToolCallInit, ToolOutcome } from '../../dispatcher/index.ts'
import { jsonIn } from '../../internal/json.ts'
import { defined, isRecord } from '../../internal/objects.ts'
import { asName, asObject, asText, type Loose } from '../../wire/reading.ts'
import { currentCalls } from '../safe/calls.ts'
import { asFailed, saysItFailed } from '../tool-failure.ts'
import type { AdkTool, AdkToolCall } from './adk.ts'
import type { AgentRun } from './agent-run.ts'
import { withSpans } from './sdk-spans.ts'

/** ADK's own tool, which hands the run over to another agent. */
const TRANSFER = 'transfer_to_agent'

/** Which tool, or what runs code, is at work, and of which run. */
const atWork = new AsyncLocalStorage<{ readonly agent: AgentRun; readonly tool: object }>()

export function isAtWork(tool: AdkTool): boolean {
  return atWork.getStore()?.tool === tool
}

/** One tool call, around the tool itself: what other plugins and callbacks made of the arguments is decided on. */
export async function callTool(
  agent: AgentRun,
  tool: AdkTool,
  asked: AdkToolCall,
  perform: (asked: AdkToolCall) => Promise<unknown>,
): Promise<unknown> {
  const init: ToolCallInit = {
    apiName: tool.name,
    args: asked.args,
    ...((tool.agent !== undefined || tool.name === TRANSFER) && { source: 'agent' }),
    ...defined({
      toolCallId: asName(asked.toolContext.functionCallId),
      description: asName(tool.description),
      inputSchema: schemaOf(tool),
    }),
  }
  let gave: unknown
  const outcome = await openOutcome(agent, tool, init, async (args) => {
    const result = await perform({ ...asked, args: args as Loose })
    const open = unconfirmed(asked, result)
    if (open !== undefined) gave = result
    return open ?? asFailed(result)
  })
  if (gave !== undefined && 'result' in outcome && outcome.result === gave) return gave
  return givenOf(outcome)
}

/** @param tool what is at work while the body runs. */
export async function openOutcome(
  agent: AgentRun,
  tool: object,
  init: ToolCallInit,
  body: (args: unknown) => Promise<unknown>,
): Promise<ToolOutcome> {
  // A tool that is a workflow runs others, and so may the code of any.
  const within = atWork.getStore()?.agent === agent ? currentCalls() : undefined
  const calls = within ?? (await agent.run.calls())
  // The SDK waits for the tools that are at work, and begins the others of the reply.
  const call = calls.openToolCall<unknown, unknown>({ ...init, outlastsAbort: true })
  return call.run((args) => atWork.run({ agent, tool }, () => withSpans(() => body(args))))
}

/** A call that a human has not confirmed, or not yet, has not done what it was asked for, as the SDK says in its result's place. */
function unconfirmed({ toolContext }: AdkToolCall, result: unknown): ToolResult | undefined {
  const { functionCallId = '', toolConfirmation, actions } = toolContext
  const asks = actions?.requestedToolConfirmations?.[functionCallId] !== undefined
  const error = asText(asObject(result)?.error)
  if (error === undefined || !(asks || toolConfirmation?.confirmed === false)) return undefined
  return new ToolResult({ content: error, success: false, data: result })
}

/** A Standard Schema, or a JSON Schema: Google's own dialect, with types in capitals, is none. */
function schemaOf({ parameters }: AdkTool): unknown {
  if (!isRecord(parameters)) return undefined
  const { type } = parameters
  return '~standard' in parameters || type === 'object' ? parameters : undefined
}

/** What the SDK tells the model. @throws what the tool threw. */
function givenOf(outcome: ToolOutcome): unknown {
  if (outcome.state === 'errored') throw outcome.error
  if ('result' in outcome && saysItFailed(outcome)) return outcome.result
  const { content } = outcome.toToolMessage()
  // As the SDK itself tells of a tool that throws.
  if (tellsFailure(outcome)) return { error: content }
  if ('result' in outcome) return wordsOf(outcome) ?? outcome.result
  return jsonIn(content, content)
}
