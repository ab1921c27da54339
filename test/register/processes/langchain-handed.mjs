import { register } from 'node:module'

/** As hooks of tsx do beside others, in `langgraphjs dev`: CommonJS is handed over, and what it requires found by them. */
const hooks = `
import { readFileSync } from 'node:fs'
export async function load(url, context, next) {
  const loaded = await next(url, context)
  if (loaded.format === 'commonjs') loaded.source ??= readFileSync(new URL(url))
  return loaded
}`
register(`data:text/javascript,${encodeURIComponent(hooks)}`)
await import('./langchain.cjs')
