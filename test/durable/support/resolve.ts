// For processes and examples: `node --import ./test/durable/support/resolve.ts`. Code in test/durable finds hookspan, which is a
// package of its own above it; hookspan and examples find the engines, which only test/durable has.
import { registerHooks } from 'node:module'

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
      return next(specifier, { ...context, parentURL: ENGINES })
    }
  },
})
