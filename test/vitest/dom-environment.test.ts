// @vitest-environment happy-dom
import { execAgent } from 'hookspan/agent'
import { callTool, mock, scriptedModel } from 'hookspan/mock'
import { expect, test } from 'hookspan/vitest'
import { vi } from 'vitest'

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

// Of jsdom in Jest, and in vitest with vmThreads.
test('a run has timers of that window, which are numbers', async ({ dispatcher, mocks, model }) => {
  for (const name of ['setTimeout', 'setInterval'] as const) {
    const real = globalThis[name]
    vi.stubGlobal(name, (fn: () => void, ms?: number) => Number(real(fn, ms)))
  }
  const seen = vi.fn(() => new Promise<void>((resolve) => setTimeout(resolve, 1)))
  dispatcher.use({
    name: 'slow',
    hooks: [{ id: 'slow', type: 'afterToolCall', timeoutMs: 1_000, handler: seen }],
  })
  mocks.use(mock('book_flight').delays(1).returns({ ok: true }))
  const client = model([callTool('book_flight', { to: 'Bergen' }), 'done'])
  const run = await execAgent({ agent, prompt: 'go', client, dispatcher }).finally(() =>
    vi.unstubAllGlobals(),
  )
  expect(run).toMatchObject({ status: 'done', content: 'done' })
  expect(seen).toHaveBeenCalledOnce()
})
