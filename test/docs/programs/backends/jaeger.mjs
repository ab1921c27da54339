import { startTracing } from 'hookspan/tracing'
import { spansAt } from './run.mjs'

snippet('const tracing')

await spansAt(tracing, 'http://localhost:4318/v1/traces')
