/** Tests that fail on purpose: fixtures.test.ts runs them in a vitest of their own and looks at which fail, and how. */

import assert from 'node:assert/strict'
import { HookDispatcher, type HookEvent } from 'hookspan'
import { execAgent } from 'hookspan/agent'
import { requireApproval } from 'hookspan/gates'
import { callTool, human, mock, mockTools, replayTools, scriptedApprovals } from 'hookspan/mock'
import { expect, test } from 'hookspan/vitest'

const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const agent = {
  name: 'weather',
  model: 'scripted',
  tools: [
    {
      name: 'get_weather',
      parameters,
      execute: () => {
        throw new Error('the real tool ran')
      },
    },
  ],
}
const ask = callTool('get_weather', { city: 'Berlin' })
const prompt = 'How warm is it?'

test('ok: everything is used', async ({ dispatcher, mocks, model }) => {
  mocks.use(mock('get_weather').returns({ tempC: 7 }))
  const run = await execAgent({ agent, prompt, dispatcher, client: model([ask, '7 °C']) })
  expect(run).toHaveCalledTool('get_weather', { city: 'Berlin' })
  expect(run.content).toBe('7 °C')
})

test('bad: a call without a mock, swallowed by the agent', async ({ dispatcher, mocks, model }) => {
  expect(mocks.calls()).toEqual([])
  const run = await execAgent({ agent, prompt, dispatcher, client: model([ask, 'sorry']) })
  expect(run.content).toBe('sorry')
})

test('bad: a mock that is not used', async ({ mocks }) => {
  mocks.use(mock('get_weather').returns(1))
})

test('bad: a request that the model does not expect, and what is not used for that', async ({
  dispatcher,
  mocks,
  model,
}) => {
  mocks.use(mock('get_weather').returns(7), mock('get_weather').returns(8), mock('get_weather').returns(9))
  await execAgent({ agent, prompt, dispatcher, client: model([ask]) })
})

test('bad: mocks of an agent that has another dispatcher', async ({ mocks, model }) => {
  mocks.use(mock('get_weather').optional().returns(1))
  await execAgent({ agent, prompt, dispatcher: new HookDispatcher(), client: model([ask, '7 °C']) })
  expect(mocks.calls('get_weather')).toEqual([])
})

test('ok: mocks where nothing is to run', async ({ mocks, trace }) => {
  mocks.use(mock('get_weather').optional().returns(1))
  expect(trace.spans).toEqual([])
})

test('bad: mocks of an agent that has another dispatcher, whose spans are looked through', async ({
  mocks,
  model,
  trace,
}) => {
  mocks.use(mock('get_weather').optional().returns(1))
  await execAgent({ agent, prompt, dispatcher: new HookDispatcher(), client: model([ask, '7 °C']) })
  expect(trace.spans.filter(({ name }) => name === 'execute_tool get_weather')).toEqual([])
})

test('bad: a mock for a tool that no agent has', async ({ dispatcher, mocks, model }) => {
  mocks.use(mock('get_wether').returns(1))
  await execAgent({ agent, prompt, dispatcher, client: model(['hello']) })
})

test('bad: arguments that break the schema', async ({ dispatcher, mocks, model }) => {
  mocks.use(mock('get_weather').returns(1))
  await execAgent({
    agent,
    prompt,
    dispatcher,
    client: model([callTool('get_weather', { town: 1 }), 'done']),
  })
})

test('bad: a result that breaks the schema', async ({ dispatcher, mocks }) => {
  mocks.use(mock('t').returns('text'))
  const operation = dispatcher.startOperation()
  await operation.toolCall({ apiName: 't', args: {}, outputSchema: { type: 'number' } }, () => 1)
  await operation.complete()
})

test('bad: a step of the model that is not asked for', async ({ dispatcher, model }) => {
  await execAgent({ agent, prompt, dispatcher, client: model(['hello', 'never said']) })
})

test('bad: a request that the model does not expect', async ({ dispatcher, mocks, model }) => {
  mocks.use(mock('get_weather').returns(1))
  await execAgent({ agent, prompt, dispatcher, client: model([ask]) })
})

const tooCold = (value: unknown) => expect(value, 'the town').toBe('Oslo')

