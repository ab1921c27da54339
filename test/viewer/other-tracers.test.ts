/** What instrumentations of other languages and SDKs write, as they write it today. */
import { startViewer, type Viewer } from 'hookspan/viewer'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { fromColumns, type RowColumns } from '../../src/viewer/model/columns.ts'
import type { Conversation } from '../../src/viewer/model/conversation-items.ts'
import type { RunSummary } from '../../src/viewer/model/span.ts'
import { createPaint } from '../../src/viewer/text/paint.ts'
import { runsText } from '../../src/viewer/text/runs-text.ts'
import { getJson, id, otlp, post, type TestSpan } from './support.ts'

let viewer: Viewer
beforeAll(async () => {
  viewer = await startViewer({ db: ':memory:', port: 0 })
})
afterAll(() => viewer.close())

let traces = 0

async function shown(spans: TestSpan[]) {
  const traceId = (++traces).toString(16).padStart(32, '0')
  await post(viewer, otlp(spans.map((span) => ({ ...span, traceId }))))
  const run = await getJson<{ summary: RunSummary; columns: RowColumns }>(viewer, `/api/runs/${traceId}`)
  const { items } = await getJson<Conversation>(viewer, `/api/runs/${traceId}/conversation`)
  return { summary: run.summary, rows: fromColumns(run.columns), items }
}

const PICTURE = `data:image/png;base64,${'iVBORw0KGgo'.padEnd(24, 'A')}`

it('tells what a tool was given, where its schema is recorded beside it', async () => {
  const { rows, items } = await shown([
    { spanId: id(1), attributes: { 'openinference.span.kind': 'AGENT' } },
    {
      spanId: id(2),
      parentSpanId: id(1),
      attributes: {
        'openinference.span.kind': 'TOOL',
        'tool.name': 'weather',
        'tool.parameters': '{"properties":{"city":{"type":"string"}}}',
        'input.value': '{"city":"Oslo"}',
        'output.value': '{"tempC":4}',
      },
    },
  ])
  expect(rows[1]!.preview).toBe('{"city":"Oslo"}')
  expect(items).toMatchObject([{ kind: 'tool', args: { text: expect.stringMatching(/Oslo/) } }])
})

it('shows pictures, the first words of the user and why a reply ended, of OpenInference', async () => {
  const message = 'llm.input_messages.1.message.contents'
  const { summary, items } = await shown([
    {
      spanId: id(1),
      attributes: {
        'openinference.span.kind': 'LLM',
        'llm.model_name': 'gpt-4o-mini',
        'llm.finish_reason': 'length',
        'llm.input_messages.0.message.role': 'system',
        'llm.input_messages.0.message.content': 'You are terse.',
        'llm.input_messages.1.message.role': 'user',
        [`${message}.0.message_content.type`]: 'text',
        [`${message}.0.message_content.text`]: 'What is this?',
        [`${message}.1.message_content.type`]: 'image',
        [`${message}.1.message_content.image.image.url`]: PICTURE,
        'llm.output_messages.0.message.role': 'assistant',
        'llm.output_messages.0.message.contents.0.message_content.type': 'text',
        'llm.output_messages.0.message.contents.0.message_content.text': 'A dot',
      },
    },
  ])
  expect(summary).toMatchObject({ inputPreview: 'What is this?', answerPreview: 'A dot' })
  const pieces = items.flatMap((item) => (item.kind === 'message' ? item.pieces : []))
  expect(pieces).toContainEqual(expect.objectContaining({ type: 'media', src: PICTURE }))
  expect(items).toContainEqual(expect.objectContaining({ kind: 'step', ended: 'length' }))
})

