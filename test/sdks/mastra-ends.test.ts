import { HookDispatcher } from 'hookspan'
import { deny, mutate } from 'hookspan/gates'
import { observeMastra } from 'hookspan/mastra'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { scripted } from '../adapter/subjects/ai-sdk.ts'
import { all } from '../support/seen-by-caller.ts'
import { dispatcherWith, eventsOf, findAll, gate } from '../support/told-events.ts'
import type { Untyped } from './support/sdks.ts'

/** By a name that nobody looks up where the SDK is not installed. */
const AGENTS = '@mastra/core/agent'
const { Agent }: Untyped = await import(AGENTS)

const METHODS = ['generate', 'stream'] as const

/** What an agent that is attached, or is not, gives, and how its runs and model calls are told. */
async function ran(method: (typeof METHODS)[number], attach: boolean, more: object) {
  const dispatcher = new HookDispatcher()
  const events = eventsOf(dispatcher)
  const agent = new Agent({ id: 's', name: 's', instructions: '', ...more })
  if (attach) observeMastra(agent, { dispatcher })
  const said = await agent[method]('hi')
    .then(async (result: Untyped) => {
      const said = { text: await result.text, finishReason: await result.finishReason }
      return { ...said, tripwire: result.tripwire }
    })
    .catch(({ name, message }: Error) => ({ name, message }))
  await expect.poll(() => dispatcher.stats().operations).toBe(0)
  await dispatcher.drain()
  const told = {
    reasons: findAll(events, 'onComplete').map(({ reason }) => reason),
    errors: findAll(events, 'onError').map(({ errorType, errorMessage }) => `${errorType}: ${errorMessage}`),
    modelErrors: findAll(events, 'onLlmCallError').map(({ errorMessage }) => errorMessage),
  }
  return { said, told }
}

describe('a model by its name that has no key', () => {
  const NO_KEY = /Could not find API key/
  const other = () => scripted([{ content: 'said by the other' }])
  const MODELS: Record<string, () => unknown> = {
    alone: () => 'openai/gpt-4o',
    'before another one': () => [{ model: 'openai/gpt-4o', maxRetries: 1 }, { model: other() }],
  }

  it.each(Object.entries(MODELS))('is what it is without us, %s', async (_name, modelOf) => {
    vi.stubEnv('OPENAI_API_KEY', undefined)
    onTestFinished(() => void vi.unstubAllEnvs())
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const { said, told } = await ran('generate', true, { model: modelOf() })
    expect(said).toEqual((await ran('generate', false, { model: modelOf() })).said)
    expect(told.reasons).toEqual(['error'])
    expect(told.errors).toEqual([expect.stringMatching(NO_KEY)])
    expect(told.modelErrors).toEqual([expect.stringMatching(NO_KEY)])
  })
})

describe.each(METHODS)('a run that a processor ends: %s()', (method) => {
  type Abort = { abort: (reason: string, options?: object) => never }
  const PROCESSORS: Record<string, [kind: string, processor: object]> = {
    'before the model is asked': ['inputProcessors', { processInput: ({ abort }: Abort) => abort('no') }],
    'after it has answered': ['outputProcessors', { processOutputResult: ({ abort }: Abort) => abort('no') }],
  }

  it.each(Object.entries(PROCESSORS))('has failed, %s', async (_name, [kind, processor]) => {
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const more = () => ({ model: scripted([{ content: 'yes' }]), [kind]: [{ id: 'guard', ...processor }] })
    const { said, told } = await ran(method, true, more())
    expect(said).toMatchObject({ tripwire: { reason: 'no' } })
    expect(said).toEqual((await ran(method, false, more())).said)
    expect(told).toEqual({ reasons: ['error'], errors: ['TripWire: processor "guard": no'], modelErrors: [] })
  })

  it('has failed where the processor throws', async () => {
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const broken = { id: 'broken', processOutputResult: () => Promise.reject(new Error('it broke')) }
    const { told } = await ran(method, true, {
      model: scripted([{ content: 'yes' }]),
      outputProcessors: [broken],
    })
    expect(told.errors).toEqual([expect.stringContaining('it broke')])
    expect(told.reasons).toEqual(['error'])
  })

  it('has not where the model is asked once more', async () => {
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const once = ({ abort, text }: Abort & { text?: string }) => {
      if (text === 'no') abort('say yes', { retry: true })
    }
    const { said, told } = await ran(method, true, {
      model: scripted([{ content: 'no' }, { content: 'yes' }]),
      maxProcessorRetries: 1,
      outputProcessors: [{ id: 'guard', processOutputStep: once }],
    })
    expect(said).toMatchObject({ text: 'yes' })
    expect(told).toEqual({ reasons: ['done'], errors: [], modelErrors: [] })
  })
})

