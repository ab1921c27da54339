import { expect, it } from 'vitest'
import { start } from './start.ts'
import { id, otlp, post } from './support.ts'

interface Changed {
  type: string
  runs: string[]
  areAll: boolean
}

it.each([
  [3, true],
  [700, false],
])('tells an open page which of %i runs changed, or that there are more', async (count, areAll) => {
  const viewer = await start()
  const page = new AbortController()
  const live = await fetch(`${viewer.url}/api/live`, { signal: page.signal })
  const traceOf = (at: number) => (at + 1).toString(16).padStart(32, 'c')
  const spans = Array.from({ length: count }, (_item, at) => ({ traceId: traceOf(at), spanId: id(1) }))
  await post(viewer, otlp(spans))
  const decoder = new TextDecoder()
  let text = ''
  let told: Changed | undefined
  for await (const chunk of live.body!) {
    text += decoder.decode(chunk, { stream: true })
    told = text
      .split('\n\n')
      .slice(0, -1)
      .filter((event) => event.startsWith('data: '))
      .map((event) => JSON.parse(event.slice(6)) as Changed)
      // It also asks pages to look again that know nothing new.
      .find(({ runs }) => runs.length > 0)
    if (told) break
  }
  page.abort()
  expect(told).toMatchObject({ type: 'changed', areAll })
  // Who looks at the last one knows that it may be among them.
  expect(!told!.areAll || told!.runs.includes(traceOf(count - 1))).toBe(true)
})
