import assert from 'node:assert/strict'
import { FakeListChatModel } from '@langchain/core/utils/testing'
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph'
import { HookDispatcher } from 'hookspan'
import { hookspanCallbacks } from 'hookspan/langchain'

const dispatcher = new HookDispatcher()
const seen = []
dispatcher.use({
  name: 'seen',
  hooks: [
    { id: 'llm', type: 'afterLlmCall', handler: (e) => seen.push(e.response.content) },
    { id: 'end', type: 'onComplete', handler: (e) => seen.push(e.reason) },
  ],
})
const model = new FakeListChatModel({ responses: ['You fly to Bergen.'] })
const graph = new StateGraph(MessagesAnnotation)
  .addNode('model', async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
  .addEdge(START, 'model')
  .addEdge('model', END)
  .compile()
const input = { messages: [{ role: 'user', content: 'Book me to Norway' }] }
snippet('await graph.invoke')

await dispatcher.drain()
assert.deepEqual(seen, ['You fly to Bergen.', 'done'])
