import { startTracing } from 'hookspan/tracing'
import { spansAt } from './run.mjs'

snippet("const tracing = startTracing({\n  endpoint: 'http://localhost:4318'")

await spansAt(tracing, 'http://localhost:4318/v1/traces')
