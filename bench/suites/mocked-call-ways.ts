import { HookDispatcher } from 'hookspan'
import { execAgent } from 'hookspan/agent'
import { callTools, type MockRule, match, mock, mockTools, scriptedModel } from 'hookspan/mock'
import type { Workload } from '../harness/types.ts'
import { CALLS_PER_TURN, MOCKED_RESULT } from './amounts.ts'

const inputSchema = {
  type: 'object',
  properties: { city: { type: 'string' }, days: { type: 'integer', minimum: 1 } },
  required: ['city'],
}
const outputSchema = { type: 'object', properties: { tempC: { type: 'number' } }, required: ['tempC'] }
const argsOf = (index: number) => ({ city: 'Berlin', days: 1 + (index % 7) })

/** Counts answers, so that no call is made for nobody. */
class Answers {
  count = 0

  add(result: unknown): void {
    if ((result as typeof MOCKED_RESULT | undefined)?.tempC === MOCKED_RESULT.tempC) this.count++
  }

  verify(total: number): { answered: string } {
    if (this.count !== total) throw new Error(`${this.count} of ${total} calls were answered.`)
    return { answered: 'all' }
  }
}

export function bare(): Workload {
  const answers = new Answers()
  const tool = async (_args: unknown) => ({ ...MOCKED_RESULT })
  return {
    async run(count) {
      for (let i = 0; i < count; i++) answers.add(await tool(argsOf(i)))
    },
    verify: (total) => answers.verify(total),
  }
}

function inSteps(rules: () => MockRule[], schemas: object = {}): Workload {
  const answers = new Answers()
  return {
    async run(count) {
      const dispatcher = new HookDispatcher()
      using _mocks = mockTools(dispatcher, rules())
      const operation = dispatcher.startOperation({ agentName: 'weather' })
      await operation.step(async (step) => {
        for (let i = 0; i < count; i++) {
          const init = { toolCallId: 'call', apiName: 'get_weather', args: argsOf(i), ...schemas }
          const outcome = await step.toolCall<unknown, unknown>(init, () => 'the real tool')
          answers.add('result' in outcome ? outcome.result : undefined)
        }
      })
      await operation.complete()
    },
    verify: (total) => answers.verify(total),
  }
}

export const byName = (): Workload => inSteps(() => [mock('get_weather').returns(MOCKED_RESULT)])

export const byArguments = (): Workload =>
  inSteps(() => [
    mock('get_weather').when({ city: 'Bonn' }).optional().returns({}),
    mock('get_weather')
      .when({ city: match.regex(/^Ber/), days: match.lte(7) })
      .returns(MOCKED_RESULT),
  ])

export const withSchema = (): Workload =>
  inSteps(() => [mock('get_weather').returns(MOCKED_RESULT)], { inputSchema, outputSchema })

export function wholeAgent(): Workload {
  let answered = 0
  const agent = {
    name: 'weather',
    model: 'scripted',
    tools: [{ name: 'get_weather', parameters: inputSchema, execute: () => 'the real tool' }],
  }
  const content = JSON.stringify(MOCKED_RESULT)
  return {
    async run(count) {
      for (let done = 0; done < count; done += CALLS_PER_TURN) {
        const dispatcher = new HookDispatcher()
        using _mocks = mockTools(dispatcher, [mock('get_weather').returns(MOCKED_RESULT)])
        const calls = Array.from({ length: CALLS_PER_TURN }, (_, i) => ['get_weather', argsOf(i)] as const)
        using client = scriptedModel([callTools(...calls), 'done'])
        const { messages } = await execAgent({ agent, prompt: 'go', dispatcher, client })
        answered += messages.filter(
          (message) => message.role === 'tool' && message.content === content,
        ).length
      }
    },
    verify: (total) => {
      if (answered !== total) throw new Error(`${answered} of ${total} calls were answered.`)
      return { answered: 'all' }
    },
  }
}
