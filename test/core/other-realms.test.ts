import { runInNewContext } from 'node:vm'
import { HookDispatcher } from 'hookspan'
import { redact } from 'hookspan/policies'
import { expect, it } from 'vitest'
import { toContent } from '../../src/internal/json.ts'

// As Node's own errors in a test of Jest, or in one of vitest's vmThreads.
const foreign = () => runInNewContext(`new RangeError('no card 4111111111111111')`) as Error

it('an error of another realm is told to the model as any error is', () => {
  expect(toContent(foreign())).toBe('Error: no card 4111111111111111')
})

it('a gate that redacts sees what such an error says', async () => {
  const dispatcher = new HookDispatcher()
  const gate = redact({ in: ['toolResult'], kinds: ['creditCard'] })
  dispatcher.use({ name: 'redact', gates: [gate] })
  const op = dispatcher.startOperation()
  const outcome = await op.step((step) => step.toolCall({ apiName: 'pay', args: {} }, () => foreign()))
  await op.complete()
  expect(JSON.stringify(outcome)).not.toContain('4111111111111111')
  expect(JSON.stringify(outcome)).toContain('no card')
})