test('bad: a mock that expects what is not so', async ({ dispatcher, mocks, model }) => {
  mocks.use(mock('get_weather').calls(({ city }) => tooCold(city)))
  await execAgent({ agent, prompt, dispatcher, client: model([ask, 'sorry']) })
})

test('bad: a hook that expects what is not so', async ({ dispatcher }) => {
  const handler = ({ args }: HookEvent<'beforeToolCall'>) => tooCold((args as { city: string }).city)
  dispatcher.use({ name: 'mine', hooks: [{ id: 'mine', type: 'beforeToolCall', handler }] })
  await dispatcher.startOperation().toolCall({ apiName: 'get_weather', args: { city: 'Berlin' } }, () => 1)
})

test('bad: a gate that expects what is not so', async ({ dispatcher }) => {
  const decide = ({ payload }: { payload: unknown }) => tooCold((payload as { city: string }).city)
  dispatcher.use({ name: 'mine', gates: [{ id: 'mine', point: 'beforeToolCall', decide: decide as never }] })
  await dispatcher.startOperation().toolCall({ apiName: 'get_weather', args: { city: 'Berlin' } }, () => 1)
})

const withTool = (tool: object) => ({ ...agent, tools: [{ ...agent.tools[0], ...tool } as never] })

test('bad: a tool that needs approval by what is not so', async ({ dispatcher, mocks, model }) => {
  mocks.use(mock('get_weather').optional().returns(1))
  const asks = withTool({ needsApproval: ({ city }: { city: string }) => tooCold(city) })
  await execAgent({ agent: asks, prompt, dispatcher, client: model([ask, 'sorry']) })
})

test('bad: a tool of the test that expects what is not so', async ({ dispatcher, model }) => {
  const real = withTool({ execute: ({ city }: { city: string }) => tooCold(city) })
  await execAgent({ agent: real, prompt, dispatcher, client: model([ask, 'sorry']) })
})

test('ok: a tool whose own assertion fails, which is what it is tested for', async ({
  dispatcher,
  model,
}) => {
  const real = withTool({ execute: ({ city }: { city: string }) => assert(city === 'Oslo', 'unknown') })
  const run = await execAgent({ agent: real, prompt, dispatcher, client: model([ask, 'sorry']) })
  expect(run).toHaveCalledTool('get_weather', undefined, { outcome: 'errored' })
})

test('bad: a hook that expects what is not so, later, in one of several runs', async ({ repeat }) => {
  const report = await repeat(1, async ({ dispatcher }) => {
    const handler = async () => tooCold('Rome')
    dispatcher.use({ name: 'mine', hooks: [{ id: 'mine', type: 'onComplete', handler }] })
    await dispatcher.startOperation().complete()
  })
  expect(report.passed).toBe(1)
})

test('ok: an expectation in a hook of another dispatcher', async ({ trace }) => {
  const other = new HookDispatcher({ onHookError: () => {} })
  const hook = { id: 'mine', type: 'onStart', handler: () => tooCold('Rome') } as const
  other.use({ name: 'mine', hooks: [hook] })
  await other.startOperation().complete()
  expect(trace.events).toEqual([])
})

const gated = (dispatcher: HookDispatcher) =>
  dispatcher.use({
    name: 'gate',
    gates: [{ id: 'ask', point: 'beforeToolCall', decide: () => requireApproval({ timeoutMs: 1_000 }) }],
  })

test('bad: a human nobody scripted is asked', async ({ dispatcher, mocks, model, humans }) => {
  gated(dispatcher)
  mocks.use(mock('get_weather').optional().returns(1))
  humans.add()
  await execAgent({ agent, prompt, dispatcher, client: model([ask, 'done']) })
})

test('bad: a human who is not asked', async ({ humans }) => {
  humans.add(human('get_weather').approves())
})

test('bad: a human whose edits expect what is not so', async ({ dispatcher, mocks, model, humans }) => {
  gated(dispatcher)
  mocks.use(mock('get_weather').optional().returns(1))
  humans.add(human('get_weather').edits(({ city }: { city: string }) => tooCold(city)))
  await execAgent({ agent, prompt, dispatcher, client: model([ask, 'done']) })
})

