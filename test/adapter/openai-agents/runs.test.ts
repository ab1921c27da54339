import {
  Agent,
  type AgentConfiguration,
  run as globalRun,
  type InputGuardrail,
  Runner,
  tool,
  toolNamespace,
} from '@openai/agents'
import { assistantMessage, functionCall, ScriptedModel } from '@openai/agents/testing'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { HookDispatcher } from 'hookspan'
import { deny, mutate } from 'hookspan/gates'
import { mock, mockTools } from 'hookspan/mock'
import { traceHooks } from 'hookspan/tracing'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { eventsOf, findAll } from '../../support/told-events.ts'
import { agentOf, bareRunner, letAllGo, looking, observed, scripted } from './support.ts'

afterEach(letAllGo)

const LOOK: [string, object][] = [['look', { q: 'a' }]]

function watched() {
  const dispatcher = new HookDispatcher()
  return { dispatcher, events: eventsOf(dispatcher), runner: observed(bareRunner(), { dispatcher }) }
}

describe('a streamed run', () => {
  it('gives the same events as without us, and ends with its stream', async () => {
    const told = async (runner: Runner) => {
      const agent = agentOf({ model: scripted(LOOK, 'done'), tools: [looking([])] })
      const result = await runner.run(agent, 'hi', { stream: true })
      const seen: unknown[] = []
      for await (const event of result) {
        seen.push(event.type === 'raw_model_stream_event' ? event.data : JSON.parse(JSON.stringify(event)))
      }
      await result.completed
      return { seen, said: result.finalOutput, text: result.history }
    }
    const { events, runner } = watched()

    const ours = await told(runner)

    expect(ours).toEqual(await told(bareRunner()))
    expect(findAll(events, 'onComplete')).toMatchObject([{ reason: 'done', content: 'done' }])
  })

  it('whose reader leaves ends as interrupted', async () => {
    const { events, runner } = watched()
    const agent = agentOf({ model: scripted(LOOK, 'done'), tools: [looking([])] })
    const result = await runner.run(agent, 'hi', { stream: true })

    for await (const _event of result) break
    await result.completed

    expect(findAll(events, 'onComplete')).toMatchObject([{ reason: 'interrupted' }])
    expect(findAll(events, 'beforeStep')).toHaveLength(findAll(events, 'afterStep').length)
  })

  it('whose signal was aborted before it began, for a reason of its own, ends as without us', async () => {
    const ended = async (runner: Runner) => {
      const signal = AbortSignal.abort(new Error('enough'))
      const result = await runner.run(agentOf({ model: scripted('done') }), 'hi', { stream: true, signal })
      for await (const _ of result);
      return result.completed.then(() => ({ cancelled: result.cancelled }), String)
    }
    const { runner, events } = watched()

    expect(await ended(bareRunner())).toEqual({ cancelled: true })
    expect(await ended(runner)).toEqual({ cancelled: true })
    expect(findAll(events, 'onComplete')).toMatchObject([{ reason: 'interrupted' }])
  })

  it('that fails gives its error to the reader, and ends with it', async () => {
    const { events, runner } = watched()
    const model = scripted('done')
    model.getStreamedResponse = async function* () {
      yield { type: 'response_started' }
      throw new Error('the line broke')
    }
    const result = await runner.run(agentOf({ model }), 'hi', { stream: true })

    await expect(
      (async () => {
        for await (const _event of result);
      })(),
    ).rejects.toThrow('the line broke')

    await expect(result.completed).rejects.toThrow('the line broke')
    expect(findAll(events, 'onComplete')).toMatchObject([{ reason: 'error', errorMessage: 'the line broke' }])
  })

  it('is not run when it is refused', async () => {
    const { dispatcher, runner } = watched()
    dispatcher.use({ name: 'g', gates: [{ id: 'no', point: 'onStart', decide: () => deny('closed') }] })
    const model = scripted('done')

    await expect(runner.run(agentOf({ model }), 'hi', { stream: true })).rejects.toThrow(/closed/)

    expect(model.calls).toEqual([])
  })
})

