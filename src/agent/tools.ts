import type { Step } from '../dispatcher/index.ts'
import { type Gate, requireApproval } from '../gates/index.ts'
import { describeValue } from '../internal/errors.ts'
import { asObject, parseArguments } from '../wire/reading.ts'
import type { ToolDefinition } from './model-api.ts'
import type { ModelToolCall } from './run-state.ts'
import type { AgentTool, JsonSchema } from './types.ts'

const NO_ARGUMENTS: JsonSchema = { type: 'object', properties: {} }

/** The tools of one run, sub-agents among them. */
export class Toolbox {
  readonly #tools: ReadonlyMap<string, AgentTool>
  readonly #maxResultBytes: number

  constructor(tools: readonly AgentTool[], maxResultBytes: number) {
    this.#tools = new Map(tools.map((tool) => [tool.name, tool]))
    this.#maxResultBytes = maxResultBytes
  }

  get definitions(): ToolDefinition[] {
    return [...this.#tools.values()].map(
      ({ name, description, parameters = NO_ARGUMENTS, strict = false }) => ({
        name,
        ...(description !== undefined && { description }),
        parameters,
        strict,
      }),
    )
  }

  /** Makes a call that the model asked for. Gives what the model is told, whatever happened; null when it waits. */
  async call(step: Step, call: ModelToolCall): Promise<string | null> {
    const tool = this.#tools.get(call.name)
    const outcome = await step.toolCall(
      {
        toolCallId: call.id,
        apiName: call.name || 'unnamed',
        identifier: tool?.identifier ?? 'local',
        source: tool?.source ?? 'local',
        args: parseArguments(call.arguments),
        ...(tool?.description !== undefined && { description: tool.description }),
        ...(tool?.parameters !== undefined && { inputSchema: tool.parameters }),
      },
      (args, context) => {
        if (tool === undefined) throw new Error(this.#unknown(call.name))
        return tool.execute(checkedArguments(call.name, args), context)
      },
    )
    if (outcome.state === 'waiting') return null
    return cut(outcome.toToolMessage().content, this.#maxResultBytes)
  }

  /**
   * Asks a human where a tool says so. Decides late, so that the human sees what would run. None where no tool does:
   * a gate costs each call more than its span.
   */
  approvalGates(operationId: () => string): Gate[] {
    const tools = [...this.#tools.values()]
    return tools.some(({ needsApproval }) => needsApproval) ? [this.#approvalGate(operationId)] : []
  }

  #approvalGate(operationId: () => string): Gate {
    return {
      id: 'needsApproval',
      point: 'beforeToolCall',
      priority: 1_000,
      decide: async (ctx) => {
        // Sub-agents inherit the gate, but their tools are their own.
        if (ctx.operationId !== operationId()) return undefined
        const { needsApproval = false, approval } = this.#tools.get(ctx.apiName ?? '') ?? {}
        // Not an object: the call is about to fail, and nobody needs to be asked.
        const args = asObject(ctx.payload)
        if (args === undefined) return undefined
        const asks = typeof needsApproval === 'function' ? await needsApproval(args) : needsApproval
        return asks ? requireApproval(approval) : undefined
      },
    }
  }

  #unknown(name: string): string {
    const known = [...this.#tools.keys()].join(', ')
    return `There is no tool ${describeValue(name)}. ${known === '' ? 'There are no tools.' : `Known: ${known}.`}`
  }
}

function checkedArguments(name: string, args: unknown): Record<string, unknown> {
  const object = asObject(args)
  if (object !== undefined) return object
  throw new Error(`The arguments of "${name}" are not a JSON object: ${describeValue(args)}.`)
}

/** At most so many bytes of UTF-8, saying how much is missing. */
function cut(text: string, maxBytes: number): string {
  // A character takes at most 3 bytes per UTF-16 unit.
  if (text.length * 3 <= maxBytes) return text
  const bytes = Buffer.byteLength(text)
  if (bytes <= maxBytes) return text
  const head = Buffer.from(text.slice(0, maxBytes))
    .subarray(0, maxBytes)
    .toString()
    .replace(/\uFFFD$/, '')
  return `${head}\n[cut off: ${bytes} bytes in all, the first ${maxBytes} are shown]`
}
