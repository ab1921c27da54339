import { startTracing } from 'hookspan/tracing'
import { spansAt } from './run.mjs'

process.env.HONEYCOMB_API_KEY = 'hc-1'
snippet('const tracing')

await spansAt(tracing, 'https://api.honeycomb.io/v1/traces', { 'x-honeycomb-team': 'hc-1' })
