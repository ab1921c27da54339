import { describe, expect, it } from 'vitest'
import type { RunList } from '../../src/viewer/store/reader.ts'
import { databaseFile, start } from './start.ts'
import { getJson, id, otlp, post, type TestSpan, TRACE } from './support.ts'

const GOOD = 'b'.repeat(32)
const good: TestSpan = { traceId: GOOD, spanId: id(1), name: 'good' }
const llm = (attributes: TestSpan['attributes']): TestSpan => ({
  spanId: id(1),
  attributes: { 'gen_ai.operation.name': 'chat', ...attributes },
})

type Partial = {
  partialSuccess?: { rejectedSpans?: string; rejectedLogRecords?: string; errorMessage: string }
}

const titles = async (viewer: Parameters<typeof getJson>[0]) =>
  (await getJson<RunList>(viewer, '/api/runs')).runs.map(({ traceId }) => traceId).sort()

describe('a run that nobody could walk through', () => {
  const nested = `${'['.repeat(5000)}${']'.repeat(5000)}`
  const wide = `[${'[],'.repeat(1_000_000)}0]`
  const cases: [what: string, attributes: TestSpan['attributes']][] = [
    ['5,000 brackets in one another', { 'gen_ai.input.messages': `[{"role":"user","content":${nested}}]` }],
    [
      '5,000 brackets that are the messages',
      { 'gen_ai.input.messages': nested, 'gen_ai.output.messages': nested },
    ],
    ['a million values', { 'gen_ai.input.messages': wide, 'gen_ai.tool.definitions': wide }],
    ['brackets that nobody closes', { 'gen_ai.input.messages': '['.repeat(10_000) }],
    [
      'numbered messages with gaps',
      {
        'llm.input_messages.3.message.role': 'assistant',
        'llm.input_messages.3.message.tool_calls.1.tool_call.function.name': 'search',
        'llm.input_messages.7.message.contents.2.message_content.text': 'hello',
        'llm.input_messages.7.message.contents.2.message_content.type': 'text',
      },
    ],
    [
      'a content that is said twice',
      {
        'llm.input_messages.0.message.content': ['a', 'b'],
        'llm.input_messages.0.message.contents.0.message_content.text': 'hello',
      },
    ],
  ]

  it.each(cases)('costs no other one anything, also after a restart: %s', async (_what, attributes) => {
    const db = databaseFile()
    for (const round of ['at once', 'after a restart']) {
      const viewer = await start({ db })
      if (round === 'at once') {
        expect((await post(viewer, otlp([llm(attributes)]))).status).toBe(200)
        expect((await post(viewer, otlp([good]))).status).toBe(200)
      }
      expect(await titles(viewer)).toEqual([TRACE, GOOD])
      const run = `/api/runs/${TRACE}`
      for (const path of [
        run,
        `${run}/conversation`,
        `${run}/lint`,
        `${run}/events`,
        `${run}/export.json`,
        `${run}/spans/${id(1)}`,
        `/api/diff?a=${TRACE}&b=${GOOD}`,
        '/api/search?q=good',
      ])
        expect([path, (await fetch(viewer.url + path)).status]).toEqual([path, 200])
      await viewer.close()
    }
  })

  it('shows the calls and the words of a message whose numbers have gaps', async () => {
    const viewer = await start()
    await post(viewer, otlp([llm(cases[4]![1])]))
    const conversation = await getJson(viewer, `/api/runs/${TRACE}/conversation`)
    expect(conversation).toMatchObject({
      items: [
        { kind: 'step', step: '1', messages: 2, added: 2 },
        { kind: 'tool', name: 'search' },
        { kind: 'message', pieces: [{ type: 'text', text: 'hello' }] },
      ],
    })
  })
})

