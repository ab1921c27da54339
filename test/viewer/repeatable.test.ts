/** What other runtimes do beside what their models ask for, and what a test's stand-in repeats of it. */
import { expect, it } from 'vitest'
import { testFile } from '../../src/viewer/text/test-file.ts'
import { start } from './start.ts'
import { id, otlp, post, type TestSpan, TRACE } from './support.ts'

interface Ask {
  name: string
  id?: string
  args?: object
}
/** One thing after the other: a reply of the model (what it was sent last, what it says), or a call of a tool. */
type Act = { sent?: 'user' | 'tool'; says?: string; asks?: Ask[] } | { calls: Ask }

function spansOf(acts: readonly Act[]): TestSpan[] {
  const root: TestSpan = {
    ...{ spanId: id(1), name: 'invoke_agent shop', end: 1_000 },
    attributes: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'shop' },
  }
  const spans = acts.map((act, index): TestSpan => {
    const at = { spanId: id(index + 2), parentSpanId: id(1), start: index * 10, end: index * 10 + 5 }
    if ('calls' in act) {
      const { name, id: callId, args = {} } = act.calls
      return {
        ...{ ...at, name: `execute_tool ${name}` },
        attributes: {
          ...{ 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': name },
          ...(callId && { 'gen_ai.tool.call.id': callId }),
          'gen_ai.tool.call.arguments': JSON.stringify(args),
          'gen_ai.tool.call.result': '"done"',
        },
      }
    }
    const { sent = index === 0 ? 'user' : 'tool', says = '', asks = [] } = act
    const said = [
      { type: 'text', content: says },
      ...asks.map((ask) => ({
        type: 'tool_call',
        id: ask.id ?? '',
        name: ask.name,
        arguments: ask.args ?? {},
      })),
    ]
    return {
      ...{ ...at, name: 'chat m' },
      attributes: {
        ...{ 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'm' },
        'gen_ai.input.messages': JSON.stringify([
          { role: 'user', parts: [{ type: 'text', content: 'first' }] },
          { role: sent, parts: [{ type: 'text', content: `sent ${index}` }] },
        ]),
        'gen_ai.output.messages': JSON.stringify([{ role: 'assistant', parts: said }]),
      },
    }
  })
  return [root, ...spans]
}

const look: Ask = { name: 'look', id: 'c1', args: { at: 'door' } }

it.each<[string, Act[], { steps: string[]; calls: string[]; told?: string }]>([
  [
    'a tool that ends the run, and is no call',
    [{ asks: [look] }, { calls: look }, { asks: [{ name: 'task_complete', id: 'c2' }] }],
    { steps: ['look', ''], calls: ['look'], told: '"task_complete", which was asked for and not called' },
  ],
  [
    'another name, and other arguments',
    [
      { asks: [{ ...look, name: 'mcp__look' }] },
      { calls: { ...look, args: { at: 'roof' } } },
      { says: 'ok' },
    ],
    { steps: ['look {"at":"roof"}', ''], calls: ['look'] },
  ],
  [
    'a call that its program makes before anything is asked',
    [{ calls: { name: 'fetch' } }, { sent: 'user', says: 'ok' }],
    { steps: [''], calls: [], told: '"fetch", which was called and not asked for' },
  ],
  [
    'a call that its user makes between two questions',
    [
      ...[{ asks: [look] }, { calls: look }, { says: 'Restart it.' }],
      ...[{ calls: { name: 'restart' } }, { sent: 'user' as const, says: 'ok' }],
    ],
    {
      ...{ steps: ['look', '', ''], calls: ['look'] },
      told: '"restart", which was called and not asked for',
    },
  ],
  [
    'a call that the model made in words',
    [
      { says: 'look()' },
      { calls: look },
      { asks: [{ name: 'walk' }] },
      { calls: { name: 'walk' } },
      { says: 'ok' },
    ],
    { steps: ['look', 'walk', ''], calls: ['look', 'walk'] },
  ],
  [
    'a question after the answer',
    [{ asks: [look] }, { calls: look }, { says: 'ok' }, { says: '{}' }],
    { steps: ['look', ''], calls: ['look'], told: 'what its model was asked after it had answered' },
  ],
  [
    'a call that was refused, and made again',
    [
      { asks: [{ name: 'end', id: 'c1' }] },
      { asks: [{ name: 'end', id: 'c2' }] },
      { calls: { name: 'end', id: 'c2' } },
      { says: 'ok' },
    ],
    { steps: ['end', ''], calls: ['end'], told: '"end", which was asked for and not called' },
  ],
])('%s', async (_what, acts, expected) => {
  const viewer = await start()
  await post(viewer, otlp(spansOf(acts)))
  const { rows, summary } = viewer.store.run(TRACE)!
  const { text, notes } = testFile([{ rows, summary, open: (spanId) => viewer.store.span(TRACE, spanId) }])
  const script = /model\(\[\n([\s\S]*?)\n {2}\]\)/.exec(text)?.[1] ?? ''
  const steps = script.split('\n').map((line) => {
    const { toolCalls: [call] = [] } = JSON.parse(line.trim().slice(0, -1)) as {
      toolCalls?: { name: string; arguments: object }[]
    }
    return call
      ? call.name + (expected.steps.includes(call.name) ? '' : ` ${JSON.stringify(call.arguments)}`)
      : ''
  })
  expect(steps).toEqual(expected.steps)
  const [, trajectory = ''] = text.split('toMatchTrajectory([')
  expect([...trajectory.matchAll(/"name":"(\w+)"/g)].map(([, name]) => name)).toEqual(expected.calls)
  expect(notes.join()).toContain(expected.told ?? '')
  if (!expected.told) expect(notes).toEqual([])
})
