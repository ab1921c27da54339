/** A call that was parked for a human is one call in two spans: the one that asked, and the one that went on with it. */
import { expect, it } from 'vitest'
import { buildGraph } from '../../src/viewer/model/agent-graph.ts'
import { buildConversation } from '../../src/viewer/model/conversation.ts'
import type { ConversationItem } from '../../src/viewer/model/conversation-items.ts'
import { dataSetLine } from '../../src/viewer/model/data-set.ts'
import { firstRows } from '../../src/viewer/model/first-rows.ts'
import { finish } from '../../src/viewer/model/in-turns.ts'
import type { UseSums } from '../../src/viewer/model/run-uses.ts'
import { timeBreakdown } from '../../src/viewer/model/timing.ts'
import { buildTree, flatten } from '../../src/viewer/model/tree.ts'
import { createPaint } from '../../src/viewer/text/paint.ts'
import { runsText } from '../../src/viewer/text/runs-text.ts'
import { showText } from '../../src/viewer/text/show-text.ts'
import { testFile } from '../../src/viewer/text/test-file.ts'
import { start } from './start.ts'
import { getJson, id, otlp, post, type TestSpan, TRACE } from './support.ts'

const messages = (...given: object[]) => JSON.stringify(given)
const says = (role: string, content: string) => ({ role, parts: [{ type: 'text', content }] })
const asks = (name: string) => ({
  role: 'assistant',
  parts: [{ type: 'tool_call', id: `${name}-1`, name, arguments: { id: 7 } }],
})
const agent = (number: number, name: string, parent?: number): TestSpan => ({
  spanId: id(number),
  ...(parent && { parentSpanId: id(parent) }),
  name: `invoke_agent ${name}`,
  end: 1_000,
  attributes: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': name },
})
const step = (number: number, parent: number, index: number, start: number, end: number): TestSpan => ({
  ...{ spanId: id(number), parentSpanId: id(parent), name: 'step', start, end },
  attributes: { 'hookspan.step.index': index },
})
const chat = (number: number, parent: number, start: number, said: object): TestSpan => ({
  ...{ spanId: id(number), parentSpanId: id(parent), name: 'chat scripted', start, end: start + 5 },
  attributes: {
    ...{ 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'scripted' },
    'gen_ai.input.messages': messages(says('user', `To ${parent}`)),
    'gen_ai.output.messages': messages(said),
  },
})
const tool = (number: number, parent: number, name: string, at: number, outcome: string): TestSpan => ({
  ...{ spanId: id(number), parentSpanId: id(parent), name: `execute_tool ${name}`, start: at, end: at + 30 },
  attributes: {
    ...{ 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': name },
    ...{ 'gen_ai.tool.call.id': `${name}-1`, 'gen_ai.tool.call.arguments': '{"id":7}' },
    'hookspan.tool.outcome': outcome,
    ...(outcome === 'completed' && { 'gen_ai.tool.call.result': '"gone"' }),
  },
})
const human = (number: number, parent: number, at: number, answer: Record<string, string | number> = {}) => ({
  ...{ spanId: id(number), parentSpanId: id(parent), name: 'human_intervention', start: at, end: at + 20 },
  attributes: { 'hookspan.human.tools': ['delete'], ...answer },
})

/** `support` calls `clerk`, whose `delete` waits. */
const FIRST = [
  { ...agent(1, 'support'), end: 0, attributes: { ...agent(1, 'support').attributes } },
  step(2, 1, 0, 10, 200),
  chat(3, 2, 20, asks('clerk')),
  tool(4, 2, 'clerk', 30, 'waiting'),
  agent(5, 'clerk', 4),
  step(6, 5, 0, 40, 100),
  chat(7, 6, 45, asks('delete')),
  tool(8, 6, 'delete', 60, 'waiting'),
  human(9, 8, 65),
]
const WENT_ON = [
  agent(1, 'support'),
  step(10, 1, 0, 300, 700),
  tool(11, 10, 'clerk', 310, 'completed'),
  step(12, 5, 0, 320, 500),
  tool(13, 12, 'delete', 330, 'completed'),
  human(14, 13, 65, {
    'hookspan.human.action': 'approve',
    'hookspan.human.approver': 'ann',
    'hookspan.human.channel': 'http',
    'hookspan.human.identity': 'proved',
    'hookspan.human.waited_ms': 250,
  }),
  step(15, 5, 1, 510, 600),
  chat(16, 15, 520, says('assistant', 'The clerk says: gone.')),
  step(17, 1, 1, 710, 800),
  chat(18, 17, 720, says('assistant', 'It is gone.')),
]

async function shown(spans: TestSpan[]) {
  const viewer = await start()
  await post(viewer, otlp(spans))
  const { rows, summary } = viewer.store.run(TRACE)!
  const open = (spanId: string) => viewer.store.span(TRACE, spanId)
  const uses = async (kind: string) =>
    Object.fromEntries(
      (await getJson<UseSums>(viewer, `/api/uses/${kind}`)).uses.map((use) => [use.name, use]),
    )
  return { rows, summary, open, uses, tree: buildTree(rows)! }
}

const flat = (items: readonly ConversationItem[]): ConversationItem[] =>
  items.flatMap((item) => [item, ...(item.kind === 'agent' ? flat(item.items) : [])])

it('is counted, told and exported once when it was gone on with', async () => {
  const run = await shown([...FIRST.slice(1), ...WENT_ON])
  const { rows, summary, open, tree } = run
  expect(summary).toMatchObject({ status: 'ok', toolCalls: 2, steps: 4, waiting: 0 })
  expect(flatten(tree).flatMap(({ row }) => (row.outcome ? [`${row.name} ${row.outcome}`] : []))).toEqual([
    'step parked',
    'execute_tool clerk parked',
    'step parked',
    'execute_tool delete parked',
    'human_intervention parked',
    'execute_tool delete completed',
    'execute_tool clerk completed',
  ])
  const items = flat(buildConversation(rows, open).items)
  const cards = items.flatMap((item) =>
    item.kind === 'tool' ? [[item.name, item.spanId, item.outcome, item.result?.text]] : [],
  )
  expect(cards).toEqual([
    ['clerk', id(11), 'completed', expect.stringContaining('gone')],
    ['delete', id(13), 'completed', expect.stringContaining('gone')],
  ])
  expect(items.filter(({ kind }) => kind === 'human')).toMatchObject([
    { approver: 'ann', channel: 'http', identity: 'proved' },
  ])
  const calls = buildGraph(tree).nodes.map(({ label, calls }) => `${label} ${calls}`)
  expect(calls).toEqual(expect.arrayContaining(['clerk 1', 'delete 1', 'human 1']))
  expect(
    finish(dataSetLine({ summary, rows, open })).calls.map(({ tool, outcome }) => [tool, outcome]),
  ).toEqual([
    ['delete', 'completed'],
    ['clerk', 'completed'],
  ])
  const { text } = testFile([{ summary, rows, open }])
  expect(text.match(/timesOut/)).toBeNull()
  expect(text.match(/"name":"delete","args"/g)).toHaveLength(1)
  expect(firstRows(rows, 3)).toBeUndefined()
  expect(await run.uses('tool')).toMatchObject({ delete: { calls: 1 }, clerk: { calls: 1 } })
  expect(await run.uses('human')).toEqual({
    ann: expect.objectContaining({ calls: 1, approved: 1, asked: 0 }),
  })
})

it("is an open question as long as nobody went on with it, and the time is the human's", async () => {
  const parked = (span: TestSpan): TestSpan => ({
    ...span,
    end: 0,
    attributes: {
      ...span.attributes,
      'hookspan.span.state': 'started',
      'hookspan.operation.waiting_for': 'human',
    },
  })
  const run = await shown([parked(FIRST[0]!), ...FIRST.slice(1, 4), parked(FIRST[4]!), ...FIRST.slice(5)])
  expect(run.summary).toMatchObject({ status: 'waiting', toolCalls: 2, waiting: 1 })
  expect(
    flat(buildConversation(run.rows, run.open).items).find(({ kind }) => kind === 'agent'),
  ).toMatchObject({
    outcome: 'waiting',
  })
  const nowMs = run.summary.startUs / 1000 + 60_000
  const paint = createPaint(false)
  expect(runsText([run.summary], { paint, width: 120, nowMs })).toContain(' 1 m 0 s ')
  expect(showText(run.summary, run.rows, { paint, width: 120, nowMs })).toMatch(/^1 m 0 s, /m)
  expect(await run.uses('human')).toEqual({
    nobody: expect.objectContaining({ calls: 1, asked: 1, failed: 0 }),
  })
  const { nobody } = await run.uses('human')
  expect(nobody).not.toHaveProperty('durationMs')
  expect((await run.uses('tool')).delete).not.toHaveProperty('durationMs')
  const { human: waited, idle } = timeBreakdown(run.tree, run.summary.startUs + 60_000_000)
  expect([Math.round(waited / 1000), Math.round(idle / 1000)]).toEqual([60, 0])
})

it('waits, also where the span of its run is sent only by who goes on with it', async () => {
  const { summary } = await shown(FIRST.slice(1))
  expect(summary).toMatchObject({ status: 'waiting', waiting: 1 })
})

it('an answer stands at the call that it was given to, of several that were asked for at once', async () => {
  const viewer = await start()
  const asked = ['refund', 'pay', 'delete'].map((name) => ({
    ...{ type: 'tool_call', id: `${name}-1`, name, arguments: {} },
  }))
  const told = (number: number, name: string) => ({
    ...{ spanId: id(number), parentSpanId: id(2), name: `execute_tool ${name}`, start: 10, end: 40 },
    attributes: {
      ...{ 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': name },
      'gen_ai.tool.call.id': `${name}-1`,
    },
  })
  const answer = (action: string) => ({ 'hookspan.human.action': action })
  await post(
    viewer,
    otlp([
      agent(1, 'shop'),
      step(2, 1, 0, 0, 50),
      chat(3, 2, 0, { role: 'assistant', parts: asked }),
      ...[told(4, 'refund'), told(5, 'pay'), told(6, 'delete')],
      ...[human(7, 4, 15, answer('approve')), human(8, 5, 16, answer('reject'))],
    ]),
  )
  const { rows } = viewer.store.run(TRACE)!
  const { items } = buildConversation(rows, (spanId) => viewer.store.span(TRACE, spanId))
  const said = items.flatMap((item) =>
    item.kind === 'tool' ? [item.name] : item.kind === 'human' ? [item.action] : [],
  )
  expect(said).toEqual(['refund', 'approve', 'pay', 'reject', 'delete'])
})
