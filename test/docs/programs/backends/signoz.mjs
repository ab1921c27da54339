import assert from 'node:assert/strict'
import { startTracing } from 'hookspan/tracing'
import { sent } from '../outside.mjs'
import { spansAt } from './run.mjs'

process.env.SIGNOZ_INGESTION_KEY = 'sz-1'
snippet('const tracing')

const key = { 'signoz-ingestion-key': 'sz-1' }
const { bodies } = await spansAt(tracing, 'https://ingest.eu.signoz.cloud/v1/traces', key)
assert.ok(bodies.every((body) => body.includes('deployment.environment')))
const metrics = sent.filter(({ url }) => url === 'https://ingest.eu.signoz.cloud/v1/metrics')
assert.ok(metrics.every(({ headers }) => headers['signoz-ingestion-key'] === 'sz-1'))
assert.ok(
  metrics.some(({ body }) => body.includes('gen_ai.execute_tool.duration')),
  'no metrics came',
)
