/** `node --import` this to let a test's own process import `hookspan/...` from the sources, as the tests do. */
import { registerHooks } from 'node:module'

const folders: Record<string, string> = { openai: 'adapters/openai' }

registerHooks({
  resolve(specifier, context, next) {
    const [, name] = /^hookspan(?:\/([a-z-]+))?$/.exec(specifier) ?? [specifier]
    if (!specifier.startsWith('hookspan')) return next(specifier, context)
    const path = name === undefined ? 'index.ts' : `${folders[name] ?? name}/index.ts`
    return next(new URL(`../../src/${path}`, import.meta.url).href, context)
  },
})
