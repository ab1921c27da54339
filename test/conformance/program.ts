/** For `node --import`: what a program's dispatchers trace is written to the folder HOOKSPAN_SEEN as the program ends. */
import { writeFileSync } from 'node:fs'
import { HookDispatcher } from 'hookspan'
import { traceHooks } from 'hookspan/tracing'
import { watchDispatchers } from './watch.ts'

const folder = process.env.HOOKSPAN_SEEN
if (folder !== undefined) {
  const seen = watchDispatchers({ HookDispatcher, traceHooks })
  process.on('exit', () => writeFileSync(`${folder}/${process.pid}.json`, JSON.stringify(seen.take())))
}
