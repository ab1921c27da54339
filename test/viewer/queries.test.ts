/** What a query finds, to the letter. */
import { expect, it, onTestFinished, vi } from 'vitest'
import { parseFilter } from '../../src/viewer/store/filter.ts'
import { start } from './start.ts'
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

it('begins a day without a zone where the viewer is, as an hour without one', () => {
  vi.stubEnv('TZ', 'Asia/Tokyo')
  onTestFinished(() => void vi.unstubAllEnvs())
  const [day, hour] = ['2026-11-22', '2026-11-22T00:00'].map((time) => parseFilter(`after:${time}`))
  expect(day!.params).toEqual([new Date(2026, 10, 22).getTime() * 1000])
  expect(day).toEqual(hour)
})
