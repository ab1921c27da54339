import { type FSWatcher, readFileSync, statSync, watch } from 'node:fs'
import { dirname } from 'node:path'
import type { HookDispatcher, Plugin } from '../../dispatcher/index.ts'
import { assertDispatcher } from '../../dispatcher/is-dispatcher.ts'
import { errorMessage } from '../../internal/errors.ts'
import { a, assertFields, type Fields } from '../../internal/expect.ts'
import { LOAD_FIELDS, type LoadConfigOptions, type LoadedConfig, loadConfig } from './load.ts'
import { configError } from './source.ts'

export interface UseConfigOptions extends LoadConfigOptions {
  /** Loads the files again when they change. One that is wrong then changes nothing and is reported. @default false */
  watch?: boolean
  /** Told of a reload that failed. @default console.warn */
  onError?: (error: unknown) => void
  onReload?: (config: LoadedConfig) => void
}

const FIELDS: Fields<UseConfigOptions> = {
  ...LOAD_FIELDS,
  watch: a.boolean,
  onError: a.function,
  onReload: a.function,
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
  assertDispatcher(dispatcher, 'useConfig')
  assertFields<UseConfigOptions>(options, FIELDS, 'useConfig')
  const { watch: watches, onError, onReload, ...load } = options
  const report =
    onError ?? ((error) => console.warn(`[hookspan] the config was not reloaded: ${errorMessage(error)}`))
  let current = await loadConfig(load)
  let used = current.plugin
  let inUse = dispatcher.use(used)
  const watchers: FSWatcher[] = []
  let timer: NodeJS.Timeout | undefined
  const reload = async (): Promise<LoadedConfig> => {
    for (const file of current.files) assertThere(file)
    const next = await loadConfig(load)
    const plugin: Plugin = { ...next.plugin, replaces: used }
    inUse = dispatcher.use(plugin)
    // Or each would hold all those before.
    delete plugin.replaces
    used = plugin
    current = next
    onReload?.(next)
    return next
  }
  if (watches === true) {
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

/** A file that is moved away or half written takes no guard with it. */
function assertThere(file: string): void {
  const there = statSync(file, { throwIfNoEntry: false })?.isFile() === true
  if (there && readFileSync(file, 'utf8').trim() !== '') return
  const what = there ? 'is empty now' : 'is gone'
  throw configError(
    file,
    undefined,
    `the file ${what}; what was in it stays. To remove it, write \`gates: []\`.`,
  )
}
