import Module from 'node:module'
import { GUARDED, LOADED, REFUSED } from '../internal/run-report.ts'
import { isExecutable, thisBun, watchBun } from './bun-modules.ts'
import { watchRequests } from './handled-requests.ts'
import { projectHasConfig } from './has-config.ts'
import { noteHeardSignals, stopWithRun } from './heard-signals.ts'
import { NOT_CAPABLE, type OnLoaded, watchModules } from './module-hooks.ts'
import { report } from './report.ts'
import { requireOwn } from './require-own.ts'
import type * as Runtime from './runtime.ts'
import { tell } from './tell.ts'

/**
 * Loaded when the program loads the first package that can be attached, in the middle of that: most processes below a
 * program never do, and are to start as fast as without us.
 */
const runtime = (): typeof Runtime => requireOwn('./runtime.js')

let isGuarded = false

const onLoaded: OnLoaded = (loaded) => {
  try {
    return runtime().attachLoaded(loaded)
  } catch (error) {
    if (!isGuarded || (error as { code?: unknown } | undefined)?.code === NOT_CAPABLE) throw error
    const message = `${loaded.name} could not be attached, and the hookspan.config.* of this project could not hold in it.`
    throw Object.assign(new Error(message, { cause: error }), { code: NOT_CAPABLE })
  }
}
const bun = thisBun()
const why =
  bun === undefined && typeof Module.registerHooks !== 'function'
    ? `this is Node ${process.versions.node}, and hookspan needs 22.15, 23.5 or newer`
    : bun === undefined && !process.features.require_module
      ? 'this Node runs without require() of ES modules (--no-experimental-require-module)'
      : undefined

/** Nothing in it can be attached, and it cannot load what guards need. Those of Claude Code hold in the process that has started it. */
const isSealed = bun !== undefined && isExecutable(bun)

/** A guard that cannot start must not be missing: then the program does not start either. */
async function holdGuards(): Promise<void> {
  isGuarded = projectHasConfig()
  if (!isGuarded || isSealed) return
  if (why !== undefined) throw new Error(`${why}: the hookspan.config.* of this project could not hold.`)
  await runtime().useProjectConfig()
}

await holdGuards().catch((error: unknown) => {
  report(REFUSED)
  throw error
})
report(LOADED)
noteHeardSignals()
stopWithRun()
if (isGuarded) report(GUARDED)
if (why !== undefined) tell(`${why}: nothing is attached.`)
else if (!isSealed) {
  watchRequests()
  if (bun === undefined) watchModules(onLoaded, (name) => runtime().missed(name))
  else watchBun(bun, onLoaded)
}
