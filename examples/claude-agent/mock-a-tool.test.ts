import * as sdk from '@anthropic-ai/claude-agent-sdk'
import { observeClaudeAgent } from 'hookspan/claude-agent'
import { mock } from 'hookspan/mock'
import { expect, test } from 'hookspan/vitest'
import { z } from 'zod'
import { scripted } from './scripted.ts'

const travel = sdk.createSdkMcpServer({
  name: 'travel',
  tools: [
    sdk.tool('book_flight', 'Books a flight.', { to: z.string() }, () =>
      Promise.reject(new Error('a real card was charged')),
    ),
  ],
})

test('books Bergen when Oslo is sold out', async ({ dispatcher, mocks }) => {
  mocks.use(
    mock('book_flight').when({ to: 'Oslo' }).throws(new Error('sold out')),
    mock('book_flight').when({ to: 'Bergen' }).returns({ ok: true }),
  )
  const book = (to: string) => ({ toolCalls: [{ name: 'mcp__travel__book_flight', arguments: { to } }] })
  const claude = await scripted([book('Oslo'), book('Bergen'), { content: 'You fly to Bergen.' }])
  const query = observeClaudeAgent(sdk.query, { dispatcher })
  const options = {
    ...claude.options,
    mcpServers: { travel },
    allowedTools: ['mcp__travel__book_flight'],
    // Claude Code's own tools cannot be mocked: a run with mocks has none of them.
    tools: [],
  }
  let said = ''
  for await (const message of query({ prompt: 'Book me to Norway', options })) {
    if (message.type === 'result' && message.subtype === 'success') said = message.result
  }
  await claude.close()
  expect(said).toBe('You fly to Bergen.')
}, 120_000)
