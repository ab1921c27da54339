import { defined, isRecord } from '../../internal/objects.ts'
import { isLocked, replace } from '../replace.ts'
import { currentCalls } from '../safe/calls.ts'
import { toolAtWork } from './agent-run.ts'
import { type LcTool, type LcToolCall, loadMessages } from './lang-chain.ts'
import { type Made, messageIn, messageOf, runTool } from './tool-call.ts'

type Invoke = (input: unknown, ...more: unknown[]) => unknown

/** Both run a tool: the second is what the first comes to, and still called by itself. */
const WAYS = ['invoke', 'call'] as const

type Way = (typeof WAYS)[number]

const seen = new WeakSet<object>()

/**
 * A tool that calls others of the agent by itself, as one does that runs a program of the model's, asks no middleware: its
 * calls are seen at the tools. They are left as they are everywhere else, as where LangGraph calls them.
 */
export function seeInnerCalls(tools: readonly LcTool[]): void {
  for (const tool of tools) {
    if (seen.has(tool)) continue
    seen.add(tool)
    for (const way of WAYS) seeWay(tool as LcTool & Partial<Record<Way, Invoke>>, way)
  }
}

function seeWay(tool: LcTool & Partial<Record<Way, Invoke>>, way: Way): void {
  const invoke = tool[way]
  if (typeof invoke !== 'function' || isLocked(tool, way)) return
  replace(tool, way, function (this: unknown, input, ...more) {
    const outer = toolAtWork()
    const own = (given: unknown) => invoke.call(this, given, ...more)
    if (outer === undefined || outer === tool.name) return own(input)
    const { name = 'unnamed' } = tool
    if (!isToolCall(input)) return callInner(tool, { name, args: input }, false, own)
    return callInner(tool, { ...input, name }, true, (args) => own({ ...input, args }))
  })
}

/** Whoever hands over one wants a message back, as a graph does whose model has asked for it. */
function isToolCall(input: unknown): input is LcToolCall {
  return isRecord(input) && input.type === 'tool_call'
}

/** @returns what the tool gave, or who decided. @throws what it threw, or why it was refused where no message is wanted. */
async function callInner(
  tool: LcTool,
  asked: LcToolCall,
  wantsMessage: boolean,
  invoke: (args: unknown) => unknown,
): Promise<unknown> {
  const { description, schema } = tool
  const calls = currentCalls()
  if (calls === undefined) return invoke(asked.args)
  const call = calls.openToolCall<unknown, unknown>({
    apiName: asked.name,
    args: asked.args,
    // The tool that makes it is at work, and cannot be left and gone on with.
    parkable: false,
    ...defined({
      toolCallId: asked.id,
      description: typeof description === 'string' ? description : undefined,
      inputSchema: isRecord(schema) ? schema : undefined,
    }),
  })
  const decision = await call.decided
  const request = { toolCall: asked, tool }
  const { outcome, message, thrown }: Made =
    decision.state === 'run'
      ? await runTool(call, request, ({ toolCall }) => invoke(toolCall.args))
      : { outcome: decision }
  if (thrown !== undefined) throw thrown
  if (outcome.state === 'errored') throw outcome.error
  if (wantsMessage || ('result' in outcome && messageIn(message, request) !== undefined))
    return messageOf(await loadMessages(), request, outcome, message)
  if ('result' in outcome) return outcome.result
  throw new Error(outcome.toToolMessage().content)
}
