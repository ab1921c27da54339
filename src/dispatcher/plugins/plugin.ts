import { assertGates } from '../../gates/gate.ts'
import type { Approver, Gate } from '../../gates/index.ts'
import { assertHooks } from '../../hooks/agent-hook.ts'
import type { AgentHook } from '../../hooks/index.ts'
import { describeValue, HookspanError } from '../../internal/errors.ts'
import type { Instrument } from './instrument.ts'
import type { StandIn } from './stand-in.ts'

/** Something that takes part in every operation of a dispatcher, now and later. */
export interface Plugin {
  /** Shown in reports. */
  name: string
  /** Takes this one out, and its place in the order, in one step: at no moment are there the gates of neither. */
  replaces?: Plugin
  hooks?: AgentHook[]
  gates?: Gate[]
  /** Asked when a gate answers `requireApproval`. The approver that was plugged in last is asked. */
  approver?: Approver
  /** What tracing needs: the beginning, the end and the context of every activity. */
  instrument?: Instrument
  /** Answers tool calls in the tools' place. The first stand-in that takes a call keeps it. */
  standIn?: StandIn
  /** Told of the dispatcher that uses it, so that it can end what is open when the process ends. */
  attached?(dispatcher: { interruptAll(): void }): void
}

/** @throws HookspanError `INVALID_PLUGIN`, `INVALID_HOOK` or `INVALID_GATE`. */
export function assertPlugin(plugin: unknown): asserts plugin is Plugin {
  if (typeof plugin !== 'object' || plugin === null) {
    throw new HookspanError('INVALID_PLUGIN', `Expected a plugin object, got ${describeValue(plugin)}.`)
  }
  const { name, hooks, gates, approver, instrument, standIn } = plugin as Partial<Plugin>
  if (typeof name !== 'string' || name === '') {
    throw new HookspanError(
      'INVALID_PLUGIN',
      `Expected \`name\` of the plugin to be a non-empty string, got ${describeValue(name)}.`,
    )
  }
  if (hooks !== undefined) assertHooks(hooks, `plugin "${name}"`)
  if (gates !== undefined) assertGates(gates)
  if (approver !== undefined && typeof approver.requestApproval !== 'function') {
    throw new HookspanError('INVALID_PLUGIN', `The approver of plugin "${name}" has no requestApproval().`)
  }
  if (instrument !== undefined && typeof instrument.start !== 'function') {
    throw new HookspanError('INVALID_PLUGIN', `The instrument of plugin "${name}" has no start().`)
  }
  if (standIn !== undefined && typeof standIn !== 'function') {
    throw new HookspanError(
      'INVALID_PLUGIN',
      `Expected \`standIn\` of plugin "${name}" to be a function, got ${describeValue(standIn)}.`,
    )
  }
}
