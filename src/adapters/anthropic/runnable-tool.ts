import { tellsFailure } from '../../dispatcher/calls/tool-outcome.ts'
import type { ToolCallInit, ToolOutcome, ToolRunContext } from '../../dispatcher/index.ts'
import { defined } from '../../internal/objects.ts'
import { asObject, asText, type Loose } from '../../wire/reading.ts'
import type { SdkLoop } from '../sdk-loop/sdk-loop.ts'
import { withOwn } from '../sdk-loop/with-own.ts'

/** A tool that a runner runs, or a set of them. */
interface Runnable {
  readonly name?: unknown
  readonly type?: unknown
  readonly description?: unknown
  readonly input_schema?: unknown
  run(first: unknown, second: unknown): unknown
  parse?(input: unknown): unknown
}

/** The runner that has the tools. */
export interface ToolPlace {
  begun(): Promise<SdkLoop>
  /** The SDK's own error of a tool, whose content becomes a result that says `is_error`. */
  readonly ToolError: new (
    content: string,
  ) => Error
}

/** What stands behind a watched tool: the next runner on the same thread has it, too. */
const originals = new WeakMap<object, Runnable>()

export function isRunnable(tool: unknown): tool is Runnable {
  return typeof asObject(tool)?.run === 'function'
}

/** What stands behind a list of watched tools. */
const lists = new WeakMap<object, readonly unknown[]>()

/**
 * Tools whose bodies run as tool calls. What the runner does not run itself stays as it is. The list is the user's own, seen
 * through: what is put into it, or taken out, while the runner is at work counts as it does without us.
 */
export function watchTools<T>(tools: readonly T[], place: ToolPlace): T[] {
  const own = (lists.get(tools) ?? tools) as readonly T[]
  const known = new WeakMap<object, Runnable>()
  const seen = (tool: unknown) => {
    if (!isRunnable(tool)) return tool
    const original = originals.get(tool) ?? tool
    const made = known.get(original) ?? watched(original, place)
    known.set(original, made)
    return made
  }
  // Nothing else may be seen in what is frozen.
  const target = Object.isFrozen(own) ? [...own] : (own as T[])
  const list = new Proxy(target, { get: (...asked) => seen(Reflect.get(...asked)) as T })
  lists.set(list, own)
  return list
}

function watched(tool: Runnable, place: ToolPlace): Runnable {
  // The name of a set is the dated type of all such sets, and what is called is one of its members.
  const isSet = /_toolset_\d+$/.test(asText(tool.type) ?? '')
  const own: Loose = { run: isSet ? runMember(tool, place) : runTool(tool, place) }
  // With the arguments that a gate made, and as part of the call: a call with wrong ones is in the trace, too.
  if (!isSet && tool.parse) own.parse = (input: unknown) => input
  const proxy = withOwn(tool, own)
  originals.set(proxy, tool)
  return proxy
}

function runTool(tool: Runnable, place: ToolPlace) {
  return async (args: unknown, context: unknown) => {
    const init = initOf(asObject(context)?.toolUse, asText(tool.name), args)
    return made(place, { ...init, ...schemaOf(tool) }, async (given, { signal }) => {
      const input = tool.parse ? tool.parse(given) : given
      return tool.run(input, { ...asObject(context), signal })
    })
  }
}

function runMember(toolset: Runnable, place: ToolPlace) {
  return async (context: unknown, toolUse: unknown) => {
    const use = asObject(toolUse)
    return made(place, initOf(use, undefined, use?.input), async (input, { signal }) => {
      const changed = { ...use, input }
      const told = { ...asObject(context), toolUse: changed, toolUseBlock: changed, signal }
      return toolset.run(told, changed)
    })
  }
}

function initOf(toolUse: unknown, name: string | undefined, args: unknown): ToolCallInit {
  const use = asObject(toolUse)
  const toolCallId = asText(use?.id)
  return {
    apiName: name ?? asText(use?.name) ?? 'unnamed',
    args,
    // The runner waits for the tools that are at work.
    outlastsAbort: true,
    ...defined({ toolCallId }),
  }
}

function schemaOf({ description, input_schema }: Runnable): Partial<ToolCallInit> {
  return defined({ description: asText(description), inputSchema: asObject(input_schema) })
}

async function made(
  place: ToolPlace,
  init: ToolCallInit,
  body: (args: unknown, context: ToolRunContext) => Promise<unknown>,
): Promise<unknown> {
  let gave: unknown
  const loop = await place.begun()
  const outcome = await loop.tool<unknown, unknown>(init, async (args, context) => {
    // The SDK begins no tool after an abort.
    context.signal?.throwIfAborted()
    gave = await body(args, context)
    return gave
  })
  return told(outcome, gave, place)
}

/** What the runner makes the tool's result of: what the tool gave, as long as nobody changed it. */
function told(outcome: ToolOutcome<unknown>, gave: unknown, { ToolError }: ToolPlace): unknown {
  if (outcome.state === 'errored') throw outcome.error
  if (!('result' in outcome) || tellsFailure(outcome)) throw new ToolError(outcome.toToolMessage().content)
  const { result, state } = outcome
  return isBlocks(result) || (state === 'completed' && result === gave)
    ? result
    : outcome.toToolMessage().content
}

/** What the API takes as the content of a result, beside text. */
const BLOCKS = new Set(['text', 'image', 'search_result', 'document', 'tool_reference', 'browser_state'])

/** A list of the tool's own things may have types as well, and one of nothing says that nothing was found. */
function isBlocks(result: unknown): boolean {
  return Array.isArray(result) && result.length > 0 && result.every((one) => BLOCKS.has(one?.type))
}
