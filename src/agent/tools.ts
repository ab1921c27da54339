import { isAsyncGenerator } from '../dispatcher/calls/read-generator.ts'
import type { Step } from '../dispatcher/index.ts'
import { type Gate, requireApproval } from '../gates/index.ts'
import { describeValue } from '../internal/errors.ts'
import { yesOrNo } from '../internal/expect.ts'
import { asObject, parseArguments } from '../wire/reading.ts'
import type { RunCheckpoint } from './checkpoint/run-checkpoint.ts'
import type { ToolDefinition } from './model-api.ts'
import type { ModelToolCall } from './run-state.ts'
import { type Told, toldOf } from './tool-media.ts'
import type { AgentTool, JsonSchema } from './types.ts'

const NO_ARGUMENTS: JsonSchema = { type: 'object', properties: {} }

/** What came of a call. */
export interface CalledTool {
  /** What the model is told, whatever happened; null when the call waits. */
  readonly told: Told | null
  /** Where its tool was to run, and the run is kept. */
  readonly idempotencyKey?: string
}

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

  /** Makes a call that the model asked for. */
  async call(step: Step, call: ModelToolCall, checkpoint?: RunCheckpoint): Promise<CalledTool> {
    const tool = this.#tools.get(call.name)
    let idempotencyKey: string | undefined
    const outcome = await step.toolCall(
      {
        toolCallId: call.id,
        apiName: call.name || 'unnamed',
        identifier: tool?.identifier ?? 'local',
        source: tool?.source ?? 'local',
        args: parseArguments(call.arguments),
        ...(tool?.description !== undefined && { description: tool.description }),
        ...(tool?.parameters !== undefined && { inputSchema: tool.parameters }),
        ...(tool?.idempotent && { idempotent: true }),
      },
      (args, context) => {
        if (tool === undefined) throw new Error(this.#unknown(call.name))
        const checked = checkedArguments(call.name, args)
        if (checkpoint === undefined) return tool.execute(checked, context)
        idempotencyKey = context.idempotencyKey
        return runKept(checkpoint, () => tool.execute(checked, context))
      },
    )
    if (outcome.state === 'waiting') return { told: null }
    const told = toldOf(outcome, this.#maxResultBytes)
    return { told, ...(idempotencyKey !== undefined && { idempotencyKey }) }
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
        const asks =
          typeof needsApproval === 'function'
            ? yesOrNo(await needsApproval(args), `\`needsApproval\` of tool "${ctx.apiName}"`)
            : needsApproval
        return asks ? requireApproval(approval) : undefined
      },
    }
  }

  #unknown(name: string): string {
    const known = [...this.#tools.keys()].join(', ')
    return `There is no tool ${describeValue(name)}. ${known === '' ? 'There are no tools.' : `Known: ${known}.`}`
  }
}

/** That the tool is at work is kept before it is. A generator, as the tool may be one: what it yields is passed on. */
async function* runKept(checkpoint: RunCheckpoint, run: () => unknown): AsyncGenerator<unknown, unknown> {
  await checkpoint.begin()
  const value = run()
  return isAsyncGenerator(value) ? yield* value : await value
}

function checkedArguments(name: string, args: unknown): Record<string, unknown> {
  const object = asObject(args)
  if (object !== undefined) return object
  throw new Error(`The arguments of "${name}" are not a JSON object: ${describeValue(args)}.`)
}
