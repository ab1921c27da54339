import assert from 'node:assert/strict'
import { startTracing } from 'hookspan/tracing'
import { sent } from '../outside.mjs'
import { spansAt } from './run.mjs'

process.env.OPENLIT_API_KEY = 'openlit-1'
snippet('const tracing')

await spansAt(tracing, 'http://localhost:4318/v1/traces', { authorization: 'Bearer openlit-1' })
const metrics = sent.filter(({ url }) => url === 'http://localhost:4318/v1/metrics')
assert.ok(
  metrics.some(({ body }) => body.includes('gen_ai.execute_tool.duration')),
  'no metrics came',
)
