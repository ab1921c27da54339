import { thisBun, watchBun } from './bun-modules.ts'
import { projectHasConfig } from './has-config.ts'
import { type OnLoaded, watchModules } from './module-hooks.ts'
import { requireOwn } from './require-own.ts'
import type * as Runtime from './runtime.ts'

/**
 * Loaded when the program loads the first package that can be attached, in the middle of that: most processes below a
 * program never do, and are to start as fast as without us.
 */
const runtime = (): typeof Runtime => requireOwn('./runtime.js')

// A guard that cannot start must not be missing: then the program does not start either.
if (projectHasConfig()) await runtime().useProjectConfig()
const onLoaded: OnLoaded = (loaded) => runtime().attachLoaded(loaded)
const bun = thisBun()
if (bun === undefined) watchModules(onLoaded)
else watchBun(bun, onLoaded)
