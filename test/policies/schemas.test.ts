import { readFileSync } from 'node:fs'
import { Ajv } from 'ajv'
import fc from 'fast-check'
import { HookDispatcher } from 'hookspan'
import { commandGate } from 'hookspan/policies'
import { expect, it } from 'vitest'
import { gateSchemas, schemaText } from '../../scripts/gate-schemas.ts'
import { decisionOf } from '../../src/gates/decision.ts'

const read = (name: string) => readFileSync(new URL(`../../schemas/${name}`, import.meta.url), 'utf8')

it('publishes the schemas that the types say: run `node scripts/gate-schemas.ts` when this fails', () => {
  for (const [name, schema] of Object.entries(gateSchemas())) expect(read(name)).toBe(schemaText(schema))
}, 60_000)

it('takes exactly the decisions that the published schema takes', () => {
  const validate = new Ajv({ strict: false }).compile(JSON.parse(read('gate-decision.schema.json')))
  const value = fc.oneof(fc.string(), fc.boolean(), fc.integer(), fc.constant(null), fc.array(fc.string()))
  const choices = fc.array(fc.constantFrom('approve', 'edit', 'reject', 'maybe'))
  const fields = fc.record(
    {
      decision: fc.constantFrom('proceed', 'mutate', 'skip', 'deny', 'require_approval', 'allow', 1),
      payload: value,
      result: value,
      reason: value,
      code: value,
      stop: value,
      timeoutMs: value,
      instructions: value,
      approvers: value,
      allow: fc.oneof(choices, value),
      extra: value,
    },
    { requiredKeys: [] },
  )
  fc.assert(
    fc.property(fields, (decision) => {
      const plain = JSON.parse(JSON.stringify(decision))
      expect(validate(plain)).toBe('decision' in decisionOf(plain))
    }),
    { numRuns: 2_000 },
  )
})

it('asks a command what the published schema of the question says', async () => {
  const validate = new Ajv({ strict: false }).compile(JSON.parse(read('gate-invocation.schema.json')))
  const command = `process.stdin.on('data', (d) => (t += d)).on('end', () => console.log(JSON.stringify({ decision: 'mutate', payload: JSON.parse(t) })))`
  const dispatcher = new HookDispatcher()
  const gate = commandGate({
    id: 'echo',
    point: 'beforeToolCall',
    command: process.execPath,
    args: ['-e', `let t = ''; ${command}`],
  })
  dispatcher.use({ name: 'p', gates: [gate] })
  const op = dispatcher.startOperation({ agentName: 'a', userId: 'u', conversationId: 'c' })
  const outcome = await op.step((step) =>
    step.toolCall({ apiName: 't', args: { a: 1 } }, (question) => question),
  )
  expect('result' in outcome && validate(outcome.result), JSON.stringify(validate.errors)).toBe(true)
})
