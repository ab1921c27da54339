/** What stays in memory while a run that says a lot is told as a chat. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import { conversing } from '../../src/viewer/model/conversation.ts'
import { receiveTraces } from '../../src/viewer/otlp/receive.ts'
import { Store } from '../../src/viewer/store/store.ts'
import { id, otlp, TRACE } from './support.ts'

setFlagsFromString('--expose-gc')
const gc = runInNewContext('gc') as () => void
const MIB = 1024 * 1024

const CALLS = 24
const SAID = 'said. '.repeat(MIB / 2)

const said = {
  chat: (n: number) => ({
    'gen_ai.input.messages': JSON.stringify([{ role: 'user', content: `${n} ${SAID}` }]),
  }),
  execute_tool: (n: number) => ({ 'gen_ai.tool.name': 'read', 'gen_ai.tool.call.result': `${n} ${SAID}` }),
}

it.each(['chat', 'execute_tool'] as const)(
  'a conversation of large texts, each of a span %s, keeps the beginnings of them in memory',
  (operation) => {
    const store = new Store({ file: ':memory:' })
    const spans = Array.from({ length: CALLS }, (_, at) => ({
      spanId: id(at + 1),
      parentSpanId: at > 0 ? id(1) : '',
      name: operation,
      start: at,
      attributes: { 'gen_ai.operation.name': at > 0 ? operation : 'invoke_agent' },
    }))
    store.addSpans(receiveTraces(Buffer.from(JSON.stringify(otlp(spans))), 'json').items)
    const open = (spanId: string) => {
      const span = store.span(TRACE, spanId)!
      const attributes = { ...span.attributes, ...said[operation](Number.parseInt(spanId, 16)) }
      return { ...span, attributes }
    }
    gc()
    const before = process.memoryUsage().heapUsed
    let most = 0
    const turns = conversing(store.run(TRACE)!.rows, open)
    let next = turns.next()
    for (; !next.done; next = turns.next()) {
      gc()
      most = Math.max(most, process.memoryUsage().heapUsed - before)
    }
    expect(JSON.stringify(next.value.items).match(/\d+ said\./g)).toHaveLength(CALLS - 1)
    // One is read at a time, and the one before it is compared with.
    expect(most).toBeLessThan(40 * MIB)
  },
)

it('long messages that differ at their ends are two, and one that is sent again is one', () => {
  const store = new Store({ file: ':memory:' })
  const history = [`${SAID.slice(0, 50_000)}a`, `${SAID.slice(0, 50_000)}b`, `${SAID.slice(0, 50_000)}c`]
  const spans = history.map((_, at) => ({
    spanId: id(at + 1),
    name: 'chat',
    start: at,
    attributes: {
      'gen_ai.operation.name': 'chat',
      'gen_ai.input.messages': JSON.stringify(
        history.slice(0, at + 1).map((content) => ({ role: 'user', content })),
      ),
    },
  }))
  const root = { spanId: id(9), name: 'invoke_agent', start: 0, end: 10_000 }
  const all = [root, ...spans.map((span) => ({ ...span, parentSpanId: root.spanId }))]
  store.addSpans(receiveTraces(Buffer.from(JSON.stringify(otlp(all))), 'json').items)
  const turns = conversing(store.run(TRACE)!.rows, (spanId) => store.span(TRACE, spanId))
  let next = turns.next()
  while (!next.done) next = turns.next()
  expect(next.value.items.filter(({ kind }) => kind === 'message')).toHaveLength(3)
})
