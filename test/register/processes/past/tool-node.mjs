import { AIMessage } from '@langchain/core/messages'
import { tool } from '@langchain/core/tools'
import { ToolNode } from '@langchain/langgraph/prebuilt'

const wipe = tool(() => console.log('made'), { name: 'wipe', schema: { type: 'object', properties: {} } })
const calls = [{ id: 'call_1', name: 'wipe', args: {} }]
await new ToolNode([wipe]).invoke([new AIMessage({ content: '', tool_calls: calls })])
