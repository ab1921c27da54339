import { createReactAgent } from '@langchain/langgraph/prebuilt'
import { fakeModel } from 'langchain'

createReactAgent({ llm: fakeModel(), tools: [] })
console.log('made')
