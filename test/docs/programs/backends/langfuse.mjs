import assert from 'node:assert/strict'
import { startTracing } from 'hookspan/tracing'
import { spansAt } from './run.mjs'

Object.assign(process.env, { LANGFUSE_PUBLIC_KEY: 'pk-1', LANGFUSE_SECRET_KEY: 'sk-1' })
snippet('const { LANGFUSE_PUBLIC_KEY')

const { bodies } = await spansAt(tracing, 'https://cloud.langfuse.com/api/public/otel/v1/traces', {
  authorization: `Basic ${Buffer.from('pk-1:sk-1').toString('base64')}`,
  'x-langfuse-ingestion-version': '4',
})
assert.ok(bodies.every((body) => body.includes('deployment.environment.name')))
