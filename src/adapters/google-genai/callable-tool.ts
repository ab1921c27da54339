import { isMockedFailure, ToolResult, tellsFailure, wordsOf } from '../../dispatcher/calls/tool-outcome.ts'
import type { ToolCallInit } from '../../dispatcher/index.ts'
import { errorMessage } from '../../internal/errors.ts'
import { safeStringify } from '../../internal/json.ts'
import { isPlain, isRecord } from '../../internal/objects.ts'
import { asObject, type Loose } from '../../wire/reading.ts'
import type { SdkLoop } from '../sdk-loop/sdk-loop.ts'
import { withOwn } from '../sdk-loop/with-own.ts'
import { isToolFailure, ToolFailure } from '../tool-failure.ts'
import type { CallableTool, FunctionCall } from './types.ts'

export function isCallable(tool: unknown): tool is CallableTool {
  return typeof asObject(tool)?.callTool === 'function'
}

/** Tools whose calls are tool calls, one after the other. The SDK gives all calls of a turn to each of them. */
export function watchTools(tools: readonly unknown[], loop: SdkLoop): unknown[] {
  const callable = tools.filter(isCallable)
  return tools.map((tool) => (isCallable(tool) ? watchTool(tool, callable, loop) : tool))
}

function watchTool(tool: CallableTool, all: readonly CallableTool[], loop: SdkLoop): CallableTool {
  const isFirst = tool === all[0]
  return withOwn(tool, {
    async callTool(calls: readonly FunctionCall[]) {
      const declared = await declaredBy(tool)
      const parts: Loose[] = []
      for (const call of calls) {
        if (declared.has(call.name))
          parts.push(...(await callOne([tool], loop, call, declared.get(call.name))))
        // A name that the model made up is each tool's to answer, and one call.
        else if (isFirst && !(await isDeclared(call.name, all)))
          parts.push(...(await callOne(all, loop, call, undefined)))
      }
      loop.answered()
      return parts
    },
  })
}

/** The names, with what is said of them. */
async function declaredBy(tool: CallableTool): Promise<ReadonlyMap<string | undefined, string | undefined>> {
  const { functionDeclarations = [] } = await tool.tool()
  return new Map(functionDeclarations.map((one) => [one.name, one.description]))
}

async function isDeclared(name: string | undefined, tools: readonly CallableTool[]): Promise<boolean> {
  for (const tool of tools) if ((await declaredBy(tool)).has(name)) return true
  return false
}

async function callOne(
  tools: readonly CallableTool[],
  loop: SdkLoop,
  call: FunctionCall,
  description: string | undefined,
): Promise<readonly Loose[]> {
  const { id, name = 'unnamed' } = call
  let gave: readonly Loose[] = []
  let told: unknown
  const init: ToolCallInit<Loose> = {
    apiName: name,
    args: call.args ?? {},
    // The SDK waits for the tools that are at work.
    outlastsAbort: true,
    ...(id && { toolCallId: id }),
    ...(description && { description }),
  }
  const outcome = await loop.tool(init, async (args) => {
    const answers: Loose[] = []
    for (const tool of tools) answers.push(...(await tool.callTool([{ ...call, args }])))
    gave = answers
    if (answers.length === 0) throw new ToolFailure(NO_ANSWER)
    told = responseOf(gave)
    return resultOf(told)
  })
  if (outcome.state === 'completed' && outcome.result === told) return gave
  const answer = (response: Loose) => [{ functionResponse: { ...(id && { id }), name, response } }]
  if (outcome.state === 'errored') {
    const failed = isToolFailure(outcome.error)
    if (failed && (gave.length > 0 || errorMessage(outcome.error) === NO_ANSWER)) return gave
    if (failed || isMockedFailure(outcome)) return answer({ error: errorMessage(outcome.error) })
    throw outcome.error
  }
  const { content } = outcome.toToolMessage()
  if (!('result' in outcome)) return answer({ error: content })
  const { result } = outcome
  const words = wordsOf(outcome)
  const saysItself = isRecord(result) && isPlain(result)
  if (saysItself && (words === undefined || words === safeStringify(result))) return answer(result)
  return answer(tellsFailure(outcome) ? { error: content } : { output: content })
}

/**
 * As one that failed, where it says so. What is no more than the words of an error is thrown, as a tool throws; all else is a result,
 * which gates are asked about.
 */
function resultOf(told: unknown): unknown {
  const { error, ...more } = asObject(told) ?? {}
  if (error === undefined || error === null) return told
  if (typeof error === 'string' && Object.keys(more).length === 0) throw new ToolFailure(error)
  return new ToolResult({ content: safeStringify(told), success: false, data: told })
}

/** What a call is told with that has come to nothing: the model is told nothing. */
const NO_ANSWER = 'No tool has answered the call.'

/** What the model is told: of one answer the answer itself. */
function responseOf(parts: readonly Loose[]): unknown {
  const [first] = parts
  return parts.length === 1 ? (asObject(first?.functionResponse)?.response ?? parts) : parts
}