test('bad: a human who expects what is not so', async ({ dispatcher, mocks, model, humans }) => {
  gated(dispatcher)
  mocks.use(mock('get_weather').optional().returns(1))
  const inOslo = ({ city }: { city: string }) => tooCold(city) === undefined
  humans.add(human('get_weather').when(inOslo).approves())
  await execAgent({ agent, prompt, dispatcher, client: model([ask, 'done']) })
})

test('ok: a human approves', async ({ dispatcher, mocks, model, humans, trace }) => {
  gated(dispatcher)
  mocks.use(mock('get_weather').returns(1))
  humans.add(human('get_weather').approves())
  await execAgent({ agent, prompt, dispatcher, client: model([ask, 'done']) })
  expect(trace).toHaveAskedHuman('get_weather', { action: 'approve' })
  expect(trace).not.toHaveBeenDenied()
})

test('bad: an assertion on the trajectory', async ({ dispatcher, mocks, model }) => {
  mocks.use(mock('get_weather').returns(1))
  const run = await execAgent({ agent, prompt, dispatcher, client: model([ask, 'done']) })
  expect(run).toMatchTrajectory(['get_weather', 'book_flight'])
})

test('bad: an assertion on a run that failed', async ({ dispatcher }) => {
  const create = () => Promise.reject(new Error('the model is away'))
  const client = { chat: { completions: { create } }, responses: { create } }
  const run = await execAgent({ agent, prompt, dispatcher, client: client as never })
  expect(run).toHaveCalledTool('get_weather')
})

test.concurrent.for(Array.from({ length: 8 }, (_, index) => index))(
  'ok: concurrent %i',
  async (index, { dispatcher, mocks, model }) => {
    mocks.use(
      mock('get_weather')
        .delays(index % 3)
        .returns(index),
    )
    const run = await execAgent({ agent, prompt, dispatcher, client: model([ask, `answer ${index}`]) })
    expect(run.content).toBe(`answer ${index}`)
    expect(mocks.calls()).toHaveLength(1)
  },
)

test.concurrent('bad: concurrent, and only this one', async ({ dispatcher, mocks, model }) => {
  mocks.use(mock('other').optional().returns(1))
  await execAgent({ agent, prompt, dispatcher, client: model([ask, 'done']) })
})

test('ok: several runs, some of which fail', async ({ repeat }) => {
  const report = await repeat(8, async ({ index, dispatcher, mocks, model }) => {
    mocks.use(mock('get_weather').returns(1), mock('only_repeated').returns(1))
    await dispatcher.startOperation().toolCall({ apiName: 'only_repeated', args: {} }, () => 'real')
    const client = model(index % 4 === 3 ? ['I will not call a tool'] : [ask, 'done'])
    await execAgent({ agent, prompt, dispatcher, client })
  })
  expect(report.passed).toBe(6)
  expect(report.failures.map(({ index }) => index)).toEqual([3, 7])
  expect(report.failures[0]?.error.message).toContain('A mock was not used')
  expect(report.passHat(1)).toBeCloseTo(0.75)
  expect(report.passHat(2)).toBeCloseTo(30 / 56)
  expect(report.passHat(8)).toBe(0)
})

test('ok: several runs, none of which fails', async ({ repeat }) => {
  await repeat(2, () => {})
})

test('bad: several runs, at whose report nobody looks', async ({ repeat }) => {
  await repeat(2, async ({ index }) => expect(index).toBe(0))
})

const instant = { ...agent, tools: agent.tools.map((tool) => ({ ...tool, execute: () => 1 })) }

test('bad: a run that nobody awaits', ({ dispatcher, model, trace }) => {
  void execAgent({ agent: instant, prompt, dispatcher, client: model(['hello', 'never said']) })
  expect(trace).not.toHaveCalledTool('get_weather')
})

test('ok: a run that is ended in the test', async ({ dispatcher, mocks, model }) => {
  mocks.use(mock('get_weather').hangs())
  void execAgent({ agent, prompt, dispatcher, client: model([ask]) })
  await expect.poll(() => mocks.calls('get_weather')).toHaveLength(1)
  dispatcher.interruptAll()
})

test('ok: a loop that stands still', async ({ dispatcher, mocks }) => {
  mocks.use(mock('get_weather').returns(1))
  const operation = dispatcher.startOperation()
  await operation.toolCall({ apiName: 'get_weather', args: { city: 'Berlin' } }, () => 2)
})

