import { defined, isRecord } from '../../internal/objects.ts'
import { isLocked, replace } from '../replace.ts'
import { currentCalls } from '../safe/calls.ts'
import { toolAtWork } from './agent-run.ts'
import { type LcTool, loadMessages } from './lang-chain.ts'
import { type Made, messageIn, messageOf, runTool } from './tool-call.ts'

type Invoke = (input: unknown, ...more: unknown[]) => unknown

const seen = new WeakSet<object>()

/**
 * A tool that calls others of the agent by itself, as one does that runs a program of the model's, asks no middleware: its
 * calls are seen at the tools. They are left as they are everywhere else, as where LangGraph calls them.
 */
export function seeInnerCalls(tools: readonly LcTool[]): void {
  for (const tool of tools) {
    if (typeof tool.invoke !== 'function' || seen.has(tool) || isLocked(tool, 'invoke')) continue
    seen.add(tool)
    const invoke = tool.invoke as Invoke
    replace(tool as { invoke: Invoke }, 'invoke', function (this: unknown, input, ...more) {
      const outer = toolAtWork()
      const own = (given: unknown) => invoke.call(this, given, ...more)
      if (outer === undefined || outer === tool.name || isToolCall(input)) return own(input)
      return callInner(tool, input, own)
    })
  }
}

/** What LangGraph hands over, and whoever wants a message back. */
function isToolCall(input: unknown): boolean {
  return isRecord(input) && input.type === 'tool_call'
}

/** @returns what the tool gave, or who decided. @throws what it threw, or why it was refused. */
async function callInner(tool: LcTool, args: unknown, invoke: (args: unknown) => unknown): Promise<unknown> {
  const { name = 'unnamed', description, schema } = tool
  const calls = currentCalls()
  if (calls === undefined) return invoke(args)
  const call = calls.openToolCall<unknown, unknown>({
    apiName: name,
    args,
    // The tool that makes it is at work, and cannot be left and gone on with.
    parkable: false,
    ...defined({
      description: typeof description === 'string' ? description : undefined,
      inputSchema: isRecord(schema) ? schema : undefined,
    }),
  })
  const decision = await call.decided
  const asked = { toolCall: { name, args }, tool }
  const { outcome, message, thrown }: Made =
    decision.state === 'run'
      ? await runTool(call, asked, ({ toolCall }) => invoke(toolCall.args))
      : { outcome: decision }
  if (thrown !== undefined) throw thrown
  if ('result' in outcome) {
    const isSaid = messageIn(message, asked) !== undefined
    return isSaid ? messageOf(await loadMessages(), asked, outcome, message) : outcome.result
  }
  throw outcome.state === 'errored' ? outcome.error : new Error(outcome.toToolMessage().content)
}
