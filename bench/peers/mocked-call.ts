import { Agent, Runner, setTracingDisabled, tool } from '@openai/agents'
import { assistantMessage, functionCall, modelResponse, ScriptedModel } from '@openai/agents/testing'
import {
  AIMessage,
  createAgent,
  createMiddleware,
  fakeModel,
  tool as langchainTool,
  ToolMessage,
} from 'langchain'
import { z } from 'zod'
import type { Workload } from '../harness/types.ts'
import { CALLS_PER_TURN, MOCKED_RESULT } from '../suites/amounts.ts'

const parameters = z.object({ city: z.string(), days: z.number().int().min(1) })
const argsOf = (index: number) => ({ city: 'Berlin', days: 1 + (index % 7) })
const turn = Array.from({ length: CALLS_PER_TURN }, (_, index) => index)

function verifier(answered: () => number): Workload['verify'] {
  return (total) => {
    if (answered() !== total) throw new Error(`${answered()} of ${total} calls were answered.`)
    return { answered: 'all' }
  }
}

export function openaiAgents(): Workload {
  setTracingDisabled(true)
  let answered = 0
  const real = tool({
    name: 'get_weather',
    description: 'weather',
    parameters,
    execute: async () => 'the real tool',
  })
  const mocked = { ...real, invoke: async () => JSON.stringify(MOCKED_RESULT) }
  return {
    async run(count) {
      for (let done = 0; done < count; done += CALLS_PER_TURN) {
        const calls = turn.map((i) => functionCall('get_weather', argsOf(i), { callId: `call_${i}` }))
        const model = new ScriptedModel([modelResponse(calls), modelResponse([assistantMessage('done')])])
        const agent = new Agent({ name: 'weather', tools: [mocked], model })
        const result = await new Runner({ tracingDisabled: true }).run(agent, 'go')
        answered += result.newItems.filter(
          (item) => item.type === 'tool_call_output_item' && item.output === JSON.stringify(MOCKED_RESULT),
        ).length
      }
    },
    verify: verifier(() => answered),
  }
}

export function langchain(): Workload {
  let answered = 0
  const real = langchainTool(async () => 'the real tool', {
    name: 'get_weather',
    description: 'weather',
    schema: parameters,
  })
  const content = JSON.stringify(MOCKED_RESULT)
  const mocks = createMiddleware({
    name: 'mocks',
    wrapToolCall: (request) =>
      new ToolMessage({ content, tool_call_id: request.toolCall.id ?? '', name: 'get_weather' }),
  })
  return {
    async run(count) {
      for (let done = 0; done < count; done += CALLS_PER_TURN) {
        const tool_calls = turn.map((i) => ({
          name: 'get_weather',
          args: argsOf(i),
          id: `call_${i}`,
          type: 'tool_call' as const,
        }))
        const model = fakeModel()
          .respond(new AIMessage({ content: '', tool_calls }))
          .respond(new AIMessage('done'))
        const agent = createAgent({ model, tools: [real], middleware: [mocks] })
        const { messages } = await agent.invoke({ messages: [{ role: 'user', content: 'go' }] })
        answered += messages.filter(
          (message) => message.getType() === 'tool' && message.content === content,
        ).length
      }
    },
    verify: verifier(() => answered),
  }
}
