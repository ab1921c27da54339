import assert from 'node:assert/strict'
import { HookDispatcher } from 'hookspan'

const dispatcher = new HookDispatcher()
const plugin = { name: 'mine', gates: [{ id: 'g', point: 'beforeToolCal', decide: () => {} }] }
const said = []
console.error = (line) => said.push(line)
snippet('import { HookspanError }')

assert.equal(said.length, 1)
assert.match(said[0], /beforeToolCal/)
