import { startTracing } from 'hookspan/tracing'
import { spansAt } from './run.mjs'

process.env.BRAINTRUST_API_KEY = 'sk-1'
snippet('const { BRAINTRUST_API_KEY }')

await spansAt(tracing, 'https://api.braintrust.dev/otel/v1/traces', {
  authorization: 'Bearer sk-1',
  'x-bt-parent': 'project_name:support',
})
