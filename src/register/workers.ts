import { syncBuiltinESMExports } from 'node:module'
import type { Worker, WorkerOptions } from 'node:worker_threads'
import { userConfigFolder } from '../policies/config/names.ts'

const OWN = new URL('./index.js', import.meta.url).href

/**
 * Node preloads nothing in a worker that has options or an environment of its own, nor in one whose code is a text, and no
 * guard would hold there.
 */
export function guardWorkers(): void {
  const threads = process.getBuiltinModule('node:worker_threads')
  threads.Worker = new Proxy(threads.Worker, {
    construct: (worker, [code, options, ...more], as) =>
      Reflect.construct(worker, [guardedCode(code, options), guardedOptions(options), ...more], as),
  })
  syncBuiltinESMExports()
}

function guardedOptions(options?: WorkerOptions): WorkerOptions | undefined {
  const { execArgv, env } = options ?? {}
  if (Array.isArray(execArgv)) return { ...options, execArgv: [`--import=${OWN}`, ...execArgv] }
  if (typeof env !== 'object' || env === null) return options
  const { NODE_OPTIONS = '', ...own } = env
  const home = userConfigFolder(process.env)
  const held = {
    ...(home !== undefined && { HOOKSPAN_CONFIG_HOME: home }),
    ...own,
    NODE_OPTIONS: `--import=${OWN} ${NODE_OPTIONS}`,
  }
  return { ...options, env: held }
}

/** A text that is a module is preloaded for; before one that is a script nothing is imported, so it is run behind that. */
function guardedCode(code: ConstructorParameters<typeof Worker>[0], options?: WorkerOptions): unknown {
  if (!options?.eval || typeof code !== 'string' || isModule(code, options)) return code
  // That the code of a Script may import() is an experiment of Node's, which would say so to whoever does.
  return `import(${JSON.stringify(OWN)}).then(() => setImmediate(() => {
const { constants, Script } = require('node:vm')
const importModuleDynamically = constants.USE_MAIN_CONTEXT_DEFAULT_LOADER
const { emitWarning } = process
process.emitWarning = (...all) => String(all[0]).startsWith('vm.USE_MAIN_') || emitWarning.apply(process, all)
new Script(${JSON.stringify(code)}, { filename: '[worker eval]', importModuleDynamically }).runInThisContext()
}))`
}

function isModule(code: string, { execArgv = process.execArgv, env = process.env }: WorkerOptions): boolean {
  const { NODE_OPTIONS } = typeof env === 'object' ? env : process.env
  if ([...execArgv, NODE_OPTIONS].some((option) => option?.includes('--input-type'))) return true
  const { Script } = process.getBuiltinModule('node:vm')
  try {
    new Script(code)
    return false
  } catch {
    return true
  }
}
