import { HookDispatcher, type Plugin } from '../dispatcher/index.ts'
import { yieldToOthers } from '../dispatcher/yielding.ts'
import { isAskedFor } from '../internal/asked-for.ts'
import { RUN_SEEN } from '../internal/run-report.ts'
import type * as Policies from '../policies/index.ts'
import { attach } from './attach.ts'
import type { Loaded } from './module-hooks.ts'
import { report } from './report.ts'
import { requireOwn } from './require-own.ts'
import { RunBounds } from './run-bounds.ts'
import { tell } from './tell.ts'
import { endAtExit, tellAtExit } from './tell-at-exit.ts'
import { traceFirstRun } from './trace-first-run.ts'
import { guardsTools, UnaskedTools } from './unasked-tools.ts'
import { guardOf, notAttached } from './unattached.ts'
import { UnseenRequests } from './unseen-requests.ts'
import { guardWorkers } from './workers.ts'

/** What every SDK that the program loads is attached to. */
const dispatcher = new HookDispatcher()
const unseen = new UnseenRequests()
yieldToOthers(dispatcher, () => {
  report(RUN_SEEN)
  unseen.stop()
  tell(
    'what the program attaches by itself is left to its own dispatcher, and no hookspan.config.* holds there.',
  )
})
traceFirstRun(dispatcher, tellAtExit)
const bounds = new RunBounds(dispatcher)

endAtExit(bounds)

export function attachLoaded(loaded: Loaded): Loaded['exports'] | undefined {
  return attach(loaded, { dispatcher, bounds })
}

/** @throws HookspanError `NOT_CAPABLE` where guards were to hold in it. */
export function missed(name: string): void {
  notAttached(
    dispatcher,
    `${name} is not attached: it was loaded before hookspan, or by hooks that it cannot follow in this Node. Put --import=hookspan/register before what loads it.`,
  )
}

/** @throws HookspanError `INVALID_CONFIG`. */
export async function useProjectConfig(): Promise<void> {
  const { loadConfig } = requireOwn<typeof Policies>('../policies/index.js')
  const { plugin: whole } = await loadConfig()
  const plugin = withoutOwn(whole)
  dispatcher.use(plugin)
  if (guardOf(dispatcher) !== undefined) {
    dispatcher.use(unseen.plugin)
    unseen.start()
    if (process.versions.bun === undefined) guardWorkers()
  }
  if (!guardsTools(plugin)) return
  const unasked = new UnaskedTools()
  dispatcher.use(unasked.plugin)
  bounds.lookInto = unasked.lookInto
}

/** A command that asks a model would be asked about that, in a process that asks, without an end. */
function withoutOwn({ gates = [], hooks = [], ...plugin }: Plugin): Plugin {
  return {
    ...plugin,
    gates: gates.filter(({ id }) => !isAskedFor(id)),
    // Those of a command are named `ID:TYPE`.
    hooks: hooks.filter(({ id }) => !isAskedFor(id.replace(/:[^:]*$/, ''))),
  }
}
