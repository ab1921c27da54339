import { jsonIn } from '../../internal/json.ts'
import { defined } from '../../internal/objects.ts'
import { asName } from '../../wire/reading.ts'
import { patches } from './patches.ts'
import { currentFrame } from './place.ts'
import { type AnyTool, type Item, isFunctionTool, type Runner } from './sdk.ts'

/**
 * A shell, a patch and a computer are run by the SDK itself: nothing of ours comes between, so that a run in which somebody is
 * to decide on one is refused. Where nobody is, its calls are told, as the runner tells of them.
 */
export function watchOwnTools(runner: Runner): void {
  if (patches.has(runner) || typeof runner.on !== 'function' || typeof runner.off !== 'function') return
  const running = new WeakMap<object, (result: unknown) => void>()
  const begun = (_context: unknown, _agent: unknown, tool: AnyTool, { toolCall }: Details) => {
    const place = currentFrame()?.place
    if (place === undefined || toolCall === undefined || isFunctionTool(tool)) return
    const { name = tool.type } = tool
    const init = {
      ...{ apiName: name, args: operationOf(toolCall) },
      ...defined({ toolCallId: asName(toolCall.callId) }),
    }
    running.set(toolCall, place.ownCall(init))
  }
  const over = (
    _context: unknown,
    _agent: unknown,
    _tool: AnyTool,
    output: unknown,
    { toolCall }: Details,
  ) => {
    const tell = toolCall && running.get(toolCall)
    tell?.(typeof output === 'string' ? jsonIn(output, output) : output)
  }
  runner.on('agent_tool_start', begun as never)
  runner.on('agent_tool_end', over as never)
  patches.note(runner, () => {
    runner.off?.('agent_tool_start', begun as never)
    runner.off?.('agent_tool_end', over as never)
  })
}

/** What one of them is asked to do. */
export function operationOf({ action, actions = action, operation = actions }: Item): unknown {
  return operation
}

interface Details {
  readonly toolCall?: Item
}
