import assert from 'node:assert/strict'
import { startTracing } from 'hookspan/tracing'
import { spansAt } from './run.mjs'

snippet('const tracing')

const { bodies, requests } = await spansAt(tracing, 'http://localhost:6006/v1/traces')
assert.ok(requests.every(({ headers }) => headers['content-type'] === 'application/x-protobuf'))
assert.ok(bodies.some((body) => body.includes('openinference.span.kind')))
