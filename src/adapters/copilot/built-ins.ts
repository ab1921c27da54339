import { isDeepStrictEqual } from 'node:util'
import { saidOf, tellsFailure } from '../../dispatcher/calls/tool-outcome.ts'
import type { ToolCallInit } from '../../dispatcher/index.ts'
import { asName, asObject, type Loose } from '../../wire/reading.ts'
import type { SafeToolCall } from '../safe/tool-call.ts'
import type { ObservedRun } from '../sdk-run/observed-run.ts'
import type { AnnouncedCall, AnnouncedCalls, Naming } from './announced.ts'
import type { CopilotHooks, Hook } from './sdk.ts'
import type { SubAgent, SubAgents } from './sub-agents.ts'

/** Why a call did not come to its tool: whoever was to permit it did not, or it failed before. */
export type Unrun = NonNullable<ToolCallInit['refused']> | { readonly error: unknown }

/** The run that they belong to. */
interface Running {
  readonly run: ObservedRun
  readonly announced: AnnouncedCalls
  readonly agents: SubAgents
  /** Once all that Copilot has said so far is told. */
  readonly told: Promise<unknown>
  naming(name: string, announced: AnnouncedCall | undefined): Naming
  stopIfAsked(agent?: SubAgent): Promise<void>
  /** A call is told from now on. */
  asked(toolCallId: string | undefined): void
  /** Copilot has what it needs of a call. */
  ended(toolCallId: string | undefined): void
}

interface Asked {
  /** As Copilot has it. */
  readonly name: string
  /** The arguments as they were announced, and as they are by now. */
  readonly announced: unknown
  readonly args: unknown
  readonly agentId: string | undefined
  /** There is a tool by this name whose code is here. */
  readonly isOwn: boolean
  /** Whether anybody may have something to say. */
  isGuarded(): boolean
}

interface Open {
  readonly agentId: string | undefined
  readonly agent: SubAgent | undefined
  readonly id: string | undefined
  readonly call: SafeToolCall<unknown, unknown>
  /** As Copilot has it. */
  readonly name: string
  /** As they are run. */
  readonly args: unknown
}

/**
 * The tools that are not run here, but by Copilot in its own process, or by whoever answers for one that has no handler. Copilot's
 * hooks do not say which call they are about, so a call is known by its name and arguments; of two that are the same it makes no
 * difference which is taken for which.
 */
export class BuiltIns {
  readonly #run: Running
  #open: Open[] = []

  constructor(run: Running) {
    this.#run = run
  }

  /** @param agentId of an agent that Copilot has called, where the call is not the session's own. */
  async before({ name, announced, args, agentId, isOwn, isGuarded }: Asked): Promise<Loose> {
    const told = await this.#run.announced.take(agentId, name, announced)
    // It is decided on where it runs. What an MCP server has by the same name, Copilot calls in its place.
    if (isOwn && told?.onServer === undefined) return {}
    if (told === undefined && isGuarded()) return UNTOLD
    const agent = await this.#run.agents.of(agentId)
    const toolCallId = told?.id
    this.#run.asked(toolCallId)
    await this.#run.told
    const calls = agent?.calls() ?? (await this.#run.run.calls())
    const call = calls.openToolCall<unknown, unknown>({
      ...this.#run.naming(name, told),
      args,
      // What Copilot runs by itself is not asked for again when its session goes on.
      parkable: false,
      mockable: false,
      ...(toolCallId !== undefined && { toolCallId }),
    })
    const decision = await call.decided
    await this.#run.stopIfAsked(agent)
    if (decision.state === 'run') {
      let runs = decision.args
      if (name === 'task') {
        const task = asObject(runs) ?? {}
        const called = await this.#run.agents.called(agent, toolCallId ?? '', task)
        await this.#run.stopIfAsked()
        if ('refused' in called) {
          await call.refuse({ reason: called.refused })
          this.#run.ended(toolCallId)
          return { permissionDecision: 'deny', permissionDecisionReason: called.refused }
        }
        if (called.instruction !== (task.prompt ?? '')) runs = { ...task, prompt: called.instruction }
      }
      this.#open.push({ agentId, agent, id: toolCallId, call, name, args: runs })
      return runs === args || isDeepStrictEqual(runs, args) ? {} : { modifiedArgs: runs }
    }
    this.#run.ended(toolCallId)
    const reason = decision.state === 'errored' ? String(decision.error) : decision.toToolMessage().content
    return { permissionDecision: 'deny', permissionDecisionReason: reason }
  }

  async after(name: string, args: unknown, result: Loose, agentId?: string): Promise<Loose> {
    const open = this.#take(name, args, agentId)
    if (open === undefined) return {}
    const said = result.textResultForLlm
    const outcome = await open.call.settle(said)
    this.#run.ended(open.id)
    await this.#run.stopIfAsked(open.agent)
    const changed = saidOf(outcome)
    if (changed === said) return {}
    const text = typeof changed === 'string' ? changed : JSON.stringify(changed)
    const failed = tellsFailure(outcome) && { resultType: 'failure' }
    return { modifiedResult: { ...result, textResultForLlm: text, ...failed } }
  }

  async failed(name: string, args: unknown, error: string, agentId?: string): Promise<void> {
    const open = this.#take(name, args, agentId)
    await open?.call.fail(new Error(error))
    this.#run.ended(open?.id)
  }

  /** Copilot has answered it in the place of the tool. Gives whether it was one of these. */
  async unrun(id: string | undefined, agentId: string | undefined, why: Unrun): Promise<boolean> {
    const open = this.#open.find((one) => one.id === id && one.agentId === agentId)
    if (open === undefined) return false
    this.#open = this.#open.filter((one) => one !== open)
    if ('error' in why) await open.call.fail(why.error)
    else await open.call.refuse(why)
    return true
  }

  #take(name: string, args: unknown, agentId: string | undefined): Open | undefined {
    const of = this.#open.filter((one) => one.name === name && one.agentId === agentId)
    const taken = of.find((one) => isDeepStrictEqual(one.args, args)) ?? of[0]
    this.#open = this.#open.filter((one) => one !== taken)
    return taken
  }