it('tells agents of OpenInference by the node that they are, unless that is an id, and functions by their arguments', async () => {
  const agent = (number: number, node: string) => ({
    ...{ spanId: id(number), parentSpanId: id(1), name: `Agent ${number}`, start: number },
    attributes: { 'openinference.span.kind': 'AGENT', 'graph.node.id': node },
  })
  const tool = (number: number, kind: string, input: object) => ({
    ...{ spanId: id(number), parentSpanId: id(1), start: number },
    attributes: {
      ...(kind && { 'openinference.span.kind': kind }),
      ...{ 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': `tool ${number}` },
      'input.value': JSON.stringify(input),
    },
  })
  const { rows, items } = await shown([
    { spanId: id(1), end: 9, attributes: { 'openinference.span.kind': 'CHAIN' } },
    agent(2, 'Forecaster'),
    agent(3, '6f1ed002ab5595859014ebf0951522d9'),
    tool(4, 'TOOL', { args: [], kwargs: { city: 'Oslo' } }),
    tool(5, 'TOOL', { args: [1], kwargs: { city: 'Oslo' } }),
    tool(6, '', { kwargs: { city: 'Oslo' } }),
  ])
  expect(rows.filter(({ category }) => category === 'agent').map(({ label }) => label)).toEqual([
    'Forecaster',
    'Agent 3',
  ])
  const args = items.flatMap((item) => (item.kind === 'tool' ? [JSON.parse(item.args.text)] : []))
  expect(args).toEqual([
    { city: 'Oslo' },
    { args: [1], kwargs: { city: 'Oslo' } },
    { kwargs: { city: 'Oslo' } },
  ])
})

it('shows in the list what the user said first, where the first call of a model has no messages', async () => {
  const call = (number: number, attributes: Record<string, string>) => ({
    ...{ spanId: id(number), parentSpanId: id(1), start: number },
    attributes: { 'openinference.span.kind': 'LLM', 'llm.model_name': 'gpt-4o-mini', ...attributes },
  })
  const { summary } = await shown([
    { spanId: id(1), end: 9, attributes: { 'openinference.span.kind': 'CHAIN' } },
    call(2, { 'input.value': '{"user_msg":null,"chat_history":[]}' }),
    call(3, {
      'llm.input_messages.0.message.role': 'user',
      'llm.input_messages.0.message.content': 'Weather in Oslo?',
    }),
  ])
  expect(summary.inputPreview).toBe('Weather in Oslo?')
})

it('reads the blocks of Bedrock that Strands records', async () => {
  const blocks = [
    { reasoningContent: { reasoningText: { text: 'Hm.' } } },
    { toolUse: { toolUseId: 'c1', name: 'weather', input: { city: 'Oslo' } } },
  ]
  const result = [{ toolResult: { toolUseId: 'c1', content: [{ text: '4' }] } }]
  const call = (number: number, events: TestSpan['events']) => ({
    spanId: id(number),
    start: number,
    attributes: { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'gpt-4o-mini' },
    events: events!,
  })
  const user = { name: 'gen_ai.user.message', attributes: { content: '[{"text":"Weather?"}]' } }
  const { items } = await shown([
    call(1, [user, { name: 'gen_ai.choice', attributes: { message: JSON.stringify(blocks) } }]),
    call(2, [
      user,
      { name: 'gen_ai.assistant.message', attributes: { content: JSON.stringify(blocks) } },
      { name: 'gen_ai.tool.message', attributes: { content: JSON.stringify(result), id: 'c1' } },
      { name: 'gen_ai.choice', attributes: { message: '[{"text":"4 degrees"}]' } },
    ]),
  ])
  const told = items.filter((item) => item.kind !== 'step')
  expect(told).toMatchObject([
    { role: 'user', pieces: [{ text: 'Weather?' }] },
    { role: 'assistant', pieces: [{ type: 'reasoning', text: 'Hm.' }] },
    { kind: 'tool', callId: 'c1', name: 'weather' },
    { role: 'assistant', pieces: [{ text: '4 degrees' }] },
  ])
})

it('reads messages that LangChain serialized', async () => {
  const message = (type: string, content: string) => ({
    lc: 1,
    type: 'constructor',
    kwargs: { content, type },
  })
  const { summary, items } = await shown([
    {
      spanId: id(1),
      attributes: {
        'gen_ai.operation.name': 'chat',
        'gen_ai.request.model': 'gpt-4o-mini',
        'gen_ai.prompt': JSON.stringify({
          messages: [[message('system', 'You are terse.'), message('human', 'Hello')]],
        }),
        'gen_ai.completion': JSON.stringify({ generations: [[{ message: message('ai', 'Hi') }]] }),
      },
    },
  ])
  expect(items.filter((item) => item.kind === 'message')).toMatchObject([
    { role: 'system', pieces: [{ text: 'You are terse.' }] },
    { role: 'user', pieces: [{ text: 'Hello' }] },
    { role: 'assistant', pieces: [{ text: 'Hi' }] },
  ])
  expect(summary).toMatchObject({ inputPreview: 'Hello', answerPreview: 'Hi' })
})

it('reads messages that are events in an attribute, and a cost of the trace', async () => {
  const { summary } = await shown([
    {
      spanId: id(1),
      attributes: {
        'gen_ai.operation.name': 'chat',
        'gen_ai.request.model': 'gpt-4o-mini',
        'gen_ai.usage.input_tokens': 10,
        'operation.cost': 0.25,
        events: JSON.stringify([
          { 'event.name': 'gen_ai.user.message', content: 'Hello', role: 'user' },
          { 'event.name': 'gen_ai.choice', message: { role: 'assistant', content: 'Hi' } },
        ]),
      },
    },
  ])
  expect(summary).toMatchObject({
    inputPreview: 'Hello',
    answerPreview: 'Hi',
    costUsd: 0.25,
    estimatedUsd: 0,
  })
})

it('says what was thrown where the status of a span does not', async () => {
  const { rows } = await shown([
    {
      spanId: id(1),
      error: '',
      attributes: { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'weather' },
      events: [{ name: 'exception', attributes: { 'exception.message': 'no such city: Oslo' } }],
    },
  ])
  expect(rows[0]!.errorText).toBe('no such city: Oslo')
})

it('tells a run as failed whose agent failed at its end, though the spans around it say nothing', async () => {
  const agent = (number: number, more: Partial<TestSpan>) => ({
    spanId: id(number),
    start: number,
    end: 100 - number,
    attributes: { 'openinference.span.kind': 'AGENT', 'agent.name': `agent ${number}` },
    ...more,
  })
  const failed = agent(2, { parentSpanId: id(1), error: 'broken' })
  expect((await shown([agent(1, {}), failed])).summary.status).toBe('failed')
  const later = {
    spanId: id(3),
    parentSpanId: id(1),
    start: 99,
    attributes: { 'openinference.span.kind': 'LLM', 'llm.model_name': 'gpt-4o-mini' },
  }
  expect((await shown([agent(1, { end: 200 }), failed, later])).summary.status).toBe('with_errors')
})

it('prints as much of ids that begin with the time as tells the runs apart', async () => {
  const { summary } = await shown([{ spanId: id(1) }])
  const paint = createPaint(false)
  const printed = (...ids: string[]) =>
    runsText(
      ids.map((traceId) => ({ ...summary, traceId: traceId.padEnd(32, '0') })),
      { paint, width: 120, nowMs: 0 },
    )
      .split('\n')
      .slice(1)
      .map((line) => line.split(' ')[0])
  expect(printed('01a21e432a1f', '01a21e43296c')).toEqual(['01a21e432a1f', '01a21e43296c'])
  expect(printed('01a21e432a1f', '5c1f0c1c')).toEqual(['01a21e43', '5c1f0c1c'])
})
