/** Whatever is sent, every route answers afterwards, and what was good before is still there. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { NAMES, NUMBERED_MESSAGES } from '../../src/viewer/model/attributes.ts'
import { sampleRun } from '../viewer/sample-run.ts'
import { id, otlp } from '../viewer/support.ts'
import { tell } from './support/tell.ts'
import { askAll, routesOf, startViewerProcess, type ViewerProcess } from './support/viewer.ts'

const GOOD = 'd'.repeat(32)
const ROUNDS = 60
const REQUESTS = 10

const TRACES = [1, 2, 3].map((number) => number.toString(16).padStart(32, '0'))
const traceId = fc.constantFrom(...TRACES)
const spanId = fc.integer({ min: 1, max: 12 }).map(id)

/** A plain value, or one that has no business to be where it is. */
const odd: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom(
    null,
    {},
    [],
    [null],
    [[]],
    0,
    -1,
    5,
    1e300,
    2 ** 60,
    true,
    '',
    '0',
    'x',
    'NaN',
    '__proto__',
    '\ud800',
    '\u202e',
    '-5',
    '99999999999999999999',
  ),
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.constantFrom(
    '{"a":',
    '[{"role":"user"}]',
    '[null]',
    '{"messages":[1,null,[]]}',
    '[{"parts":[null,5,{"type":"text"}]}]',
    '"text"',
    '['.repeat(300),
  ),
  spanId,
  traceId,
  fc.jsonValue({ maxDepth: 4 }),
)

const key = fc.oneof(
  fc.constantFrom(...Object.values(NAMES).flatMap(({ keys }) => keys)),
  fc
    .tuple(
      fc.constantFrom(...Object.values(NUMBERED_MESSAGES).flat()),
      fc.nat(12),
      fc.constantFrom(
        'role',
        'content',
        'tool_calls.1.tool_call.function.name',
        'tool_calls.0.id',
        'contents.2.message_content.text',
        'tool_call_id',
        '',
      ),
    )
    .map(([{ prefix, infix }, index, rest]) => `${prefix}${index}.${infix}${rest}`),
  fc.constantFrom('__proto__', 'constructor', '', 'llm.tools.0.tool.json_schema', 'log.body'),
)

/** Mostly what a field should be, sometimes what it should not. */
const mostly = (right: fc.Arbitrary<unknown>) =>
  fc.oneof({ weight: 6, arbitrary: right }, { weight: 1, arbitrary: odd })
const text = mostly(
  fc.oneof(
    fc.string({ maxLength: 10 }),
    fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.stringify(value)),
  ),
)
const time = mostly(fc.bigInt({ min: 0n, max: 2n ** 64n }).map(String))

const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: mostly(
    fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.record({ stringValue: text }),
      fc.record({ intValue: mostly(fc.integer().map(String)) }),
      fc.record({ doubleValue: mostly(fc.double()) }),
      fc.record({ boolValue: mostly(fc.boolean()) }),
      fc.record({ bytesValue: text }),
      fc.record({
        arrayValue: mostly(fc.record({ values: mostly(fc.array(tie('value'), { maxLength: 3 })) })),
      }),
      fc.record({
        kvlistValue: mostly(
          fc.record({
            values: mostly(fc.array(fc.record({ key: text, value: tie('value') }), { maxLength: 3 })),
          }),
        ),
      }),
    ),
  ),
}))
const attributes = mostly(fc.array(mostly(fc.record({ key: mostly(key), value })), { maxLength: 8 }))
const spans = mostly(
  fc.array(
    mostly(
      fc.record(
        {
          traceId: mostly(traceId),
          spanId: mostly(spanId),
          parentSpanId: mostly(spanId),
          name: mostly(
            fc.constantFrom(
              'chat',
              'human_intervention',
              'compact_context',
              'gate g',
              'step 1',
              'execute_tool t',
            ),
          ),
          kind: mostly(fc.nat(5)),
          startTimeUnixNano: time,
          endTimeUnixNano: time,
          attributes,
          events: mostly(
            fc.array(
              mostly(
                fc.record({
                  name: mostly(
                    fc.constantFrom(
                      'hookspan.gate',
                      'exception',
                      'gen_ai.choice',
                      'gen_ai.client.inference.operation.details',
                    ),
                  ),
                  timeUnixNano: time,
                  attributes,
                }),
              ),
              { maxLength: 3 },
            ),
          ),
          links: mostly(
            fc.array(mostly(fc.record({ traceId: mostly(traceId), spanId: mostly(spanId), attributes })), {
              maxLength: 2,
            }),
          ),
          status: mostly(fc.record({ code: mostly(fc.nat(3)), message: text })),
        },
        { requiredKeys: ['traceId', 'spanId'] },
      ),
    ),
    { maxLength: 8 },
  ),
)
const ofResource = (scopes: string, items: string, some: fc.Arbitrary<unknown>) =>
  mostly(
    fc.array(
      mostly(
        fc.record({
          resource: mostly(fc.record({ attributes })),
          [scopes]: mostly(
            fc.array(
              mostly(fc.record({ scope: mostly(fc.record({ name: text, version: text })), [items]: some })),
              { maxLength: 2 },
            ),
          ),
        }),
      ),
      { maxLength: 2 },
    ),
  )
