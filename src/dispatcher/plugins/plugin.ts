import { assertApprover } from '../../gates/approver.ts'
import { assertGates } from '../../gates/gate.ts'
import type { Approver, Gate } from '../../gates/index.ts'
import { assertHooks } from '../../hooks/agent-hook.ts'
import type { AgentHook } from '../../hooks/index.ts'
import { a, assertFields, expected, type Fields, required, shape } from '../../internal/expect.ts'
import type { Instrument } from './instrument.ts'
import type { StandIn } from './stand-in.ts'

/** Something that takes part in every operation of a dispatcher, now and later. */
export interface Plugin {
  /** Shown in reports. */
  name: string
  /** Takes this one out, or all that it says, and its place in the order, in one step: at no moment are there the gates of neither. */
  replaces?: Plugin | ((plugin: Plugin) => boolean)
  hooks?: AgentHook[]
  gates?: Gate[]
  /** Asked when a gate answers `requireApproval`. The approver that was plugged in last is asked. */
  approver?: Approver
  /** What tracing needs: the beginning, the end and the context of every activity. */
  instrument?: Instrument
  /** Answers tool calls in the tools' place. The first stand-in that takes a call keeps it. */
  standIn?: StandIn
  /** Globs of the tools that `standIn` is meant for: one that runs where it would not be asked is refused. */
  standsInFor?(): readonly string[]
  /** Told of the dispatcher that uses it, so that it can end what is open when the process ends. */
  attached?(dispatcher: { interruptAll(): void }): void
}

const FIELDS: Fields<Plugin> = {
  name: required(a.name),
  replaces: shape('a plugin, or a function that tells which', (value) =>
    [a.object, a.function].some((one) => one.fits(value)),
  ),
  hooks: a.value,
  gates: a.value,
  approver: a.value,
  instrument: a.value,
  standIn: a.function,
  standsInFor: a.function,
  attached: a.function,
}

const INSTRUMENT: Fields<Instrument> = {
  start: required(a.function),
  onEvent: a.function,
  onRelease: a.function,
}

/** @throws HookspanError `INVALID_PLUGIN`, `INVALID_HOOK` or `INVALID_GATE`. */
export function assertPlugin(plugin: unknown): asserts plugin is Plugin {
  if (typeof plugin !== 'object' || plugin === null) {
    throw expected('a plugin object', plugin, 'INVALID_PLUGIN')
  }
  const { name, hooks, gates, approver, instrument } = plugin as Partial<Plugin>
  const whose = a.name.fits(name) ? `plugin "${name}"` : 'the plugin'
  assertFields<Plugin>(plugin, FIELDS, whose, 'INVALID_PLUGIN')
  if (hooks !== undefined) assertHooks(hooks, whose)
  if (gates !== undefined) assertGates(gates)
  if (approver !== undefined) assertApprover(approver, whose, 'INVALID_PLUGIN')
  if (instrument !== undefined) {
    assertFields<Instrument>(instrument, INSTRUMENT, `the instrument of ${whose}`, 'INVALID_PLUGIN')
  }
}
