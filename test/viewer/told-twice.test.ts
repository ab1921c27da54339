/** A tool call of which hookspan and its SDK tell, one inside of the other (`sdkSpans: 'nest'`), is one call. */
import { expect, it } from 'vitest'
import { buildGraph } from '../../src/viewer/model/agent-graph.ts'
import { buildConversation } from '../../src/viewer/model/conversation.ts'
import { dataSetLine } from '../../src/viewer/model/data-set.ts'
import { finish } from '../../src/viewer/model/in-turns.ts'
import type { UseSums } from '../../src/viewer/model/run-uses.ts'
import { buildTree } from '../../src/viewer/model/tree.ts'
import { start } from './start.ts'
import { getJson, id, otlp, post, type TestSpan, TRACE } from './support.ts'

const tool = (number: number, parent: number, name: string, callId: string): TestSpan => ({
  ...{
    spanId: id(number),
    parentSpanId: id(parent),
    name: `execute_tool ${name}`,
    start: number,
    end: 30 - number,
  },
  attributes: {
    ...{ 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': name },
    ...(callId !== '' && { 'gen_ai.tool.call.id': callId }),
  },
})

it.each([
  ['with the same id', [tool(2, 1, 'wipe', 'c1'), tool(3, 2, 'wipe', 'c1')], ['wipe 1']],
  ['without an id', [tool(2, 1, 'wipe', 'c1'), tool(3, 2, 'wipe', '')], ['wipe 1']],
  [
    'with what it calls',
    [tool(2, 1, 'code', 'c1'), tool(3, 2, 'code', 'c1'), tool(4, 3, 'look', '')],
    ['code 1', 'look 1'],
  ],
  ['unless it calls itself', [tool(2, 1, 'wipe', 'c1'), tool(3, 2, 'wipe', 'c2')], ['wipe 2']],
  [
    'unless another tool lies between',
    [tool(2, 1, 'wipe', 'c1'), tool(3, 2, 'look', 'c2'), tool(4, 3, 'wipe', 'c1')],
    ['wipe 2', 'look 1'],
  ],
])('%s', async (_how, tools, expected) => {
  const viewer = await start()
  const root = {
    ...{ spanId: id(1), name: 'invoke_agent a', end: 40 },
    attributes: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'a' },
  }
  await post(viewer, otlp([root, ...tools]))
  const { rows, summary } = viewer.store.run(TRACE)!
  const open = (spanId: string) => viewer.store.span(TRACE, spanId)
  const count = (names: readonly string[]) =>
    [...new Set(names)].map((name) => `${name} ${names.filter((one) => one === name).length}`)
  const { uses } = await getJson<UseSums>(viewer, '/api/uses/tool')
  expect(uses.map(({ name, calls }) => `${name} ${calls}`).sort()).toEqual(expected.toSorted())
  expect(summary.toolCalls).toBe(uses.reduce((sum, { calls }) => sum + calls, 0))
  expect(count(finish(dataSetLine({ summary, rows, open })).calls.map(({ tool }) => tool))).toEqual(expected)
  const cards = buildConversation(rows, open).items.flatMap((item) =>
    item.kind === 'tool' ? [item.name] : [],
  )
  expect(count(cards)).toEqual(expected)
  const nodes = buildGraph(buildTree(rows)!).nodes.filter(({ kind }) => kind === 'tool')
  expect(nodes.map(({ label, calls }) => `${label} ${calls}`)).toEqual(expected)
})

it.each([
  ['another service', 'there', 1],
  ['the same service', 'here', 2],
])('a remote agent and who calls it, from %s', async (_where, service, calls) => {
  const viewer = await start()
  const agent = (number: number, parent: number, name: string): TestSpan => ({
    ...{ spanId: id(number), parentSpanId: parent === 0 ? '' : id(parent), name: `invoke_agent ${name}` },
    ...{ start: number, end: 40 - number },
    attributes: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': name },
  })
  await post(viewer, otlp([agent(1, 0, 'front'), agent(2, 1, 'worker')], { 'service.name': 'here' }))
  await post(viewer, otlp([agent(3, 2, 'worker'), tool(4, 3, 'look', '')], { 'service.name': service }))
  const { rows } = viewer.store.run(TRACE)!
  const { uses } = await getJson<UseSums>(viewer, '/api/uses/agent')
  expect(uses.find(({ name }) => name === 'worker')).toMatchObject({ calls })
  const { nodes, edges } = buildGraph(buildTree(rows)!)
  expect(nodes.map(({ label, calls }) => `${label} ${calls}`)).toEqual([
    'front 1',
    `worker ${calls}`,
    'look 1',
  ])
  expect(edges.filter(({ from, to }) => from === to)).toHaveLength(calls - 1)
  const items = buildConversation(rows, (spanId) => viewer.store.span(TRACE, spanId)).items
  expect(JSON.stringify(items).match(/"kind":"agent"/g)).toHaveLength(calls)
})

it('what a model said at once and is sent again item by item is told once', async () => {
  const viewer = await start()
  const call = (name: string) => ({ type: 'tool_call', id: `${name}-1`, name, arguments: { id: 7 } })
  const parts = [
    { type: 'reasoning', content: 'First I look.' },
    { type: 'text', content: 'Let me look.' },
    call('look'),
    call('read'),
  ]
  const user = { role: 'user', parts: [{ type: 'text', content: 'Go' }] }
  const gave = (name: string) => ({
    role: 'tool',
    parts: [{ type: 'tool_call_response', id: `${name}-1`, response: 'seen' }],
  })
  const said = (part: object) => ({ role: 'assistant', parts: [part] })
  const chat = (number: number, input: object[], output: object) => ({
    ...{ spanId: id(number), parentSpanId: id(1), name: 'chat m', start: number, end: number },
    attributes: {
      ...{ 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'm' },
      'gen_ai.input.messages': JSON.stringify(input),
      'gen_ai.output.messages': JSON.stringify([output]),
    },
  })
  const root = {
    ...{ spanId: id(1), name: 'invoke_agent a', end: 40 },
    attributes: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'a' },
  }
  const again = [user, ...parts.map(said), gave('look'), gave('read')]
  const end = said({ type: 'text', content: 'Done.' })
  await post(viewer, otlp([root, chat(2, [user], { role: 'assistant', parts }), chat(3, again, end)]))
  const { rows } = viewer.store.run(TRACE)!
  const { items } = buildConversation(rows, (spanId) => viewer.store.span(TRACE, spanId))
  const told = items.flatMap((item) => {
    if (item.kind === 'tool') return [`${item.name} ${item.result?.text}`]
    return item.kind === 'message' ? [item.pieces.map(({ text }) => text).join(' ')] : []
  })
  expect(told).toEqual(['Go', 'First I look. Let me look.', 'look seen', 'read seen', 'Done.'])
})
