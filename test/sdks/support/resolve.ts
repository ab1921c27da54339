// For processes and examples: `node --import ./test/sdks/support/resolve.ts`. Code in test/sdks finds hookspan, which is a
// package of its own above it; examples find the SDKs, which only test/sdks has.
import { registerHooks } from 'node:module'

const HOOKSPAN = new URL('../../../package.json', import.meta.url).href
const SDKS = new URL('../package.json', import.meta.url).href

registerHooks({
  resolve(specifier, context, next) {
    if (/^hookspan(\/|$)/.test(specifier)) return next(specifier, { ...context, parentURL: HOOKSPAN })
    try {
      return next(specifier, context)
    } catch (error) {
      const isMissing = (error as { code?: string }).code === 'ERR_MODULE_NOT_FOUND'
      if (!isMissing || /^[./]|^node:|^file:/.test(specifier)) throw error
      return next(specifier, { ...context, parentURL: SDKS })
    }
  },
})