  /** Nothing comes any more: of these nobody was told how they ended, such as where the user did not permit them. */
  async over(agentId?: string): Promise<void> {
    const error = new Error('Copilot did not say how it ended.')
    const left = this.#open.filter((one) => agentId === undefined || one.agentId === agentId)
    this.#open = this.#open.filter((one) => !left.includes(one))
    // Those of turns before have ended with them.
    for (const { call } of left) await call.fail(error).catch(() => {})
  }
}

/** What is said to a call that nobody could decide on, where somebody was to. */
const refusal = (permissionDecisionReason: string) =>
  ({ permissionDecision: 'deny', permissionDecisionReason }) as const
const NOBODY = refusal('No run is under way that it belongs to, so that nobody could decide on it.')
const UNTOLD = refusal('Copilot did not say which tool it is, so that nobody could decide on it.')

/** The user's hooks, and behind them ours. */
export function withHooks(
  own: CopilotHooks = {},
  isOwnTool: (name: string) => boolean,
  current: () => BuiltIns | undefined,
  isGuarded: () => boolean,
): CopilotHooks {
  return {
    ...own,
    async onPreToolUse(input, invocation) {
      const given = (await saidBy(own.onPreToolUse, input, invocation)) ?? {}
      const name = asName(input.toolName) ?? ''
      const [called, isOwn] = [current(), isOwnTool(name)]
      if (called === undefined && !isOwn && isGuarded()) return { ...given, ...NOBODY }
      if (called === undefined || given.permissionDecision === 'deny') return given
      try {
        const { toolArgs: announced } = input
        const args = given.modifiedArgs ?? announced
        const agentId = agentOf(input, invocation)
        const ours = await called.before({ name, announced, args, agentId, isOwn, isGuarded })
        return { ...given, ...ours }
      } catch (error) {
        return refusal(String(error))
      }
    },
    async onPostToolUse(input, invocation) {
      const given = (await saidBy(own.onPostToolUse, input, invocation)) ?? {}
      const name = asName(input.toolName) ?? ''
      const result = asObject(given.modifiedResult) ?? asObject(input.toolResult) ?? {}
      const ours = await current()?.after(name, input.toolArgs, result, agentOf(input, invocation))
      return { ...given, ...ours }
    },
    async onPostToolUseFailure(input, invocation) {
      const given = await saidBy(own.onPostToolUseFailure, input, invocation)
      const name = asName(input.toolName) ?? ''
      const error = asName(input.error) ?? 'the tool failed'
      await current()?.failed(name, input.toolArgs, error, agentOf(input, invocation))
      return given
    },
  }
}

/** The SDK takes a hook that throws for one that says nothing: ours have their say all the same. */
async function saidBy(own: Hook | undefined, input: Loose, invocation: unknown): Promise<Loose | undefined> {
  try {
    return asObject(await own?.(input, invocation))
  } catch {
    return undefined
  }
}

/** Set where it is none of the session's own calls. */
function agentOf({ sessionId: of }: Loose, invocation: unknown): string | undefined {
  return of === asObject(invocation)?.sessionId ? undefined : asName(of)
}
