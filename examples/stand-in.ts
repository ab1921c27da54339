import { HookDispatcher } from 'hookspan'

const dispatcher = new HookDispatcher()
const result = { content: '90 € charged, but not really' }
dispatcher.use({
  name: 'no-charges',
  hooks: [
    { id: 'card', type: 'beforeToolCall', match: 'charge_card', handler: (event) => event.mock(result) },
  ],
})

// Your own loop: what it runs through `toolCall` can be mocked.
const op = dispatcher.startOperation({ agentName: 'shop' })
const call = { apiName: 'charge_card', args: { amount: 90 } }
const outcome = await op.step((step) =>
  step.toolCall(call, () => Promise.reject(new Error('a real card was charged'))),
)
console.log(outcome.state, '-', outcome.toToolMessage().content)
await op.complete()
