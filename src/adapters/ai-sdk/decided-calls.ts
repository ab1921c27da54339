import { AsyncLocalStorage } from 'node:async_hooks'
import type { ToolCallDecision, ToolCallInit } from '../../dispatcher/index.ts'
import { defined, isRecord } from '../../internal/objects.ts'
import { currentCalls, type SafeCalls } from '../safe/calls.ts'
import type { SafeToolCall } from '../safe/tool-call.ts'
import type { ObservedRun } from '../sdk-run/observed-run.ts'
import { misfit } from './misfit.ts'
import type { ToldModel } from './perform-tool.ts'
import type { SdkTool } from './sdk.ts'

/** A call on its way from its decision to its tool. */
export interface DecidedCall {
  readonly name: string
  readonly call: SafeToolCall<unknown, unknown>
  readonly decision: ToolCallDecision<unknown, unknown>
  readonly input: unknown
  readonly toolCallId: string
  says(told: ToldModel, result: unknown): void
}

/** Whose tool is at work. */
const atWork = new AsyncLocalStorage<DecidedCalls>()

/** The tool calls of one call of the SDK, from where it asks whether they are approved to where it runs their tools. */
export class DecidedCalls {
  readonly #run: ObservedRun
  readonly #says: (decided: DecidedCall, told: ToldModel, result: unknown) => void
  /** Those that are not yet run, by the model's id: it may repeat. */
  readonly #waiting = new Map<string, DecidedCall[]>()

  constructor(run: ObservedRun, says: (decided: DecidedCall, told: ToldModel, result: unknown) => void) {
    this.#run = run
    this.#says = says
  }

  async decide(
    name: string,
    tool: SdkTool,
    input: unknown,
    toolCallId: string,
    refused?: ToolCallInit['refused'],
  ): Promise<DecidedCall> {
    // A tool that calls another one by itself.
    const within = atWork.getStore() === this ? currentCalls() : undefined
    const calls: SafeCalls = within ?? (await this.#run.calls())
    const { description } = tool
    const call = calls.openToolCall<unknown, unknown>({
      toolCallId,
      apiName: name,
      args: input,
      // `generateText` waits for tools that are at work; a stream that is aborted is over at once, and its run with it.
      outlastsAbort: true,
      // The tool that makes it is at work, and cannot be left and gone on with.
      ...(within !== undefined && { parkable: false }),
      ...defined({
        description: typeof description === 'string' ? description : undefined,
        inputSchema: schemaOf(tool.inputSchema),
        outputSchema: schemaOf(tool.outputSchema),
        refused,
      }),
    })
    const decision = await call.decided
    const wrong = decision.state === 'run' && (await misfit(tool.inputSchema, input, decision.args))
    const decided: DecidedCall = {
      name,
      call,
      decision: wrong ? await call.fail(wrong) : decision,
      input,
      toolCallId,
      says: (told, result) => this.#says(decided, told, result),
    }
    return decided
  }

  /** Runs a tool of theirs: what it calls by itself is a call within its own. */
  whileAtWork<T>(fn: () => T): T {
    return atWork.run(this, fn)
  }

  keep(decided: DecidedCall): void {
    const waiting = this.#waiting.get(decided.toolCallId) ?? []
    this.#waiting.set(decided.toolCallId, [...waiting, decided])
  }

  waiting(name: string): readonly DecidedCall[] {
    return [...this.#waiting.values()].flat().filter((one) => one.name === name)
  }

  /** A tool that calls another one may do so under its own id. */
  take(name: string, toolCallId: string, input?: unknown): DecidedCall | undefined {
    const waiting = this.#waiting.get(toolCallId) ?? []
    const named = waiting.filter((one) => one.name === name)
    const taken = named.find((one) => one.input === input) ?? named[0]
    if (taken === undefined) return undefined
    waiting.splice(waiting.indexOf(taken), 1)
    if (waiting.length === 0) this.#waiting.delete(toolCallId)
    return taken
  }
}

/** A JSON Schema or a Standard Schema, out of what the SDK takes as a schema. */
function schemaOf(schema: unknown): unknown {
  if ((typeof schema !== 'object' && typeof schema !== 'function') || schema === null) return undefined
  if ('~standard' in schema) return schema
  const { jsonSchema } = schema as { jsonSchema?: unknown }
  return isRecord(jsonSchema) && typeof jsonSchema.then !== 'function' ? jsonSchema : undefined
}
