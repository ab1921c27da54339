/** What a query finds, to the letter. */
import { expect, it, onTestFinished, vi } from 'vitest'
import { receiveTraces } from '../../src/viewer/otlp/receive.ts'
import { parseFilter } from '../../src/viewer/store/filter.ts'
import { Store } from '../../src/viewer/store/store.ts'
import { start } from './start.ts'
import { requestOf } from './store-model/sent.ts'
import { id, otlp, post, TRACE } from './support.ts'

const toolCalls = (...names: string[]) =>
  otlp(
    names.map((name, index) => ({
      spanId: id(index + 1),
      attributes: { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': name },
    })),
  )

it.each([
  ['tool:App\\Tools', 1],
  ['tool:app\\tools\\read', 1],
  ['tool:"say hi"', 0],
  ['tool:"*say*hi*"', 1],
  ['tool:write*file', 0],
  ['tool:read*file', 1],
  // Signs of the list that they are kept in are no signs of theirs.
  ['tool:,', 0],
  ['tool:[', 0],
  ['tool:n', 0],
  ['-tool:,', 1],
])('%s looks at each tool by itself', async (query, total) => {
  const viewer = await start()
  await post(viewer, toolCalls('App\\Tools\\Read', 'say "hi"', 'write', 'read_file', 'a\u001fb'))
  expect(viewer.store.listRuns(query, { limit: 1, offset: 0 }).total).toBe(total)
})

it('finds runs by a label with a backslash', async () => {
  const viewer = await start()
  await post(viewer, toolCalls('search'))
  viewer.store.mark(TRACE, { labels: ['C:\\temp'] })
  expect(viewer.store.listRuns('label:C:\\temp', { limit: 1, offset: 0 }).total).toBe(1)
})

it.each([
  ['terms', Array(1_200).fill('spans>0').join(' ')],
  ['terms that exclude', Array(1_200).fill('-tool:x').join(' ')],
  ['states', `status:${Array(1_200).fill('ok').join(',')}`],
])('takes a query of a thousand %s', async (_what, query) => {
  const viewer = await start()
  await post(viewer, toolCalls('search'))
  expect(viewer.store.listRuns(query, { limit: 1, offset: 0 })).toMatchObject({ total: 1, problems: [] })
  expect(viewer.store.numbers(query).runs).toBe(1)
  expect(viewer.store.uses(query, 'tool').names).toBe(1)
})

it.each(['true', 'tr*'])('finds runs by an attribute of their resource that is %s', async (value) => {
  const viewer = await start()
  const ends = { spanId: id(1) }
  await post(viewer, otlp([ends], { 'app.beta': true }))
  await post(viewer, otlp([{ ...ends, traceId: 'b'.repeat(32) }], { 'app.beta': false }))
  const { runs } = viewer.store.listRuns(`resource:app.beta=${value}`, { limit: 9, offset: 0 })
  expect(runs.map(({ traceId }) => traceId)).toEqual([TRACE])
})

const SAID = 'The café in München, 東京 and \u{1F600}rome <b>bold</b>'
it.each([
  ['café', 1],
  ['cafe munchen', 1],
  ['東京', 1],
  ['rome', 1],
  ['bold', 1],
  // Of a path, not of a character.
  ['unit', 1],
  ['u00e9', 0],
  ['d83d', 0],
])('finds %s where JSON has characters by their numbers, as Python and Go write it', async (word, total) => {
  const numbered = (text: string) =>
    text.replace(/[^ -~]|[<>]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
  const inner = numbered(JSON.stringify({ said: SAID, path: 'C:\\unit' }))
  for (const format of ['json', 'protobuf'] as const) {
    // Also where it is a text in JSON, as the arguments of a call are.
    for (const content of [inner, numbered(JSON.stringify([inner]))]) {
      const store = new Store({ file: ':memory:' })
      const means = { category: 'other', label: '' }
      const at = { traceId: TRACE, spanId: id(1), parentSpanId: '', name: 'one', startUs: 1, endUs: 2 }
      const span = { ...at, attributes: { content }, events: [], resource: 3, scope: 0, means }
      store.addSpans(
        receiveTraces(requestOf([{ resource: 3, scope: 0, spans: [span] }], format), format).items,
      )
      // As it is looked through, and by the index.
      expect(store.search(word, 5).hits).toHaveLength(total)
      while (store.work(1_000)) {}
      expect(store.search(word, 5).hits).toHaveLength(total)
      store.close()
    }
  }
})

it('begins a day without a zone where the viewer is, as an hour without one', () => {
  vi.stubEnv('TZ', 'Asia/Tokyo')
  onTestFinished(() => void vi.unstubAllEnvs())
  const [day, hour] = ['2026-11-22', '2026-11-22T00:00'].map((time) => parseFilter(`after:${time}`))
  expect(day!.params).toEqual([new Date(2026, 10, 22).getTime() * 1000])
  expect(day).toEqual(hour)
})

it.each(['limit=abc', 'limit=-1', 'offset=1.5'])('refuses %s', async (query) => {
  const viewer = await start()
  const response = await fetch(`${viewer.url}/api/runs?${query}`)
  const [name, value] = query.split('=')
  expect(response.status).toBe(400)
  const { error } = (await response.json()) as { error: string }
  expect(error).toBe(`\`${name}\` is a whole number, got \`"${value}"\` (string).`)
  expect((await fetch(`${viewer.url}/api/runs?limit=&offset=0`)).status).toBe(200)
})
