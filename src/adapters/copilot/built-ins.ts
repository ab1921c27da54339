import { isDeepStrictEqual } from 'node:util'
import { asName, asObject, type Loose } from '../../wire/reading.ts'
import type { SafeToolCall } from '../safe/tool-call.ts'
import type { ObservedRun } from '../sdk-run/observed-run.ts'
import type { CopilotHooks } from './sdk.ts'

/** The run that they belong to. */
interface Running {
  readonly run: ObservedRun
  /** Once all that Copilot has said so far is told. */
  readonly told: Promise<unknown>
  stopIfAsked(): void
  /** Copilot has what it needs of a call. */
  ended(toolCallId: string | undefined): void
}

interface Open {
  readonly id: string | undefined
  readonly call: SafeToolCall<unknown, unknown>
  readonly name: string
  /** As they are run. */
  readonly args: unknown
}

/**
 * The tools that Copilot runs in its own process. Its hooks do not say which call they are about, so a call is known by its
 * name and arguments; of two that are the same it makes no difference which is taken for which.
 */
export class BuiltIns {
  readonly #run: Running
  /** Ids of calls that were announced, and not decided on yet. */
  readonly #started: { readonly id: string; readonly name: unknown; readonly args: unknown }[] = []
  readonly #open: Open[] = []

  constructor(run: Running) {
    this.#run = run
  }

  started({ toolCallId, toolName, arguments: args }: Loose): void {
    const id = asName(toolCallId)
    if (id !== undefined) this.#started.push({ id, name: toolName, args })
  }

  #idOf(name: string, args: unknown): string | undefined {
    const same = this.#started.findIndex((one) => one.name === name && isDeepStrictEqual(one.args, args))
    const at = same < 0 ? this.#started.findIndex((one) => one.name === name) : same
    return at < 0 ? undefined : this.#started.splice(at, 1)[0]?.id
  }

  async before(name: string, announced: unknown, args: unknown): Promise<Loose> {
    await this.#run.told
    const calls = await this.#run.run.calls()
    const toolCallId = this.#idOf(name, announced)
    const call = calls.openToolCall<unknown, unknown>({
      apiName: name,
      identifier: 'copilot',
      args,
      // What Copilot runs by itself is not asked for again when its session goes on.
      parkable: false,
      ...(toolCallId !== undefined && { toolCallId }),
    })
    const decision = await call.decided
    this.#run.stopIfAsked()
    if (decision.state === 'run') {
      this.#open.push({ id: toolCallId, call, name, args: decision.args })
      return decision.args === args || isDeepStrictEqual(decision.args, args)
        ? {}
        : { modifiedArgs: decision.args }
    }
    this.#run.ended(toolCallId)
    const reason =
      'result' in decision
        ? 'Something stands in for this tool, and Copilot runs it by itself: it was not run.'
        : decision.state === 'errored'
          ? String(decision.error)
          : decision.toToolMessage().content
    return { permissionDecision: 'deny', permissionDecisionReason: reason }
  }

  async after(name: string, args: unknown, result: Loose): Promise<Loose> {
    const open = this.#take(name, args)
    if (open === undefined) return {}
    const said = result.textResultForLlm
    const outcome = await open.call.settle(said)
    this.#run.ended(open.id)
    this.#run.stopIfAsked()
    const changed = 'result' in outcome ? outcome.result : outcome.toToolMessage().content
    if (changed === said) return {}
    const text = typeof changed === 'string' ? changed : JSON.stringify(changed)
    return { modifiedResult: { ...result, textResultForLlm: text } }
  }

  async failed(name: string, args: unknown, error: string): Promise<void> {
    const open = this.#take(name, args)
    await open?.call.fail(new Error(error))
    this.#run.ended(open?.id)
  }

  #take(name: string, args: unknown): Open | undefined {
    const same = this.#open.findIndex((one) => one.name === name && isDeepStrictEqual(one.args, args))
    const at = same < 0 ? this.#open.findIndex((one) => one.name === name) : same
    return at < 0 ? undefined : this.#open.splice(at, 1)[0]
  }

  /** Nothing comes any more: of these nobody was told how they ended, such as where the user did not permit them. */
  async over(): Promise<void> {
    const error = new Error('Copilot did not say how it ended.')
    // Those of turns before have ended with them.
    for (const { call } of this.#open.splice(0)) await call.fail(error).catch(() => {})
  }
}

/** The user's hooks, and behind them ours. */
export function withHooks(
  own: CopilotHooks = {},
  isOwnTool: (name: string) => boolean,
  current: () => BuiltIns | undefined,
): CopilotHooks {
  const builtIns = (name: string) => (isOwnTool(name) ? undefined : current())
  return {
    ...own,
    async onPreToolUse(input, invocation) {
      const given = asObject(await own.onPreToolUse?.(input, invocation)) ?? {}
      const name = asName(input.toolName) ?? ''
      const called = builtIns(name)
      if (called === undefined || given.permissionDecision === 'deny') return given
      try {
        const args = given.modifiedArgs ?? input.toolArgs
        return { ...given, ...(await called.before(name, input.toolArgs, args)) }
      } catch (error) {
        return { permissionDecision: 'deny', permissionDecisionReason: String(error) }
      }
    },
    async onPostToolUse(input, invocation) {
      const given = asObject(await own.onPostToolUse?.(input, invocation)) ?? {}
      const name = asName(input.toolName) ?? ''
      const result = asObject(given.modifiedResult) ?? asObject(input.toolResult) ?? {}
      const ours = await builtIns(name)?.after(name, input.toolArgs, result)
      return { ...given, ...ours }
    },
    async onPostToolUseFailure(input, invocation) {
      const given = await own.onPostToolUseFailure?.(input, invocation)
      const name = asName(input.toolName) ?? ''
      await builtIns(name)?.failed(name, input.toolArgs, asName(input.error) ?? 'the tool failed')
      return given
    },
  }
}
