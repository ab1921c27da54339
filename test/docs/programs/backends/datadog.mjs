import { startTracing } from 'hookspan/tracing'
import { spansAt } from './run.mjs'

process.env.DD_API_KEY = 'key-1'
snippet('const tracing')

await spansAt(tracing, 'https://otlp.datadoghq.com/v1/traces', {
  'dd-api-key': 'key-1',
  'dd-otlp-source': 'llmobs',
  'content-type': 'application/x-protobuf',
})
