import type { AIMessage } from '@langchain/core/messages'
import type { fakeModel } from '@langchain/core/testing'
import { MessagesAnnotation, StateGraph } from '@langchain/langgraph'
import { ToolNode } from '@langchain/langgraph/prebuilt'

/** A graph of one's own, without `createAgent`: a model, and the tool that it asks for. */
export function bareGraph(model: ReturnType<typeof fakeModel>, search: unknown) {
  return new StateGraph(MessagesAnnotation)
    .addNode('agent', async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
    .addNode('tools', new ToolNode([search as never]))
    .addEdge('__start__', 'agent')
    .addConditionalEdges('agent', ({ messages }) =>
      (messages.at(-1) as AIMessage).tool_calls?.length ? 'tools' : '__end__',
    )
    .addEdge('tools', 'agent')
}
