import type { Agent } from '../agent/index.ts'
import { assertOptions } from '../agent/validate.ts'
import { HookDispatcher } from '../dispatcher/index.ts'
import { DISPATCHER } from '../dispatcher/is-dispatcher.ts'
import { assertApprover } from '../gates/approver.ts'
import { assertGates } from '../gates/gate.ts'
import { assertHook } from '../hooks/agent-hook.ts'
import { HookspanError } from '../internal/errors.ts'
import { a, assertFields, expected, type Fields, required } from '../internal/expect.ts'
import { defined } from '../internal/objects.ts'
import type { AgentRunOptions, DurableInput } from './agent-run.ts'
import type { LiveLoopOptions } from './loop/live-loop.ts'
import type { DurableLoop } from './loop-run.ts'

/** What durable agents have in common, whatever engine runs them. */
export interface DurableAgentOptions extends Omit<AgentRunOptions, 'agent'> {
  /** What the engine calls it. Runs that are under way are found by it: keep it. */
  name: string
  /** What `execAgent` runs, or a loop of one's own, that is given the run and its input. */
  agent: Agent | DurableLoop
  /**
   * Milliseconds from the beginning of a run, waits for humans included, after which it ends with reason `interrupted`; counted
   * by the engine, over processes that come and go. Minimum 1.
   *
   * @default no limit
   */
  maxDurationMs?: number
  /**
   * Of a loop of one's own, or of an SDK: names of tools that may be run again when nobody knows what came of them. A call that says
   * `idempotent` itself is not looked up here.
   *
   * @default []: the model is told `execution_unknown`
   */
  idempotentTools?: readonly string[]
  /** Milliseconds between looks at the approvals that runs of this process wait for. Minimum 1. @default 500 */
  pollMs?: number
}

export const DURABLE_FIELDS: Fields<DurableAgentOptions> = {
  name: required(a.name),
  agent: required(a.value),
  maxDurationMs: a.milliseconds,
  idempotentTools: a.list,
  pollMs: a.milliseconds,
  client: a.value,
  hooks: a.list,
  gates: a.value,
  dispatcher: DISPATCHER,
  approver: a.value,
  disable: a.list,
  onText: a.function,
  priceOf: a.function,
}

const INPUT: Fields<DurableInput> = {
  prompt: a.string,
  messages: a.list,
  userId: a.string,
  conversationId: a.string,
  traceparent: a.string,
  attributes: a.object,
}

/** What a run of the agent needs, checked before there is one. @throws HookspanError `INVALID_OPTION`. */
export function agentRunOptions(agent: Agent, options: DurableAgentOptions): AgentRunOptions {
  if (options.idempotentTools !== undefined) {
    throw new HookspanError(
      'INVALID_OPTION',
      `\`idempotentTools\` of durable agent "${options.name}" is for loops: a tool of an agent says \`idempotent: true\` itself.`,
    )
  }
  const { client, hooks, gates, dispatcher, approver, disable, onText, priceOf } = options
  const given = { client, hooks, gates, dispatcher, approver, disable, onText, priceOf, agent }
  const run = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
  assertHooksOf(options)
  assertOptions({ ...run, agent, prompt: 'what a run is asked comes with the run' })
  return run as unknown as AgentRunOptions
}

/** Said when the agent is made, and not when its first run begins. */
function assertHooksOf({ hooks = [], dispatcher }: DurableAgentOptions): void {
  for (const hook of (dispatcher ?? new HookDispatcher()).namedHooks.resolve(hooks)) assertHook(hook)
}

/** The same for a loop of one's own. @throws HookspanError `INVALID_OPTION`. */
export function loopOptions(options: DurableAgentOptions): Omit<LiveLoopOptions, 'dispatcher'> {
  const { name, client, onText, approver, hooks, gates, dispatcher, disable, priceOf } = options
  const { idempotentTools } = options
  if (client !== undefined || onText !== undefined) {
    const which = client === undefined ? 'onText' : 'client'
    throw new HookspanError(
      'INVALID_OPTION',
      `\`${which}\` of durable agent "${name}" is for agents that execAgent runs: a loop of your own calls its model itself.`,
    )
  }
  assertHooksOf(options)
  if (gates !== undefined) assertGates(gates)
  const asks = typeof approver === 'function' ? { requestApproval: approver } : approver
  if (asks !== undefined) assertApprover(asks, `durable agent "${name}"`, 'INVALID_OPTION')
  const named = hooks && (dispatcher ?? new HookDispatcher()).namedHooks.resolve(hooks)
  return {
    agentName: name,
    ...defined({ approver: asks, hooks: named, gates, dispatcher, disable, priceOf, idempotentTools }),
  } as Omit<LiveLoopOptions, 'dispatcher'>
}

/** @throws HookspanError `INVALID_OPTION` for a run that can never be begun. */
export function durableInput(name: string, input: unknown): DurableInput {
  if (typeof input !== 'object' || input === null) {
    throw expected(`the input of durable agent "${name}" to be an object with a \`prompt\``, input)
  }
  assertFields<DurableInput>(input, INPUT, `the input of durable agent "${name}"`)
  const { prompt, messages = [] }: DurableInput = input
  if (prompt !== undefined || messages.length > 0) return input
  throw new HookspanError(
    'INVALID_OPTION',
    `The input of durable agent "${name}" needs a \`prompt\` or \`messages\`.`,
  )
}
