import { HookDispatcher } from 'hookspan'
import { mock, mockTools } from 'hookspan/mock'
import { expect, it } from 'vitest'

it('answers a call with event.mock() where a rule fits, too, and fails for the rule', async () => {
  const dispatcher = new HookDispatcher()
  const mocks = mockTools(dispatcher, [mock('search').returns('of the rule')])
  const handler = (event: { mock(result: { content: string }): void }) =>
    event.mock({ content: 'of the hook' })
  dispatcher.use({ name: 'hatch', hooks: [{ id: 'hatch', type: 'beforeToolCall', handler }] })
  const op = dispatcher.startOperation({ agentName: 'a' })
  const outcome = await op.toolCall({ apiName: 'search', args: {} }, () => 'of the tool')
  await op.complete()
  expect(outcome.toToolMessage().content).toBe('of the hook')
  expect(() => mocks[Symbol.dispose]()).toThrow('A mock was not used')
})
