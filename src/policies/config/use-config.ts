import { type FSWatcher, watch } from 'node:fs'
import { dirname } from 'node:path'
import type { HookDispatcher } from '../../dispatcher/index.ts'
import { errorMessage } from '../../internal/errors.ts'
import { type LoadConfigOptions, type LoadedConfig, loadConfig } from './load.ts'

export interface UseConfigOptions extends LoadConfigOptions {
  /** Loads the files again when they change. One that is wrong then changes nothing and is reported. @default false */
  watch?: boolean
  /** Told of a reload that failed. @default console.warn */
  onError?: (error: unknown) => void
  onReload?: (config: LoadedConfig) => void
}

export interface ConfigInUse extends Disposable {
  readonly current: LoadedConfig
  /** Loads the files again now. @throws HookspanError `INVALID_CONFIG`; then what was active stays. */
  reload(): Promise<LoadedConfig>
}

/** Editors write a file in several steps. */
const SETTLE_MS = 100

/**
 * Loads the config and plugs it into a dispatcher; runs under way get what is new from their next call on.
 *
 * @throws HookspanError `INVALID_CONFIG`.
 */
export async function useConfig(
  dispatcher: HookDispatcher,
  options: UseConfigOptions = {},
): Promise<ConfigInUse> {
  const report =
    options.onError ??
    ((error) => console.warn(`[hookspan] the config was not reloaded: ${errorMessage(error)}`))
  let current = await loadConfig(options)
  let inUse = dispatcher.use(current.plugin)
  const watchers: FSWatcher[] = []
  let timer: NodeJS.Timeout | undefined
  const reload = async (): Promise<LoadedConfig> => {
    const next = await loadConfig(options)
    // The new gates first: at no moment is there none.
    const added = dispatcher.use(next.plugin)
    inUse[Symbol.dispose]()
    inUse = added
    current = next
    options.onReload?.(next)
    return next
  }
  if (options.watch === true) {
    for (const folder of new Set(current.files.map((file) => dirname(file)))) {
      const watcher = watch(folder, { persistent: false }, (_event, name) => {
        if (!current.files.some((file) => file.endsWith(String(name)))) return
        clearTimeout(timer)
        timer = setTimeout(() => reload().catch(report), SETTLE_MS)
        timer.unref()
      })
      watcher.on('error', report)
      watchers.push(watcher)
    }
  }
  return {
    get current() {
      return current
    },
    reload,
    [Symbol.dispose]() {
      clearTimeout(timer)
      for (const watcher of watchers) watcher.close()
      inUse[Symbol.dispose]()
    },
  }
}
