import type { Approver, Gate } from '../../gates/index.ts'
import { registeredGates } from '../../gates/registered-gate.ts'
import type { AgentHook } from '../../hooks/index.ts'
import { HookspanError } from '../../internal/errors.ts'
import type { Instrument } from './instrument.ts'
import { assertPlugin, type Plugin } from './plugin.ts'
import type { StandIn } from './stand-in.ts'

/** A plugin's hook with its place in the order of registration. */
export interface GlobalHook {
  readonly hook: AgentHook
  readonly order: number
}

/** The plugins of a dispatcher, and what they bring, put together when they change and not when an event comes. */
export class PluginSet {
  readonly #nextOrder: () => number
  #plugins: readonly Plugin[] = []
  /** What each brought when it was taken: its lists are its maker's, and a guard must not be gone with them. */
  readonly #brought = new WeakMap<Plugin, Pick<Plugin, 'gates' | 'hooks'>>()
  instruments: readonly Instrument[] = []
  hooks: readonly GlobalHook[] = []
  gates: readonly Gate[] = []
  standIns: readonly StandIn[] = []
  approver: Approver | undefined

  constructor(nextOrder: () => number) {
    this.#nextOrder = nextOrder
  }

  get all(): readonly Plugin[] {
    return [...this.#plugins]
  }

  get size(): number {
    return this.#plugins.length
  }

  /** @throws HookspanError `INVALID_PLUGIN`, `INVALID_HOOK`, `INVALID_GATE`, `DUPLICATE_HOOK`. */
  add(plugin: Plugin): void {
    assertPlugin(plugin)
    if (this.#plugins.includes(plugin)) {
      throw new HookspanError(
        'INVALID_PLUGIN',
        `Plugin "${plugin.name}" is already in use. Dispose it first.`,
      )
    }
    const { gates = [], hooks = [] } = plugin
    this.#brought.set(plugin, { gates: registeredGates(gates), hooks: hooks.slice() })
    const isReplaced = replacedBy(plugin)
    const at = this.#plugins.findIndex(isReplaced)
    const others = this.#plugins.filter((other, index) => index === at || !isReplaced(other))
    this.#set(at < 0 ? [...others, plugin] : others.with(at, plugin))
  }

  remove(plugin: Plugin): void {
    this.#set(this.#plugins.filter((other) => other !== plugin))
  }

  /** Globs of tools that are mocked. */
  mockedTools(): readonly string[] {
    return this.#plugins.flatMap((plugin) => plugin.standsInFor?.() ?? [])
  }

  #set(plugins: readonly Plugin[]): void {
    const orders = new Map(this.hooks.map(({ hook, order }) => [hook, order]))
    this.#plugins = plugins
    this.instruments = plugins.flatMap((plugin) => plugin.instrument ?? [])
    this.gates = plugins.flatMap((plugin) => this.#brought.get(plugin)?.gates ?? [])
    this.standIns = plugins.flatMap((plugin) => plugin.standIn ?? [])
    this.approver = plugins.findLast((plugin) => plugin.approver)?.approver
    this.hooks = plugins
      .flatMap((plugin) => this.#brought.get(plugin)?.hooks ?? [])
      .map((hook) => ({ hook, order: orders.get(hook) ?? this.#nextOrder() }))
  }
}

function replacedBy({ replaces }: Plugin): (other: Plugin) => boolean {
  return typeof replaces === 'function' ? replaces : (other) => other === replaces
}