describe('a run that ends early', () => {
  it('with too many turns has the reason max_steps', async () => {
    const { events, runner } = watched()
    const agent = agentOf({ model: scripted(LOOK, LOOK), tools: [looking([])] })

    await expect(runner.run(agent, 'hi', { maxTurns: 1 })).rejects.toThrow(/[Mm]ax turns/)

    expect(findAll(events, 'onComplete')).toMatchObject([{ reason: 'max_steps' }])
  })

  it.each([
    ['maxTurns', false],
    ['maxTurns', true],
    ['default', false],
  ])(
    'with too many turns has it, too, where a handler (%s) gives a result, streamed: %s',
    async (kind, stream) => {
      const { events, runner } = watched()
      const agent = agentOf({ model: scripted(LOOK, LOOK), tools: [looking([])] })
      const errorHandlers = { [kind]: () => ({ finalOutput: 'too long' }) }

      const result = await runner.run(agent, 'hi', { maxTurns: 1, errorHandlers, stream } as never)
      if (stream) await (result as unknown as { completed: Promise<void> }).completed

      expect(result.finalOutput).toBe('too long')
      expect(findAll(events, 'onComplete')).toMatchObject([{ reason: 'max_steps', content: 'too long' }])
    },
  )

  it('by a guardrail has its error', async () => {
    const { events, runner } = watched()
    const inputGuardrails: InputGuardrail[] = [
      { name: 'no', execute: async () => ({ tripwireTriggered: true, outputInfo: {} }) },
    ]

    const ended = runner.run(agentOf({ model: scripted('done'), inputGuardrails }), 'hi')

    await expect(ended).rejects.toMatchObject({ name: 'InputGuardrailTripwireTriggered' })
    expect(findAll(events, 'onError')).toMatchObject([{ errorType: 'InputGuardrailTripwireTriggered' }])
  })

  it('by a gate that stops it is denied', async () => {
    const { dispatcher, events, runner } = watched()
    const decide = () => deny('that is enough', { stop: true })
    dispatcher.use({ name: 'g', gates: [{ id: 'no', point: 'beforeToolCall', decide }] })
    const bodies: string[] = []

    const ended = runner.run(agentOf({ model: scripted(LOOK, 'done'), tools: [looking(bodies)] }), 'hi')

    await expect(ended).rejects.toMatchObject({ code: 'RUN_DENIED' })
    expect(bodies).toEqual([])
    expect(findAll(events, 'onComplete')).toMatchObject([{ reason: 'denied' }])
  })

  it('by a call that is malformed has the error of the SDK', async () => {
    const told = (runner: Runner) =>
      runner.run(undefined as never, 'hi').then(String, (error: Error) => error.message)

    expect(await told(watched().runner)).toBe(await told(bareRunner()))
  })
})

it('a call that is not run, as its run has failed before, is told with why', async () => {
  const { events, runner } = watched()
  const run = async () => ({ behavior: { type: 'throwException' } })
  const look = looking([], { inputGuardrails: [{ name: 'no', run }] })

  await runner.run(agentOf({ model: scripted(LOOK), tools: [look] }), 'hi').catch(() => {})

  expect(findAll(events, 'onToolCallError')).toMatchObject([
    { errorMessage: expect.stringMatching(/did not run the tool: .*Tool input guardrail triggered: no/) },
  ])
})

describe('a call whose arguments are no JSON', () => {
  it.each<[string, Partial<AgentConfiguration> & { namespace?: string }, string]>([
    ['is told of a tool in a namespace', { namespace: 'crm' }, '{"q":'],
    ['is told with what the model hears', {}, '{"q":'],
    ['is told where it has none at all', {}, ''],
    ['is told where it ends the run', { toolUseBehavior: 'stop_on_first_tool' }, '{"q":'],
  ])('%s', async (_how, more, text) => {
    const play = async (runner: Runner) => {
      const bodies: string[] = []
      const { namespace, ...settings } = more
      const broken = {
        ...functionCall('look', {}, { callId: 'broken' }),
        arguments: text,
        ...(namespace && { namespace }),
      }
      const model = new ScriptedModel([[broken], [assistantMessage('done')]])
      const own = [looking(bodies)]
      const tools = namespace ? toolNamespace({ name: namespace, description: 'More.', tools: own }) : own
      const { history } = await runner.run(agentOf({ model, tools, ...settings }), 'hi')
      expect(bodies).toEqual([])
      return history
    }
    const { events, runner } = watched()

    expect(await play(runner)).toEqual(await play(bareRunner()))
    expect(findAll(events, 'onToolCallError')).toMatchObject([
      { apiName: 'look', toolCallId: 'broken', stepIndex: 0 },
    ])
    expect(findAll(events, 'beforeToolCall')).toMatchObject([{ args: text || {} }])
    expect(findAll(events, 'onComplete')).toMatchObject([{ totals: { toolCalls: 1 } }])
  })

  it('is not told as failed while a human is asked about it', async () => {
    const { events, runner } = watched()
    const broken = { ...functionCall('look', {}, { callId: 'broken' }), arguments: '{"q":' }
    const tools = [looking([], { needsApproval: async () => false })]
    const { interruptions } = await runner.run(agentOf({ model: new ScriptedModel([[broken]]), tools }), 'hi')
    expect(interruptions).toHaveLength(1)
    expect(findAll(events, 'onToolCallError')).toEqual([])
  })
})

