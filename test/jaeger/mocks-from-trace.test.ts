import { HookDispatcher } from 'hookspan'
import { execAgent } from 'hookspan/agent'
import { deny } from 'hookspan/gates'
import { callTools, mock, mockTools, recordingFromTrace, replayTools, scriptedModel } from 'hookspan/mock'
import { idsOfOperation, startTracing } from 'hookspan/tracing'
import { expect } from 'hookspan/vitest'
import { afterAll, beforeAll, it } from 'vitest'
import { loadTrace } from '../../src/cli/mocks/load-trace.ts'
import { type Jaeger, startJaeger } from '../support/jaeger.ts'

let jaeger: Jaeger
beforeAll(async () => {
  jaeger = await startJaeger()
})
afterAll(() => jaeger?.stop())

const agent = {
  name: 'support',
  model: 'm',
  tools: ['find_order', 'weather', 'drop'].map((name) => ({
    name,
    parameters: { type: 'object' },
    execute: ({ id }: Record<string, unknown>) => ({ id, state: 'open' }),
  })),
}
const steps = [callTools(['find_order', { id: 7 }], ['weather', { city: 'Ulm' }], ['drop', {}]), 'done']
const gates = [
  {
    id: 'no-drop',
    point: 'beforeToolCall' as const,
    decide: ({ apiName }: { apiName?: string }) =>
      apiName === 'drop' ? deny('never', { code: 'policy' }) : undefined,
  },
]

it('asserts on a run that is read from Jaeger, and makes a recording of it that replays', async () => {
  const tracing = startTracing({ serviceName: 'from-trace', endpoint: jaeger.otlpUrl, captureContent: true })
  const dispatcher = new HookDispatcher()
  dispatcher.use(tracing)
  dispatcher.use({ name: 'gates', gates })
  using _mocks = mockTools(dispatcher, [mock('weather').returns('sunny'), mock('find_order').passesThrough()])
  const { operationId } = await execAgent({ agent, prompt: 'go', dispatcher, client: scriptedModel(steps) })
  const { traceId } = idsOfOperation(operationId)
  await tracing.shutdown()
  await jaeger.getTrace(traceId, { spanCount: 8 })

  for (const path of [`/api/traces/${traceId}`, `/api/v3/traces/${traceId}`]) {
    const response = await fetch(new URL(path, jaeger.uiUrl))
    const trace = (await response.json()) as object
    expect(trace).toMatchTrajectory([
      {
        name: 'find_order',
        args: { id: 7 },
        result: { id: 7, state: 'open' },
        outcome: 'completed',
        agent: 'support',
      },
      { name: 'weather', args: { city: 'Ulm' }, outcome: 'mocked' },
      { name: 'drop', outcome: 'denied' },
    ])
    expect(trace).toHaveBeenDenied('drop', { code: 'policy' })
    expect(trace).toHaveSpans([
      'invoke_agent support',
      {
        name: 'execute_tool weather',
        attributes: { 'hookspan.mock.rule': 'mock("weather").returns("sunny")' },
        parent: 'step 0',
      },
    ])
  }

  const { recording, leftOut } = recordingFromTrace(await loadTrace(traceId, { jaeger: jaeger.uiUrl }))
  expect(leftOut).toEqual(['weather: mocked (mock)', 'drop: denied'])
  const again = new HookDispatcher()
  again.use({ name: 'gates', gates })
  using replay = replayTools(again, { recording })
  const client = scriptedModel([callTools(['find_order', { id: 7 }], ['drop', {}]), 'done'])
  const run = await execAgent({ agent, prompt: 'go', dispatcher: again, client })
  expect(run).toHaveCalledTool('find_order', { id: 7 }, { result: { id: 7, state: 'open' } })
  replay.assertFollowed()
})
