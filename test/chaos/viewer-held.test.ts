/** Nothing that is sent keeps the viewer from everything else. */
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { id, otlp, type TestSpan, type Value } from '../viewer/support.ts'
import { tell } from './support/tell.ts'
import { askAll, type Held, routesOf, startViewerProcess, type ViewerProcess } from './support/viewer.ts'

/** No request holds the loop for longer. */
const MAX_HELD_MS = 200
const TRACE = 'c'.repeat(32)

const CHAT = { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'm' }
const message = (content: string) => JSON.stringify([{ role: 'user', parts: [{ type: 'text', content }] }])

/** Each span the parent of the next one. */
function chain(count: number, attributes: (index: number) => Record<string, Value>): TestSpan[] {
  return Array.from({ length: count }, (_, index) => ({
    traceId: TRACE,
    spanId: id(index + 1),
    parentSpanId: index === 0 ? '' : id(index),
    name: `span ${index}`,
    start: index / 100,
    end: 1000 - index / 100,
    attributes: attributes(index),
  }))
}

async function sendInParts(viewer: ViewerProcess, spans: TestSpan[], atOnce = 5000): Promise<void> {
  for (let from = 0; from < spans.length; from += atOnce)
    expect((await viewer.send(otlp(spans.slice(from, from + atOnce)))).status).toBe(200)
}

/**
 * Late it may be on a machine that does other things; held it was by its own work. That takes twice as long where others use
 * the same core and its caches: the best of several tries counts.
 */
const heldMs = ({ workedMs, delayMs }: Held) => Math.min(workedMs, delayMs)

function expectFree(what: string, all: { by: string; held: Held }[]): void {
  const worst = all.reduce((a, b) => (heldMs(b.held) > heldMs(a.held) ? b : a))
  tell({ done: `viewer: ${what}: held ${heldMs(worst.held)} ms at most, by ${worst.by}`, times: all.length })
  expect(heldMs(worst.held), worst.by).toBeLessThan(MAX_HELD_MS)
}

describe('a viewer in a process of its own', { retry: 5 }, () => {
  const cases: [what: string, spans: () => TestSpan[]][] = [
    [
      'a chain of 20,000 agents',
      () =>
        chain(20_000, (index) => ({
          'gen_ai.operation.name': 'invoke_agent',
          'gen_ai.agent.name': `a${index % 7}`,
        })),
    ],
    ['a chain of 20,000 spans of no kind', () => chain(20_000, () => ({}))],
    [
      'a chain of 20,000 model calls and tools',
      () =>
        chain(
          20_000,
          (index): Record<string, Value> =>
            index % 2 === 0
              ? { ...CHAT, 'gen_ai.input.messages': message(`hello ${index}`) }
              : { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'search' },
        ),
    ],
    [
      'a run of 60,000 spans side by side',
      () =>
        chain(60_000, () => ({ 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'search' })).map(
          (span, index) => ({ ...span, parentSpanId: index === 0 ? '' : id(1) }),
        ),
    ],
    [
      'a conversation of 10 MB',
      () => {
        const history: object[] = []
        return chain(45, (index) => {
          history.push({
            role: 'user',
            parts: [{ type: 'text', content: `${index} ${'hello "you" '.repeat(900)}` }],
          })
          return { ...CHAT, 'gen_ai.input.messages': JSON.stringify(history) }
        }).map((span, index) => ({ ...span, parentSpanId: index === 0 ? '' : id(1) }))
      },
    ],
    [
      'one message of 10 MB',
      () => chain(1, () => ({ ...CHAT, 'gen_ai.input.messages': message('hello "you" '.repeat(900_000)) })),
    ],
    [
      'a message of five million values',
      () => chain(1, () => ({ ...CHAT, 'gen_ai.input.messages': `[${'[],'.repeat(5_000_000)}0]` })),
    ],
    [
      '1,000 events on a span, a hundred times',
      () =>
        chain(100, () => ({})).map((span) => ({
          ...span,
          events: Array.from({ length: 1000 }, (_, at) => ({ name: 'hello', at, attributes: { a: 'b' } })),
        })),
    ],
  ]

  it.each(cases)('answers others while it is asked for %s', async (what, spans) => {
    await using viewer = await startViewerProcess({ db: ':memory:' })
    await viewer.held()
    const sent = spans()
    await sendInParts(viewer, sent, Math.max(1, Math.floor(sent.length / 12)))
    const all = [{ by: 'taking it in', held: await viewer.held() }]
    for (const route of routesOf(TRACE, id(1))) {
      await askAll(viewer, [route])
      all.push({ by: route.replaceAll(TRACE, 'RUN'), held: await viewer.held() })
    }
    expectFree(what, all)
  })

  it('answers others while 32 MB arrive in one request', async () => {
    await using viewer = await startViewerProcess({ db: ':memory:' })
    const span = (index: number) => ({
      traceId: TRACE,
      spanId: id(index + 1),
      attributes: { text: 'hello '.repeat(50) },
    })
    const body = Buffer.from(JSON.stringify(otlp(Array.from({ length: 50_000 }, (_, index) => span(index)))))
    expect(body.length).toBeGreaterThan(25_000_000)
    await viewer.held()
    expect((await viewer.send(body)).status).toBe(200)
    expectFree('one request of JSON', [
      { by: `${Math.round(body.length / 1e6)} MB`, held: await viewer.held() },
    ])
  })

  const bombs: [what: string, body: () => string, status: number][] = [
    ['ten million empty spans', () => spansText('{},'.repeat(9_500_000).slice(0, -1)), 413],
    ['ten million nulls', () => spansText(`${'0,'.repeat(15_000_000)}0`), 413],
    ['a list of lists without end', () => spansText('['.repeat(30_000_000)), 400],
    ['a span of fifteen million values', () => spansText(`{"a":[${'0,'.repeat(15_000_000)}0]}`), 200],
    ['resources without spans', () => `{"resourceSpans":[${'{},'.repeat(9_500_000)}{}]}`, 413],
    ['white space', () => `{"resourceSpans":[${' '.repeat(30_000_000)}]}`, 200],
  ]
  const spansText = (spans: string) => `{"resourceSpans":[{"scopeSpans":[{"spans":[${spans}]}]}]}`

  it.each(bombs)(
    'takes some kilobytes of gzip that are %s unpacked, and little memory',
    async (what, body, status) => {
      await using viewer = await startViewerProcess({ db: ':memory:' })
      const packed = gzipSync(body())
      expect(packed.length).toBeLessThan(100_000)
      const { rssMib } = await viewer.held()
      const begun = performance.now()
      const answers = await Promise.all(
        Array.from({ length: 3 }, () => viewer.send(packed, { headers: { 'content-encoding': 'gzip' } })),
      )
      expect(answers.map((answer) => answer.status)).toEqual([status, status, status])
      const held = await viewer.held()
      const spent = `${Math.round(performance.now() - begun)} ms and ${held.rssMib - rssMib} MiB`
      expectFree(`three times ${packed.length} bytes of gzip: ${what}, in ${spent}`, [
        { by: 'taking it in', held },
      ])
      expect(held.rssMib - rssMib).toBeLessThan(600)
      await askAll(viewer, routesOf(TRACE, id(1)))
    },
  )
})
