import assert from 'node:assert/strict'
import { adapterContract } from 'hookspan/adapter/contract'
import { ownLoopSubject } from '../../adapter/subjects/own-loop.ts'

const { capabilities, run: startOnMySdk } = ownLoopSubject
const scenarios = new Map()
const it = (name, run) => scenarios.set(name, run)
snippet('for (const { name, run }')

assert.ok(scenarios.size >= 12, `${scenarios.size} scenarios`)
for (const run of scenarios.values()) await run()
