import type { Gate } from '../../gates/index.ts'
import type { RunnableHook } from '../../hooks/agent-hook.ts'
import type { AgentHook } from '../../hooks/index.ts'
import type { PluginSet } from '../plugins/plugin-set.ts'
import type { StandIn } from '../plugins/stand-in.ts'
import { assertCapable } from './capabilities.ts'
import type { Disabled } from './disabled.ts'
import type { LiveParent, OperationInit } from './operation-init.ts'

/** What decides, or stands in, in a run that is about to start: its caller's, its own, the dispatcher's. */
export class RunGuards {
  readonly #plugins: PluginSet
  readonly #mockers: WeakSet<RunnableHook>

  /** `mockers`: hooks that have mocked before. */
  constructor(plugins: PluginSet, mockers: WeakSet<RunnableHook>) {
    this.#plugins = plugins
    this.#mockers = mockers
  }

  /** Whether there is anything of the kind. */
  decide({ gates = [], hooks = [], parent }: OperationInit): boolean {
    const { gates: plugged, standIns } = this.#plugins
    const all = [...gatesOf(parent), ...gates, ...plugged, ...standInsOf(parent), ...standIns]
    const mocks = (hook: AgentHook) => hook.mocks ?? this.#mockers.has(hook as never)
    return all.length > 0 || this.#withGlobal(hooks).some(mocks)
  }

  /** @throws HookspanError `NOT_CAPABLE` when a gate or a mock asks for what the runtime's adapter cannot do. */
  assertCapable({ adapter, gates = [], hooks = [], parent }: OperationInit, disabled: Disabled): void {
    if (adapter === undefined) return
    const { gates: plugged, standIns } = this.#plugins
    const inUse = plugged.filter((gate) => !disabled.gate(gate))
    const mocks =
      standIns.length + standInsOf(parent).length > 0 ||
      this.#withGlobal(hooks).some((hook) => hook.mocks === true && !disabled.hook(hook))
    assertCapable(adapter, [...gatesOf(parent), ...gates, ...inUse], mocks)
  }

  #withGlobal(hooks: readonly AgentHook[]): readonly AgentHook[] {
    return [...hooks, ...this.#plugins.hooks.map(({ hook }) => hook)]
  }
}

/** What a run inherits in the same process. */
export function callerOf(parent: OperationInit['parent']): LiveParent['live'] | undefined {
  const caller = parent && 'asParent' in parent ? parent.asParent() : parent
  return (caller as Partial<LiveParent> | undefined)?.live
}

function gatesOf(parent: OperationInit['parent']): readonly Gate[] {
  return callerOf(parent)?.gates() ?? []
}

function standInsOf(parent: OperationInit['parent']): readonly StandIn[] {
  return callerOf(parent)?.standIns() ?? []
}
