/** A runtime that exists already and says itself what happens: register, dispatch, unregister. */
import { HookDispatcher } from 'hookspan'

const dispatcher = new HookDispatcher()

const operationId = 'run-42'
dispatcher.register(operationId, [
  {
    id: 'log',
    type: 'afterToolCall',
    handler: (event) => console.log(event.sequence, event.apiName, event.content),
  },
  {
    id: 'bill',
    type: 'onComplete',
    handler: async (event) => console.log(event.sequence, 'done:', event.reason),
  },
])

dispatcher.dispatch(operationId, 'beforeStep', { stepIndex: 0 })
const call = {
  identifier: 'local',
  apiName: 'search',
  args: { q: 'hooks' },
  callIndex: 0,
  toolCallId: 'call_1',
}
const mock = await dispatcher.dispatchBeforeToolCall(operationId, call) // null: run the real tool
const content = mock !== null && 'content' in mock ? mock.content : search(call.args)
dispatcher.dispatch(operationId, 'afterToolCall', {
  ...call,
  content,
  success: true,
  mocked: mock !== null,
  executionTimeMs: 3,
})
dispatcher.dispatch(operationId, 'afterStep', { stepIndex: 0 })
dispatcher.dispatch(operationId, 'onComplete', { reason: 'done' })

dispatcher.unregister(operationId)
await dispatcher.drain() // waits for the asynchronous handlers

function search({ q }: { q: string }): string {
  return `3 results for ${q}`
}
