import { HookDispatcher } from 'hookspan'
import { execAgent } from 'hookspan/agent'
import {
  callTool,
  mock,
  mockTools,
  noLiveCalls,
  recordTools,
  replayTools,
  scriptedModel,
} from 'hookspan/mock'
import { expect } from 'hookspan/vitest'
import { it } from 'vitest'

/** Hands the task to an agent that searches. `searched` counts the calls of the real tool. */
function setup() {
  const searched: unknown[] = []
  const parameters = { type: 'object', properties: { q: { type: 'string' } } }
  const execute = (args: unknown) => {
    searched.push(args)
    return { hits: 2 }
  }
  const researcher = { name: 'researcher', model: 'm', tools: [{ name: 'search', parameters, execute }] }
  const agent = { name: 'support', model: 'm', tools: [], subAgents: [researcher] }
  const dispatcher = new HookDispatcher()
  const run = async ({ q = 'x' } = {}) => {
    using client = scriptedModel([
      callTool('researcher', { instruction: 'find it' }),
      callTool('search', { q }),
      'two hits',
      'done',
    ])
    return await execAgent({ agent, prompt: 'go', dispatcher, client })
  }
  return { dispatcher, run, searched }
}

it('runs under strict mocks, and the calls that it makes are mocked', async () => {
  const { dispatcher, run, searched } = setup()
  using mocks = mockTools(dispatcher, [mock('researcher > search').returns({ hits: 7 })])
  using _live = noLiveCalls()
  expect(await run()).toMatchTrajectory([{ name: 'researcher', result: 'two hits' }])
  expect(searched).toEqual([])
  expect(mocks.calls().map(({ apiName, answeredBy }) => [apiName, answeredBy])).toEqual([
    ['researcher', 'agent'],
    ['search', 'mock'],
  ])
  expect(mocks.coverage()).toEqual({ discovered: ['search'], mocked: ['search'], live: [], refused: [] })
})

it('fails the test when one of its calls has no mock', async () => {
  const { dispatcher, run, searched } = setup()
  const mocks = mockTools(dispatcher, [])
  await run()
  expect(searched).toEqual([])
  expect(() => mocks.assertUsed()).toThrow(
    /^Tool "search" was called, and no mock fits\.\n {2}called {3}search\({"q":"x"}\) {2}in support > researcher/,
  )
})

it('is mocked whole by a rule of its own', async () => {
  const { dispatcher } = setup()
  const researcher = { name: 'researcher', model: 'm', tools: [] }
  using _mocks = mockTools(dispatcher, [mock('researcher').returns('two hits')])
  using client = scriptedModel([callTool('researcher', { instruction: 'find it' }), 'done'])
  const agent = { name: 'support', model: 'm', tools: [], subAgents: [researcher] }
  await execAgent({ agent, prompt: 'go', dispatcher, client })
})

it('is replayed from the inside: it runs, and its calls are answered from the recording', async () => {
  const { dispatcher, run, searched } = setup()
  using recorder = recordTools(dispatcher)
  await run()
  const recording = recorder.recording()
  recorder.stop()
  expect(recording.calls.map(({ agent, tool }) => `${agent}: ${tool}`)).toEqual([
    'support: researcher',
    'support > researcher: search',
  ])
  {
    using replay = replayTools(dispatcher, { recording })
    using _live = noLiveCalls()
    await run()
    expect(replay.report()).toMatchObject({ recorded: 2, served: 2, divergences: [] })
  }
  expect(searched).toHaveLength(1)
  const replay = replayTools(dispatcher, { recording })
  await run({ q: 'y' })
  expect(() => replay[Symbol.dispose]()).toThrow('args.q: expected "x", got "y"')
})