/** What has been shown of it cannot be taken back. */
describe.each([
  ['refuses', () => deny('not that')],
  ['changes', () => mutate({ content: 'other' })],
])('a last word that a gate %s, of a stream', (way, decide) => {
  const reading: Record<string, (stream: Untyped) => Promise<unknown>> = {
    fullStream: async ({ fullStream }) => (await all(fullStream)).length > 0,
    textStream: async ({ textStream }) => (await all(textStream)).length > 0,
    'no more than its text': async () => true,
  }
  const why = way === 'refuses' ? /not that/ : /beforeComplete gate changed/

  it.each(Object.entries(reading))('is an error of what it gives, read by %s', async (_name, read) => {
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const { dispatcher, events } = dispatcherWith(gate('beforeComplete', decide))
    const agent = observeMastra<Untyped>(
      new Agent({ id: 's', name: 's', instructions: '', model: scripted([{ content: 'yes' }]) }),
      { dispatcher },
    )
    const finished: unknown[] = []
    const stream = await agent.stream('hi', {
      onFinish: ({ error }: Untyped) => finished.push(error?.message),
    })
    expect(await read(stream)).toBe(true)
    expect([await stream.text, await stream.finishReason]).toEqual(['', 'error'])
    expect(stream.error.message).toMatch(why)
    await expect.poll(() => finished).toEqual([expect.stringMatching(why)])
    await dispatcher.drain()
    expect(findAll(events, 'onComplete').map(({ reason }) => reason)).toEqual([
      way === 'refuses' ? 'denied' : 'done',
    ])
  })

  it('is an error of its call where the agent is that of another one', async () => {
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const expert = new Agent({ id: 'e', name: 'e', instructions: '', model: scripted([{ content: 'yes' }]) })
    const { dispatcher, events } = dispatcherWith(
      gate('beforeComplete', ({ agentName }) => (agentName === 'e' ? decide() : undefined)),
    )
    const toolCalls = [{ id: 'c', name: 'agent-expert', args: { prompt: 'go' } }]
    const model = scripted([{ toolCalls }, { content: 'done' }])
    const more = { model, agents: { expert } }
    const agent = observeMastra<Untyped>(new Agent({ id: 's', name: 's', instructions: '', ...more }), {
      dispatcher,
    })
    const stream = await agent.stream('hi')
    expect((await all(stream.textStream)).join('')).toBe('done')
    await dispatcher.drain()
    expect(findAll(events, 'onToolCallError').map(({ errorMessage }) => errorMessage)).toEqual([
      expect.stringContaining('Failed agent tool execution'),
    ])
  })
})

it.each([
  ['generate', 'onStart'],
  ['generate', 'beforeCallAgent'],
  ['generate', 'beforeComplete'],
  ['stream', 'onStart'],
  ['stream', 'beforeCallAgent'],
] as const)(
  'why an agent of another one was refused is told to its model and to hooks (%s, %s)',
  async (method, point) => {
    const refusing = gate(point, ({ agentName }) =>
      agentName === 'e' || point === 'beforeCallAgent' ? deny('closed today') : undefined,
    )
    const { dispatcher, events } = dispatcherWith(refusing)
    const expert = new Agent({ id: 'e', name: 'e', instructions: '', model: scripted([{ content: 'yes' }]) })
    const toolCalls = [{ id: 'c', name: 'agent-expert', args: { prompt: 'go' } }]
    const asked: string[] = []
    const model = scripted([{ toolCalls }, { content: 'done' }], (request) =>
      asked.push(JSON.stringify(request)),
    )
    const more = { model, agents: { expert } }
    const agent = observeMastra<Untyped>(new Agent({ id: 's', name: 's', instructions: '', ...more }), {
      dispatcher,
    })
    const result = await agent[method]('hi')
    expect(await result.text).toBe('done')
    await dispatcher.drain()
    expect(asked[1]).toContain('closed today')
    expect(findAll(events, 'onToolCallError')).toMatchObject([
      { errorMessage: expect.stringContaining('closed today') },
    ])
  },
)
