import { Agent, defineToolInputGuardrail, Runner, setTracingDisabled, tool } from '@openai/agents'
import { assistantMessage, functionCall, modelResponse, ScriptedModel } from '@openai/agents/testing'
import { AIMessage, createAgent, createMiddleware, fakeModel, tool as langchainTool } from 'langchain'
import { z } from 'zod'
import type { Workload } from '../harness/types.ts'
import { CALLS_PER_TURN } from '../suites/amounts.ts'

const parameters = z.object({ city: z.string(), days: z.number().int().min(1) })
const argsOf = (index: number) => ({ city: 'Berlin', days: 1 + (index % 7) })
const turn = Array.from({ length: CALLS_PER_TURN }, (_, index) => index)

function verifier(ran: () => number, asked: () => number, guards: number): Workload['verify'] {
  return (total) => {
    if (ran() !== total) throw new Error(`${ran()} of ${total} calls ran.`)
    if (asked() !== total * guards) throw new Error(`The guards were asked ${asked()} times.`)
    return { ran: 'all', guards }
  }
}

export const openaiAgents = (guards: number) => (): Workload => {
  setTracingDisabled(true)
  let ran = 0
  let asked = 0
  const inputGuardrails = Array.from({ length: guards }, (_, i) =>
    defineToolInputGuardrail({
      name: `guard ${i}`,
      run: async () => {
        asked++
        return { behavior: { type: 'allow' } }
      },
    }),
  )
  const weather = tool({
    name: 'get_weather',
    description: 'weather',
    parameters,
    inputGuardrails,
    execute: async () => {
      ran++
      return 'fine'
    },
  })
  return {
    async run(count) {
      for (let done = 0; done < count; done += CALLS_PER_TURN) {
        const calls = turn.map((i) => functionCall('get_weather', argsOf(i), { callId: `call_${i}` }))
        const model = new ScriptedModel([modelResponse(calls), modelResponse([assistantMessage('done')])])
        await new Runner({ tracingDisabled: true }).run(
          new Agent({ name: 'a', tools: [weather], model }),
          'go',
        )
      }
    },
    verify: verifier(
      () => ran,
      () => asked,
      guards,
    ),
  }
}

export const langchain = (guards: number) => (): Workload => {
  let ran = 0
  let asked = 0
  const weather = langchainTool(
    async () => {
      ran++
      return 'fine'
    },
    { name: 'get_weather', description: 'weather', schema: parameters },
  )
  const middleware = Array.from({ length: guards }, (_, i) =>
    createMiddleware({
      name: `guard${i}`,
      wrapToolCall: (request, handler) => {
        asked++
        return handler(request)
      },
    }),
  )
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
        const agent = createAgent({ model, tools: [weather], middleware })
        await agent.invoke({ messages: [{ role: 'user', content: 'go' }] })
      }
    },
    verify: verifier(
      () => ran,
      () => asked,
      guards,
    ),
  }
}

export const openaiAgents0 = openaiAgents(0)
export const openaiAgents1 = openaiAgents(1)
export const openaiAgents5 = openaiAgents(5)
export const langchain0 = langchain(0)
export const langchain1 = langchain(1)
export const langchain5 = langchain(5)
