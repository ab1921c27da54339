import { statSync } from 'node:fs'
import type { HookDispatcher, Plugin } from '../../dispatcher/index.ts'
import { assertDispatcher } from '../../dispatcher/is-dispatcher.ts'
import { callBeside } from '../../internal/async.ts'
import { errorMessage, HookspanError } from '../../internal/errors.ts'
import { a, assertFields, type Fields } from '../../internal/expect.ts'
import {
  LOAD_FIELDS,
  type LoadConfigOptions,
  type LoadedConfig,
  loadConfig,
  loadConfigAgain,
} from './load.ts'
import { configError, STAYS } from './source.ts'
import { FileWatch } from './watch-files.ts'

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
  /**
   * Loads the files again now.
   *
   * @throws HookspanError `INVALID_CONFIG`; then what was active stays. `INVALID_STATE` once it is disposed.
   */
  reload(): Promise<LoadedConfig>
}

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
  const warn = (error: unknown) =>
    console.warn(`[hookspan] the config was not reloaded: ${errorMessage(error)}`)
  const report = (error: unknown) => callBeside(() => (onError ?? warn)(error), warn)
  let current = await loadConfig(load)
  let used = current.plugin
  let inUse = dispatcher.use(used)
  let disposed = false
  let last: Promise<unknown> = Promise.resolve()
  const assertInUse = () => {
    if (disposed) throw new HookspanError('INVALID_STATE', 'The config is not in use any more.')
  }
  const loadAgain = async (): Promise<LoadedConfig> => {
    assertInUse()
    for (const file of current.files) assertThere(file)
    const next = await loadConfigAgain(load, current)
    assertInUse()
    const plugin: Plugin = { ...next.plugin, replaces: used }
    inUse = dispatcher.use(plugin)
    // Or each would hold all those before.
    delete plugin.replaces
    used = plugin
    current = next
    callBeside(() => onReload?.(next), report)
    return next
  }
  // One after the other: what was read first must not be put in the place of what was read later.
  const reload = (): Promise<LoadedConfig> => {
    const next = last.then(loadAgain)
    last = next.catch(() => {})
    return next
  }
  const again = () => {
    reload().catch((error: unknown) => {
      if (!disposed) report(error)
    })
  }
  const watching = watches === true ? new FileWatch(() => current.files, again) : undefined
  return {
    get current() {
      return current
    },
    reload,
    [Symbol.dispose]() {
      disposed = true
      watching?.[Symbol.dispose]()
      inUse[Symbol.dispose]()
    },
  }
}

/** A file that is moved away takes no guard with it. */
function assertThere(file: string): void {
  if (statSync(file, { throwIfNoEntry: false })?.isFile() === true) return
  throw configError(file, undefined, `the file is gone; ${STAYS}`)
}
