import * as ai from 'ai'
import { observeAISDK } from 'hookspan/ai-sdk'
import { mock } from 'hookspan/mock'
import { expect, test } from 'hookspan/vitest'
import { z } from 'zod'
import { scripted } from './scripted.ts'

const book_flight = ai.tool({
  inputSchema: z.object({ to: z.string() }),
  execute: (): Promise<{ ok: boolean }> => Promise.reject(new Error('a real card was charged')),
})

test('books Bergen when Oslo is sold out', async ({ dispatcher, mocks }) => {
  mocks.use(
    mock('book_flight').when({ to: 'Oslo' }).throws(new Error('sold out')),
    mock('book_flight').when({ to: 'Bergen' }).returns({ ok: true }),
  )
  const { generateText } = observeAISDK(ai, { dispatcher })
  const book = (to: string) => ({ tool: 'book_flight', input: { to } })
  const { text } = await generateText({
    model: scripted([book('Oslo'), book('Bergen'), 'You fly to Bergen.']),
    tools: { book_flight },
    prompt: 'Book me to Norway',
    stopWhen: ai.isStepCount(5),
  })
  expect(text).toBe('You fly to Bergen.')
})
