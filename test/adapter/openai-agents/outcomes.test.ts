import { Agent, type AgentConfiguration, tool } from '@openai/agents'
import { type Decision, deny, type Gate, type GatePoint, mutate, skip } from 'hookspan/gates'
import { afterEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { dispatcherWith, findAll, gate } from '../../support/told-events.ts'
import { agentOf, bareRunner, letAllGo, observed, scripted } from './support.ts'

afterEach(letAllGo)

const outputType = z.object({ a: z.string() })

/** A gate on what runs say that say a secret. */
function watched(decision: Decision) {
  const decide = ({ payload }: { payload: unknown }) =>
    String((payload as { content?: string }).content).includes('secret') ? decision : undefined
  const { dispatcher, events } = dispatcherWith(gate('beforeComplete', decide))
  return { events, runner: observed(bareRunner(), { dispatcher }) }
}

describe('what a gate makes of the last word of an agent that is a tool', () => {
  const ways: [string, object, Partial<AgentConfiguration>?][] = [
    ['as it is', {}],
    ['streamed', { onStream: () => {} }],
    [
      'with an extractor',
      { customOutputExtractor: (result: { finalOutput: unknown }) => String(result.finalOutput) },
    ],
    [
      'with an extractor of replies',
      {
        customOutputExtractor: (result: unknown) =>
          JSON.stringify((result as { rawResponses: unknown }).rawResponses),
      },
    ],
    [
      'checked by a guardrail',
      {},
      {
        outputGuardrails: [
          { name: 'ok', execute: async () => ({ tripwireTriggered: false, outputInfo: {} }) },
        ],
      },
    ],
    [
      'that ends with its first tool',
      {},
      {
        toolUseBehavior: 'stop_on_first_tool',
        tools: [tool({ name: 'tell', description: '', parameters: z.object({}), execute: () => 'a secret' })],
      },
    ],
  ]
  const play = async (decision: Decision, options: object, config: Partial<AgentConfiguration> = {}) => {
    const { events, runner } = watched(decision)
    const said = config.tools === undefined ? 'a secret' : ([['tell', {}]] as [string, object][])
    const expert = new Agent({ name: 'expert', model: scripted(said), ...config })
    const model = scripted([['expert', { input: 'help' }]], 'done')
    const asTool = expert.asTool({ toolName: 'expert', toolDescription: '', ...options })
    await runner.run(agentOf({ model, tools: [asTool] }), 'hi')
    return { events, told: JSON.stringify(model.lastCall?.request.input) }
  }

  it.each(ways)('is what the tool gives: %s', async (_way, options, config) => {
    for (const decision of [mutate({ content: 'nothing' }), skip('nothing')]) {
      const { events, told } = await play(decision, options, config)
      expect(told).not.toContain('secret')
      expect(told).toContain('nothing')
      expect(findAll(events, 'afterCallAgent')).toMatchObject([{ content: 'nothing' }])
    }
  })

  it.each(ways)('is a refusal of the tool where it is withheld: %s', async (_way, options, config) => {
    const { events, told } = await play(deny('not for you'), options, config)
    expect(told).not.toContain('secret')
    expect(told).toContain('not for you')
    expect(findAll(events, 'afterToolCall').at(-1)).toMatchObject({ apiName: 'expert', success: false })
  })
})

describe('an agent that is a tool', () => {
  const play = async (point: GatePoint, decide: Gate['decide'], options: object) => {
    const { dispatcher, events } = dispatcherWith(gate(point, decide))
    const expert = new Agent({ name: 'expert', model: scripted('a secret') })
    const model = scripted([['expert', { input: 'help' }]], 'done')
    const asTool = expert.asTool({ toolName: 'expert', toolDescription: '', ...options })
    const runner = observed(bareRunner(), { dispatcher })
    await runner.run(agentOf({ model, tools: [asTool] }), 'hi')
    return { events, told: JSON.stringify(model.lastCall?.request.input) }
  }
  const streams: [string, object][] = [
    ['as it is', {}],
    ['streamed', { onStream: () => {} }],
  ]

  it.each(streams)('is answered for by a gate at beforeCallAgent: %s', async (_how, options) => {
    for (const result of ['from the cache', { content: 'from the cache' }]) {
      const { events, told } = await play('beforeCallAgent', () => skip(result), options)
      expect(told).toContain('"text":"from the cache"')
      const answered = { content: 'from the cache', success: true }
      expect(findAll(events, 'afterCallAgent')).toMatchObject([answered])
      expect(findAll(events, 'afterToolCall')).toMatchObject([answered])
    }
  })

  it.each(streams)('tells why its run was refused: %s', async (_how, options) => {
    const decide: Gate['decide'] = ({ agentName }) =>
      agentName === 'expert' ? deny('closed today') : undefined
    const { events, told } = await play('onStart', decide, options)
    expect(told).toContain('closed today')
    expect(findAll(events, 'afterToolCall')).toMatchObject([{ success: false, reason: 'closed today' }])
  })
})

it.each([false, true])(
  'what a gate makes of an outcome has the type of the agent (streamed: %s)',
  async (stream) => {
    for (const [content, finalOutput] of [
      ['{"a":"nothing"}', { a: 'nothing' }],
      ['nothing', 'nothing'],
    ]) {
      const { runner } = watched(mutate({ content }))
      const agent = new Agent({ name: 'typed', model: scripted('{"a":"secret"}'), outputType })
      const result = await runner.run(agent, 'hi', { stream: stream as never })
      await (result as { completed?: Promise<void> }).completed
      expect(result.finalOutput).toEqual(finalOutput)
    }
  },
)
