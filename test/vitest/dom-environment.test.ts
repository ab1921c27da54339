// @vitest-environment happy-dom
import { execAgent } from 'hookspan/agent'
import { callTool, mock, scriptedModel } from 'hookspan/mock'
import { expect, test } from 'hookspan/vitest'

const agent = {
  name: 'travel',
  model: 'gpt-4o',
  tools: [{ name: 'book_flight', execute: () => Promise.reject(new Error('a real card was charged')) }],
}

// Projects with a page have such an environment for all of their tests. The client of `openai` takes it for a browser.
test('a scripted model speaks where there is a window', async ({ dispatcher, mocks, model }) => {
  expect(globalThis).toHaveProperty('window.document')
  mocks.use(mock('book_flight').returns({ ok: true }))
  const client = model([callTool('book_flight', { to: 'Bergen' }), 'done'])
  const { signal } = new AbortController()
  const run = await execAgent({ agent, prompt: 'go', client, dispatcher, signal })
  expect(run).toMatchObject({ status: 'done', content: 'done' })
})

test('a run is interrupted by a signal of that window', async ({ dispatcher, mocks }) => {
  using model = scriptedModel([callTool('book_flight', { to: 'Bergen' })])
  mocks.use(mock('book_flight').hangs())
  const stop = new AbortController()
  const run = execAgent({ agent, prompt: 'go', client: model, dispatcher, signal: stop.signal })
  await expect.poll(() => model.remaining).toBe(0)
  stop.abort()
  expect(await run).toMatchObject({ status: 'interrupted' })
})