test('bad: several runs that nobody awaits', ({ repeat }) => {
  void repeat(2, () => new Promise((resolve) => setTimeout(resolve, 50)))
})

test('ok: a sub-agent has one span, as in a real trace', async ({ dispatcher, mocks, model, trace }) => {
  mocks.use(mock('weather > get_weather').returns(1))
  const client = model([callTool('weather', { instruction: 'go' }), ask, 'sunny', 'done'])
  const boss = { name: 'boss', model: 'm', tools: [], subAgents: [agent] }
  const run = await execAgent({ agent: boss, prompt, dispatcher, client })
  const expected = [
    {
      name: 'invoke_agent weather',
      parent: 'execute_tool weather',
      attributes: { 'gen_ai.agent.name': 'weather' },
    },
    { name: 'execute_tool get_weather', under: 'invoke_agent weather' },
  ]
  for (const source of [trace, trace.events, trace.toJSON(), run]) {
    expect(source).toHaveSpans(expected)
    expect(source).not.toHaveSpans(['invoke_agent weather', 'invoke_agent weather'])
  }
})

test('ok: without mocks the real tool runs', async ({ dispatcher, model, trace }) => {
  const real = {
    ...agent,
    tools: [{ ...agent.tools[0], name: 'get_weather', parameters, execute: () => 'sunny' }],
  }
  await execAgent({ agent: real, prompt, dispatcher, client: model([ask, 'done']) })
  expect(trace).toMatchTrajectory([{ name: 'get_weather', args: { city: 'Berlin' }, result: 'sunny' }])
})

const folder = process.env.INNER_RECORDINGS as string
const real = { ...agent, tools: [{ name: 'get_weather', parameters, execute: () => ({ tempC: 7 }) }] }

test('ok: a recording is made where there is none', async ({ dispatcher, model, replay, trace }) => {
  expect(replay({ folder, mode: 'auto' }).mode).toBe('record')
  await execAgent({ agent: real, prompt, dispatcher, client: model([ask, 'done']) })
  expect(trace).toHaveSpans([{ name: 'execute_tool get_weather', under: 'invoke_agent weather' }])
})

test('bad: a recording that is missing under strict', async ({ replay }) => {
  replay({ folder, mode: 'strict' })
})

test('bad: mocks of its own that nobody takes out', async ({ dispatcher, model }) => {
  mockTools(dispatcher)
  const run = await execAgent({ agent: real, prompt, dispatcher, client: model([ask, 'sorry']) })
  expect(run.content).toBe('sorry')
})

test('bad: a replay of its own that nobody takes out', async ({ dispatcher, model }) => {
  const args = { city: 'Oslo' }
  const call = { agent: 'weather', run: 0, step: 0, tool: 'get_weather', args, result: 1 }
  const recording = { format: 'hookspan-recording', version: 1, redacted: false, tools: {}, calls: [call] }
  replayTools(dispatcher, { recording: recording as never })
  await execAgent({ agent: real, prompt, dispatcher, client: model([ask, 'sorry']) })
})

test('bad: a scripted human of its own who is not asked', async ({ dispatcher, model }) => {
  scriptedApprovals(dispatcher, [human('get_weather').approves()])
  await execAgent({ agent: real, prompt, dispatcher, client: model([ask, '7 °C']) })
})

test('ok: mocks of its own, whose failures it has seen', async ({ dispatcher, model }) => {
  const mocks = mockTools(dispatcher)
  const other = mockTools(dispatcher, [mock('get_weather').once().returns(1)])
  await execAgent({ agent: real, prompt, dispatcher, client: model([ask, ask, 'sorry']) })
  expect(() => mocks.assertUsed()).not.toThrow()
  expect(() => other.assertUsed()).toThrow('no mock fits')
  mockTools(dispatcher, [mock('get_weather').returns(1)]).detach()
})

test('bad: mocks of its own, and an expect', async ({ dispatcher, model }) => {
  using _mocks = mockTools(dispatcher)
  const run = await execAgent({ agent: real, prompt, dispatcher, client: model([ask, 'sorry']) })
  expect(run.content).toBe('7 °C')
})
