import { registerHooks } from 'node:module'

/**
 * From here on this process has the small SDK alone, as one where the whole one is not installed. The whole one takes longer to
 * load than all else of these processes together, and hookspan's own processor is under both: what is kept, sent and noted is
 * the same code.
 */
export function hideWholeSdk(): void {
  registerHooks({
    resolve(name, context, next) {
      if (name !== '@opentelemetry/sdk-node') return next(name, context)
      throw Object.assign(new Error(`${name} is hidden`), { code: 'MODULE_NOT_FOUND' })
    },
  })
}
