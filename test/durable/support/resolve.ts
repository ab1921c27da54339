// For processes and examples: `node --import ./test/durable/support/resolve.ts`. Code in test/durable finds hookspan, which is a
// package of its own above it; hookspan and examples find the engines, which only test/durable has.
import { createRequire, registerHooks } from 'node:module'
import { pathToFileURL } from 'node:url'

const HOOKSPAN = new URL('../../../package.json', import.meta.url).href
const ENGINES = new URL('../package.json', import.meta.url).href

registerHooks({
  resolve(specifier, context, next) {
    if (/^hookspan(\/|$)/.test(specifier)) return next(specifier, { ...context, parentURL: HOOKSPAN })
    try {
      return next(specifier, context)
    } catch (error) {
      const isMissing = (error as { code?: string }).code?.endsWith('MODULE_NOT_FOUND') === true
      if (!isMissing || /^[./]|^node:|^file:/.test(specifier)) throw error
      // What is required is looked for beside who requires it, whatever is said here.
      if ([...context.conditions].includes('require')) {
        return { url: pathToFileURL(createRequire(ENGINES).resolve(specifier)).href, shortCircuit: true }
      }
      return next(specifier, { ...context, parentURL: ENGINES })
    }
  },
})