const traces = fc.record({ resourceSpans: ofResource('scopeSpans', 'spans', spans) })
const records = mostly(
  fc.array(
    mostly(
      fc.record({
        traceId: mostly(traceId),
        spanId: mostly(spanId),
        timeUnixNano: time,
        body: value,
        severityText: text,
        eventName: text,
        attributes,
      }),
    ),
    { maxLength: 5 },
  ),
)
const logs = fc.record({ resourceLogs: ofResource('scopeLogs', 'logRecords', records) })

const changes = fc.array(
  fc.record({
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    what: fc.constantFrom('set', 'insert', 'remove', 'cut'),
    bytes: fc.uint8Array({ minLength: 1, maxLength: 6 }),
  }),
  { minLength: 1, maxLength: 5 },
)

function damaged(body: Buffer, all: { at: number; what: string; bytes: Uint8Array }[]): Buffer {
  return all.reduce((left, { at, what, bytes }) => {
    const index = Math.floor(at * left.length)
    if (what === 'cut') return at > 0.5 ? left.subarray(0, index) : left
    if (what === 'set')
      return Buffer.concat([left.subarray(0, index), bytes, left.subarray(index + bytes.length)])
    return Buffer.concat([
      left.subarray(0, index),
      what === 'insert' ? bytes : Buffer.alloc(0),
      left.subarray(index + (what === 'remove' ? bytes.length : 0)),
    ])
  }, body)
}

/** Fields of any number and type, within one another. */
const { message } = fc.letrec<{ message: Buffer }>((tie) => ({
  message: fc
    .array(
      fc.tuple(
        fc.integer({ min: 1, max: 17 }),
        fc.oneof(
          { depthSize: 'medium', withCrossShrink: true },
          fc.record({ type: fc.constant(0), body: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }) }),
          fc.record({
            type: fc.constant(1),
            body: fc.uint8Array({ minLength: 8, maxLength: 8 }).map((bytes) => Buffer.from(bytes)),
          }),
          fc.record({
            type: fc.constant(5),
            body: fc.uint8Array({ minLength: 4, maxLength: 4 }).map((bytes) => Buffer.from(bytes)),
          }),
          fc.record({
            type: fc.constant(2),
            body: fc.oneof(
              fc.string({ maxLength: 12 }).map((string) => Buffer.from(string)),
              traceId.map((hex) => Buffer.from(hex, 'hex')),
              spanId.map((hex) => Buffer.from(hex, 'hex')),
              key.map((name) => Buffer.from(name)),
              tie('message'),
            ),
          }),
        ),
      ),
      { maxLength: 6 },
    )
    .map((fields) =>
      Buffer.concat(fields.map(([number, { type, body }]) => encode(number, type, body as Buffer | bigint))),
    ),
}))