describe('an agent inside of another', () => {
  it('that a guardrail runs lies below the run', async () => {
    const { events, runner } = watched()
    const judge = new Agent({ name: 'judge', model: scripted('fine') })
    const inputGuardrails: InputGuardrail[] = [
      {
        name: 'judge',
        runInParallel: false,
        execute: async () => {
          await new Runner({ tracingDisabled: true }).run(judge, 'Is it?')
          return { tripwireTriggered: false, outputInfo: {} }
        },
      },
    ]

    await runner.run(agentOf({ model: scripted('done'), inputGuardrails }), 'hi')

    expect(findAll(events, 'afterCallAgent')).toMatchObject([{ agentName: 'judge', content: 'fine' }])
    const [inner, outer] = findAll(events, 'onComplete')
    expect(inner?.parentOperationId).toBe(outer?.operationId)
  })

  it('that ends at its turns says so on its span, which fails the call of it', async () => {
    const { dispatcher, runner } = watched()
    const exporter = new InMemorySpanExporter()
    const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })
    dispatcher.use(traceHooks({ tracer: provider.getTracer('test') }))
    const expert = new Agent({ name: 'expert', model: scripted(LOOK, 'late'), tools: [looking([])] })
    const asTool = expert.asTool({ toolName: 'expert', toolDescription: '', runOptions: { maxTurns: 1 } })
    const model = scripted([['expert', { input: 'help' }]], 'done')

    await runner.run(agentOf({ model, tools: [asTool] }), 'hi')

    const span = exporter.getFinishedSpans().find(({ name }) => name === 'invoke_agent expert')
    expect(span?.attributes['hookspan.operation.reason']).toBe('max_steps')
    expect(span?.attributes['error.type']).toBe('MaxTurnsExceededError')
  })

  it('that ends at its turns with a result of a handler is told as one that did', async () => {
    const { events, runner } = watched()
    const expert = new Agent({ name: 'expert', model: scripted(LOOK, 'late'), tools: [looking([])] })
    const errorHandlers = { maxTurns: () => ({ finalOutput: 'so far' }) }
    const runOptions = { maxTurns: 1, errorHandlers }
    const asTool = expert.asTool({ toolName: 'expert', toolDescription: '', runOptions })
    const model = scripted([['expert', { input: 'help' }]], 'done')

    await runner.run(agentOf({ model, tools: [asTool] }), 'hi')

    const told = { reason: 'max_steps', success: false, content: 'so far' }
    expect(findAll(events, 'afterCallAgent')).toMatchObject([told])
    expect(findAll(events, 'afterToolCall').at(-1)).toMatchObject({ apiName: 'expert', content: 'so far' })
  })

  it('that a gate refuses is not run, and the tool tells the model', async () => {
    const { dispatcher, events, runner } = watched()
    const gate = { id: 'no', point: 'beforeCallAgent', decide: () => deny('not that one') } as const
    dispatcher.use({ name: 'g', gates: [gate] })
    const inner = scripted('never')
    const expert = new Agent({ name: 'expert', model: inner }).asTool({
      toolName: 'expert',
      toolDescription: '',
    })
    const model = scripted([['expert', { input: 'help' }]], 'done')

    await runner.run(agentOf({ model, tools: [expert] }), 'hi')

    expect(inner.calls).toEqual([])
    expect(JSON.stringify(model.lastCall?.request.input)).toContain('not that one')
    expect(findAll(events, 'afterToolCall')).toMatchObject([{ apiName: 'expert', success: false }])
  })

  it.each(['in a tool of its own', 'by hand'])(
    'is asked what a gate made of its instruction, beside pictures and what was said before: %s',
    async (how) => {
      const { dispatcher, events, runner } = watched()
      const decide = ({ payload }: { payload: unknown }) => mutate(String(payload).replace('ann', '[name]'))
      dispatcher.use({ name: 'g', gates: [{ id: 'no', point: 'beforeCallAgent', decide }] })
      const image = { type: 'input_image', image: 'https://shop.test/a.png' }
      const before = { role: 'user', content: 'Before.' }
      const ask = (who: string) => [
        before,
        { role: 'user', content: [{ type: 'input_text', text: `Find ${who}.` }, image] },
      ]
      const inner = scripted('found')
      const expert = new Agent({ name: 'expert', model: inner })
      const about = { name: 'expert', description: '', parameters: z.object({ who: z.string() }) }
      const asks =
        how === 'by hand'
          ? tool({
              ...about,
              execute: async ({ who }) => (await runner.run(expert, ask(who) as never)).finalOutput,
            })
          : expert.asTool({
              ...{ toolName: 'expert', toolDescription: '', parameters: about.parameters },
              inputBuilder: ({ params }) => ask((params as { who: string }).who) as never,
            })
      const model = scripted([['expert', { who: 'ann' }]], 'done')

      await runner.run(agentOf({ model, tools: [asks] }), 'hi')

      expect(findAll(events, 'beforeCallAgent')).toMatchObject([{ instruction: 'Find [name].' }])
      expect(inner.lastCall?.request.input).toEqual([
        before,
        { role: 'user', content: [{ type: 'input_text', text: 'Find [name].' }, image] },
      ])
    },
  )

  it('runs under strict mocks, as what it calls is mocked', async () => {
    const { dispatcher, runner } = watched()
    const bodies: string[] = []
    const tools = [looking(bodies)]
    const expert = () => new Agent({ name: 'expert', model: scripted(LOOK, 'it is 42'), tools })
    const asTool = expert().asTool({ toolName: 'ask', toolDescription: '' })
    const model = scripted([['ask', { input: 'help' }]], [['transfer_to_expert', {}]])
    const support = Agent.create({ name: 'support', model, tools: [asTool], handoffs: [expert()] })
    using mocks = mockTools(dispatcher, [mock('look').times(2).returns('mocked')])

    const result = await runner.run(support, 'hi')

    expect(result.finalOutput).toBe('it is 42')
    mocks.assertUsed()
    expect(bodies).toEqual([])
    expect(mocks.calls().map(({ apiName, answeredBy }) => [apiName, answeredBy])).toEqual([
      ['ask', 'agent'],
      ['look', 'mock'],
      ['transfer_to_expert', 'agent'],
      ['look', 'mock'],
    ])
    expect(mocks.coverage()).toMatchObject({ live: [], refused: [], mocked: ['look'] })
  })

  it('is told with all that it did, streamed or run by hand in a tool', async () => {
    const { events, runner } = watched()
    const expert = new Agent({ name: 'expert', model: scripted('it is 42') })
    const ask = looking([], {
      name: 'ask',
      execute: async () => {
        const result = await globalRun(expert, 'help', { stream: true })
        await result.completed
        return result.finalOutput
      },
    })
    const model = scripted([['ask', { q: 'x' }]], 'done')

    await runner.run(agentOf({ model, tools: [ask] }), 'hi')

    expect(findAll(events, 'afterCallAgent')).toMatchObject([{ agentName: 'expert', content: 'it is 42' }])
    expect(findAll(events, 'afterToolCall')).toMatchObject([{ apiName: 'ask', result: 'it is 42' }])
  })
})

