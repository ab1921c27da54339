import type { StandIn } from '../../dispatcher/index.ts'
import type { Gate } from '../../gates/index.ts'
import type { AgentHook } from '../../hooks/index.ts'

/** What a gate type of the user's own is given. */
export interface GateTypeContext {
  /** The folder of the file that names it. */
  readonly folder: string
}

/** Makes a gate out of an entry. What it throws is an error of the config file. */
export interface GateType {
  /** The names of its options; any other one in a file is an error. `id`, `priority` and the like are known anyway. */
  readonly options: readonly string[]
  create(entry: Readonly<Record<string, unknown>> & { readonly id: string }, context: GateTypeContext): Gate
}

/** One entry of a file, of a module or of a run. */
export type ConfigEntry = Readonly<Record<string, unknown>> & {
  readonly id: string
  readonly type: string
  readonly enabled?: boolean
}

export interface ConfigLayer {
  readonly version?: 1
  readonly gates?: readonly (ConfigEntry | Gate)[]
  readonly hooks?: readonly (ConfigEntry | AgentHook)[]
  /** Ids of entries of the layers below that are not wanted. */
  readonly disable?: readonly string[]
}

export type LayerName = 'user' | 'project' | 'realm' | 'run'

/** What became of an entry. */
export interface LoadedEntry {
  readonly kind: 'gate' | 'hook'
  readonly id: string
  readonly type: string
  readonly layer: LayerName
  readonly file: string
  readonly line?: number
  /** False where it is disabled, by itself or by a layer above. */
  readonly active: boolean
  readonly gate?: Gate
  /** Several where an entry names several types of events. */
  readonly hooks?: readonly AgentHook[]
  /** Of `type: mock`. */
  readonly standIn?: StandIn
  /** The tools that it is meant for. */
  readonly standsInFor?: string
}

/** For typed config modules. */
export function defineConfig(config: ConfigLayer): ConfigLayer {
  return config
}