function encode(number: number, type: number, body: Buffer | bigint): Buffer {
  const tag = varint(BigInt((number << 3) | type))
  if (typeof body === 'bigint') return Buffer.concat([tag, varint(body)])
  return Buffer.concat(type === 2 ? [tag, varint(BigInt(body.length)), body] : [tag, body])
}

function varint(value: bigint): Buffer {
  const bytes: number[] = []
  for (; value > 127n; value >>= 7n) bytes.push(Number(value & 127n) | 128)
  return Buffer.from([...bytes, Number(value)])
}

/** A span with ids that hold, and whatever else. */
const span = fc
  .tuple(traceId, spanId, message)
  .map(([trace, own, rest]) =>
    Buffer.concat([encode(1, 2, Buffer.from(trace, 'hex')), encode(2, 2, Buffer.from(own, 'hex')), rest]),
  )
const request = fc
  .tuple(fc.array(span, { maxLength: 4 }), message, message)
  .map(([items, resource, scope]) =>
    encode(
      1,
      2,
      Buffer.concat([
        encode(1, 2, resource),
        encode(2, 2, Buffer.concat([encode(1, 2, scope), ...items.map((item) => encode(2, 2, item))])),
      ]),
    ),
  )

const sample = Buffer.from(JSON.stringify(sampleRun()))
const json = { 'content-type': 'application/json' }
const protobuf = { 'content-type': 'application/x-protobuf' }
const sendings = fc.oneof(
  fc.record({
    path: fc.constant('/v1/traces'),
    body: traces.map((body) => Buffer.from(JSON.stringify(body))),
    headers: fc.constant(json),
  }),
  fc.record({
    path: fc.constant('/v1/logs'),
    body: logs.map((body) => Buffer.from(JSON.stringify(body))),
    headers: fc.constant(json),
  }),
  fc.record({
    path: fc.constant('/v1/traces'),
    body: changes.map((all) => damaged(sample, all)),
    headers: fc.constant(json),
  }),
  fc.record({
    path: fc.constantFrom('/v1/traces', '/v1/logs'),
    body: request,
    headers: fc.constant(protobuf),
  }),
  fc.record({
    path: fc.constantFrom('/v1/traces', '/v1/logs'),
    body: fc.tuple(request, changes).map(([body, all]) => damaged(body, all)),
    headers: fc.constant(protobuf),
  }),
)

async function knownRuns(viewer: ViewerProcess): Promise<string[]> {
  const list = (await (await viewer.ask('/api/runs?limit=1000')).json()) as { runs: { traceId: string }[] }
  return list.runs.map((run) => run.traceId)
}

it('answers every route after whatever was sent, in JSON and in protobuf, and keeps what was good', async () => {
  await using viewer = await startViewerProcess({ db: ':memory:' })
  expect((await viewer.send(otlp([{ traceId: GOOD, spanId: id(1), name: 'good' }]))).status).toBe(200)
  let sent = 0
  let refused = 0
  await fc.assert(
    fc.asyncProperty(
      fc.array(sendings, { minLength: REQUESTS, maxLength: REQUESTS }),
      fc.string({ maxLength: 20 }),
      async (all, query) => {
        for (const { path, body, headers } of all) {
          const { status } = await viewer.send(body, { path, headers })
          expect([200, 400]).toContain(status)
          sent++
          if (status === 400) refused++
        }
        const runs = await knownRuns(viewer)
        expect(runs).toContain(GOOD)
        const routes = runs.flatMap((run) => routesOf(run, id(1 + (sent % 12))))
        await askAll(viewer, [
          ...new Set(routes),
          `/api/runs?q=${encodeURIComponent(query)}`,
          `/api/search?q=${encodeURIComponent(query)}`,
        ])
      },
    ),
    { numRuns: ROUNDS, interruptAfterTimeLimit: 120_000, markInterruptAsFailure: false },
  )
  tell({
    done: `viewer: odd requests, ${refused} of them refused, then every route asked`,
    times: sent,
    lost: 0,
  })
  expect(sent).toBeGreaterThan(REQUESTS * 4)
  expect(refused).toBeLessThan(sent)
})