describe('a request with', () => {
  const bad: [what: string, span: object, reason: RegExp][] = [
    ['an event that is null', { events: [null] }, /events\[0\]: expected an object, got `null`/],
    ['events that are no list', { events: {} }, /events: expected a list/],
    ['a link that is null', { links: [null] }, /links\[0\]: expected an object/],
    [
      'a text that is an object',
      { attributes: [{ key: 'a', value: { stringValue: {} } }] },
      /attributes\[0\]\.value\.stringValue: expected a plain value, got `\{\}`/,
    ],
    [
      'a value that is a text',
      { attributes: [{ key: 'a', value: 'b' }] },
      /attributes\[0\]\.value: expected an object/,
    ],
    ['a name that is a list', { name: ['a'] }, /name: expected a plain value/],
    ['a status that is a number', { status: 5 }, /status: expected an object/],
    [
      'values too deep',
      { attributes: [{ key: 'a', value: deep(60) }] },
      /Nested too deeply: more than 100 messages/,
    ],
    [
      'unknown fields too deep',
      { x: JSON.parse('['.repeat(300) + ']'.repeat(300)) },
      /Nested too deeply: more than 200 levels/,
    ],
    ['no span at all', { spanId: undefined }, /span id of 8 bytes/],
  ]

  function deep(levels: number): object {
    let value: object = { stringValue: 'x' }
    for (let level = 0; level < levels; level++) value = { arrayValue: { values: [value] } }
    return value
  }

  it.each(bad)('%s loses that span, says which, and keeps the others', async (_what, wrong, reason) => {
    const viewer = await start()
    const traces = otlp([{ spanId: id(1) }, good])
    Object.assign(traces.resourceSpans[0]!.scopeSpans[0]!.spans[0]!, wrong)
    const answer = (await (await post(viewer, traces)).json()) as Partial
    expect(answer.partialSuccess?.rejectedSpans).toBe('1')
    expect(answer.partialSuccess?.errorMessage).toMatch(reason)
    expect(await titles(viewer)).toEqual([GOOD])
  })

  it('nulls where there may be nothing keeps every span', async () => {
    const viewer = await start()
    const traces = otlp([good])
    Object.assign(traces.resourceSpans[0]!.scopeSpans[0]!.spans[0]!, {
      events: null,
      links: null,
      attributes: [
        { key: 'a', value: null },
        { key: 'b', value: { stringValue: null } },
      ],
      status: null,
      parentSpanId: null,
      kind: null,
      endTimeUnixNano: null,
    })
    expect(await (await post(viewer, traces)).json()).toEqual({})
    const { span } = await getJson<{ span: object }>(viewer, `/api/runs/${GOOD}/spans/${id(1)}`)
    expect(span).toMatchObject({ name: 'good', events: [], links: [], attributes: { a: null, b: null } })
  })

  it('a resource that is none loses what came from there, and nothing else', async () => {
    const viewer = await start()
    const traces = {
      resourceSpans: [
        ...otlp([{ spanId: id(1) }, { spanId: id(2) }]).resourceSpans,
        ...otlp([good]).resourceSpans,
      ],
    }
    Object.assign(traces.resourceSpans[0]!, { resource: { attributes: [7] } })
    const answer = (await (await post(viewer, traces)).json()) as Partial
    expect(answer.partialSuccess).toMatchObject({
      rejectedSpans: '2',
      errorMessage: expect.stringContaining('attributes[0]: expected an object'),
    })
    expect(await titles(viewer)).toEqual([GOOD])
  })

  it('a log record that is null loses that record', async () => {
    const viewer = await start()
    await post(viewer, otlp([good]))
    const record = { traceId: GOOD, spanId: id(1), body: { stringValue: 'said' }, timeUnixNano: '1000' }
    const logRecords = [null, record, { ...record, body: 'no value' }, 5]
    const logs = { resourceLogs: [{ scopeLogs: [{ logRecords }] }] }
    const answer = (await (await post(viewer, logs, { path: '/v1/logs' })).json()) as Partial
    expect(answer.partialSuccess).toMatchObject({
      rejectedLogRecords: '3',
      errorMessage: 'expected an object, got `null`.',
    })
    const { span } = await getJson<{ span: { events: object[] } }>(viewer, `/api/runs/${GOOD}/spans/${id(1)}`)
    expect(span.events).toMatchObject([{ attributes: { 'log.body': 'said' } }])
  })

  it('more than 100,000 spans is refused whole, so that it can be sent in parts', async () => {
    const viewer = await start()
    const request = `{"resourceSpans":[{"scopeSpans":[{"spans":[${'{},'.repeat(100_000)}{}]}]}]}`
    const response = await post(viewer, request)
    expect(response.status).toBe(413)
    expect(await response.json()).toEqual({
      code: 8,
      message: expect.stringContaining('send smaller batches'),
    })
  })

  it.each([
    ['a value too deep', nestedProtobuf(60), 'Nested too deeply'],
    [
      'more fields than anybody reads',
      Buffer.from([...Array(300_000)].flatMap(() => [0x50, 1])),
      'Too much: more than 250000 fields',
    ],
  ])('%s in protobuf loses that span', async (_what, rest, reason) => {
    const viewer = await start()
    const ids = (spanId: number) => [
      field(1, Buffer.alloc(16, 0xbb)),
      field(2, Buffer.from(id(spanId), 'hex')),
    ]
    const spans = [field(2, ...ids(1)), field(2, ...ids(2), rest)]
    const response = await post(viewer, field(1, field(2, ...spans)), {
      headers: { 'content-type': 'application/x-protobuf' },
    })
    expect(response.status).toBe(200)
    expect(Buffer.from(await response.arrayBuffer()).toString('latin1')).toContain(reason)
    expect(await titles(viewer)).toEqual([GOOD])
  })
})

/** A length-delimited field. */
function field(number: number, ...parts: Buffer[]): Buffer {
  const body = Buffer.concat(parts)
  const length: number[] = []
  let left = body.length
  for (; left > 127; left = Math.floor(left / 128)) length.push((left % 128) | 128)
  return Buffer.concat([Buffer.from([(number << 3) | 2, ...length, left]), body])
}

/** An attribute of a span whose value is a list in a list, so many times. */
function nestedProtobuf(levels: number): Buffer {
  let value = field(1, Buffer.from('x'))
  for (let level = 0; level < levels; level++) value = field(5, field(1, value))
  return field(9, field(1, Buffer.from('a')), field(2, value))
}
