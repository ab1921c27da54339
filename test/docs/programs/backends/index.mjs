import assert from 'node:assert/strict'
import { startTracing } from 'hookspan/tracing'
import { names } from '../../../../examples/backends/names.ts'
import { spansAt } from './run.mjs'

snippet('const tracing')

const { bodies } = await spansAt(tracing, 'http://localhost:4318/v1/traces', {}, [])
assert.ok(
  bodies.some((body) => body.includes('gen_ai.system')),
  'the older name is not there',
)
