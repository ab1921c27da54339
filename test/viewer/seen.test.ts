/** What a model saw: steps with numbers, what is new since the call before, and how large the rest is. */
import { expect, it } from 'vitest'
import { buildConversation } from '../../src/viewer/model/conversation.ts'
import type { ConversationItem, StepItem } from '../../src/viewer/model/conversation-items.ts'
import type { Seen } from '../../src/viewer/model/seen.ts'
import { receiveTraces } from '../../src/viewer/otlp/receive.ts'
import { Store } from '../../src/viewer/store/store.ts'
import { SAMPLE_TRACE, sampleRun } from './sample-run.ts'
import { start } from './start.ts'
import { getJson, id, otlp, post, type TestSpan, TRACE } from './support.ts'

function read(traces: ReturnType<typeof otlp>, traceId: string) {
  const store = new Store({ file: ':memory:' })
  store.addSpans(receiveTraces(Buffer.from(JSON.stringify(traces)), 'json').items)
  return { rows: store.run(traceId)!.rows, open: (spanId: string) => store.span(traceId, spanId) }
}

const stepsIn = (items: readonly ConversationItem[]): StepItem[] =>
  items.flatMap((item) => (item.kind === 'step' ? [item] : item.kind === 'agent' ? stepsIn(item.items) : []))

const agent = (spanId: string, parentSpanId: string, name: string, at: number): TestSpan => ({
  spanId,
  parentSpanId,
  name,
  start: at,
  end: at + 50,
  attributes: { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': name },
})

const chat = (spanId: string, parentSpanId: string, at: number, input: object[]): TestSpan => ({
  spanId,
  parentSpanId,
  name: 'chat',
  start: at,
  end: at + 1,
  attributes: {
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': 'm',
    'gen_ai.input.messages': JSON.stringify(input),
    'gen_ai.output.messages': JSON.stringify([{ role: 'assistant', content: `said by ${spanId}` }]),
  },
})

it('steps have the numbers of their spans, those of a sub-agent behind the one it was called in', () => {
  const { rows, open } = read(sampleRun(), SAMPLE_TRACE)
  const steps = stepsIn(buildConversation(rows, open).items)
  expect(steps.map(({ step, messages, added, gone }) => [step, messages, added, gone])).toEqual([
    ['0', 2, 2, 0],
    ['1', 4, 2, 0],
    ['1.0', 2, 2, 0],
    ['1.0', 4, 2, 0],
    ['2', 2, 1, 3],
    ['3', 4, 2, 0],
  ])
  expect(Object.keys(steps[1]!.chars).sort()).toEqual([
    'assistant',
    'system',
    'tool search_bookings',
    'tools',
    'user',
  ])
})

it('where no span is a step, the calls of each agent are counted', () => {
  const words = (...all: string[]) => all.map((content) => ({ role: 'user', content }))
  const { rows, open } = read(
    otlp([
      agent(id(1), '', 'top', 0),
      chat(id(2), id(1), 1, words('a')),
      chat(id(3), id(1), 3, words('a', 'b')),
      agent(id(4), id(1), 'inner', 5),
      chat(id(5), id(4), 6, words('c')),
      chat(id(6), id(4), 8, words('c', 'd')),
      chat(id(7), id(1), 60, words('a', 'b', 'e')),
    ]),
    TRACE,
  )
  expect(stepsIn(buildConversation(rows, open).items).map(({ step }) => step)).toEqual([
    '1',
    '2',
    '2.1',
    '2.2',
    '3',
  ])
})

it('tells what of a call the call before did not have, and the size of the rest', async () => {
  const viewer = await start()
  await post(viewer, sampleRun())
  const at = `/api/runs/${SAMPLE_TRACE}/spans/${id(22)}/seen`
  const seen = await getJson<Seen>(viewer, at)
  expect(seen.before).toBe(id(16))
  expect(seen.messages.map(({ role, isNew, parts }) => [role, isNew, parts !== undefined])).toEqual([
    ['system', false, false],
    ['user', false, false],
    ['assistant', true, true],
    ['tool', true, true],
  ])
  expect(seen.messages[0]!.chars).toBeGreaterThan(50)
  expect(seen.gone).toEqual([])
  const whole = await getJson<Seen>(viewer, `${at}?all=1`)
  expect(JSON.stringify(whole.messages[0]!.parts)).toContain('small airline')
  // After a compaction: what went.
  const after = await getJson<Seen>(viewer, `/api/runs/${SAMPLE_TRACE}/spans/${id(16)}/seen`)
  expect(after.gone).toHaveLength(3)
  expect((await getJson<Seen>(viewer, `/api/runs/${SAMPLE_TRACE}/spans/${id(3)}/seen`)).before).toBe(
    undefined,
  )
})

it('reads a context of any size, and bounds what it tells of a message', async () => {
  const viewer = await start()
  const old = Array.from({ length: 400 }, (_, at) => ({
    role: 'user',
    content: `${at} ${'old '.repeat(2_000)}`,
  }))
  const fresh = { role: 'user', content: 'new '.repeat(50_000) }
  await post(
    viewer,
    otlp([agent(id(1), '', 'top', 0), chat(id(2), id(1), 1, old), chat(id(3), id(1), 3, [...old, fresh])]),
  )
  const reply = await fetch(`${viewer.url}/api/runs/${TRACE}/spans/${id(3)}/seen`)
  const text = await reply.text()
  expect(text.length).toBeLessThan(150_000)
  const seen = JSON.parse(text) as Seen
  expect(seen.messages).toHaveLength(401)
  expect(
    seen.messages.filter(({ isNew }) => isNew).map(({ chars, parts }) => [chars, parts![0]!.cutChars]),
  ).toEqual([[200_000, 180_000]])
})

it('keeps pictures that a message carries, and no other', () => {
  const png = 'iVBORw0KGgo='
  const { rows, open } = read(
    otlp([
      agent(id(1), '', 'top', 0),
      chat(id(2), id(1), 1, [
        {
          role: 'user',
          parts: [
            { type: 'blob', modality: 'image', mime_type: 'image/png', content: png },
            { type: 'image_url', image_url: { url: `data:image/webp;base64,${png}` } },
            { type: 'image', source: { type: 'base64', media_type: 'image/jpeg', data: png } },
            { type: 'image_url', image_url: { url: 'https://example.com/tracking.png' } },
            { type: 'uri', modality: 'image', uri: 'data:image/svg+xml;base64,AAAA' },
            { type: 'blob', modality: 'image', mime_type: 'image/png', content: 'not" base64' },
          ],
        },
      ]),
    ]),
    TRACE,
  )
  const message = buildConversation(rows, open).items.find((item) => item.kind === 'message')
  expect(message?.kind === 'message' && message.pieces.map(({ src }) => src)).toEqual([
    `data:image/png;base64,${png}`,
    `data:image/webp;base64,${png}`,
    `data:image/jpeg;base64,${png}`,
    undefined,
    undefined,
    undefined,
  ])
})