describe('what fails on our side', () => {
  it('never reaches the agent', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    const dispatcher = new HookDispatcher({ onHookError: () => {} })
    const boom = () => {
      throw new Error('boom')
    }
    dispatcher.use({
      name: 'broken',
      hooks: (['beforeStep', 'afterStep', 'beforeToolCall', 'afterToolCall', 'onComplete'] as const).map(
        (type) => ({ id: `broken-${type}`, type, handler: boom }),
      ),
      instrument: { start: boom },
    })
    const bodies: string[] = []
    const agent = agentOf({
      model: scripted(LOOK, 'done'),
      tools: [looking(bodies)],
      outputType: z.object({ a: z.string() }) as never,
    })
    agent.model = scripted(LOOK, '{"a":"b"}')

    const result = await observed(bareRunner(), { dispatcher }).run(agent, 'hi')

    expect(result.finalOutput).toEqual({ a: 'b' })
    expect(bodies).toEqual(['a'])
    warn.mockRestore()
  })

  it('is not done to a model that is frozen: it is said, and its tools are observed all the same', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    const bodies: string[] = []
    const { runner, events } = watched()
    const model = scripted(LOOK, 'done')
    // A name of its own: what is said of another is said once in the process.
    const frozen = Object.freeze(Object.defineProperty(model, 'constructor', { value: class FrozenModel {} }))
    const agent = agentOf({ model: frozen, tools: [looking(bodies)] })

    const { finalOutput } = await runner.run(agent, 'hi')

    expect({ finalOutput, bodies }).toEqual({ finalOutput: 'done', bodies: ['a'] })
    expect(findAll(events, 'afterToolCall')).toHaveLength(1)
    expect(findAll(events, 'onComplete')).toMatchObject([{ reason: 'done' }])
    expect(findAll(events, 'beforeLlmCall')).toEqual([])
    expect(warn.mock.calls).toEqual([[expect.stringMatching(/the model FrozenModel is frozen/)]])
    warn.mockRestore()
  })
})
