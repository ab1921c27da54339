/** An agent's run, with the tracing of a page, and what was sent of it. */
import assert from 'node:assert/strict'
import { HookDispatcher } from 'hookspan'
import { scriptedFetch } from 'hookspan/mock'
import { observeOpenAI } from 'hookspan/openai'
import OpenAI from 'openai'
import { sent } from '../outside.mjs'

/**
 * @param tracing what `startTracing` gave
 * @param url where the page says that spans go
 * @param headers that they have to carry
 * @param content what was said, where the page captures it
 * @returns the texts of the bodies that came there; whatever else is in them, names and values stand as they are in both encodings
 */
export async function spansAt(tracing, url, headers = {}, content = ['Where is it?']) {
  const dispatcher = new HookDispatcher()
  dispatcher.use(tracing)
  const fetch = scriptedFetch({ steps: [{ content: 'Order 7 is on its way.' }] })
  const client = observeOpenAI(new OpenAI({ apiKey: 'none', fetch }), { dispatcher })
  const op = dispatcher.startOperation({ agentName: 'support', conversationId: 'c-1' })
  await op.step(async (step) => {
    await step.toolCall({ apiName: 'find_order', args: { id: 7 } }, () => 'shipped')
    await client.chat.completions.create({
      model: 'gpt-4o',
      messages: [{ role: 'user', content: 'Where is it?' }],
    })
  })
  await op.complete()
  await tracing.shutdown()
  const there = sent.filter((request) => request.url === url)
  assert.notEqual(there.length, 0, `nothing came to ${url}, but to ${sent.map((request) => request.url)}`)
  for (const request of there) {
    assert.equal(request.method, 'POST')
    for (const [name, value] of Object.entries(headers)) assert.equal(request.headers[name], value)
  }
  const bodies = there.map(({ body }) => body.toString())
  const names = ['invoke_agent support', 'chat gpt-4o', 'execute_tool find_order', ...content]
  for (const name of names) {
    assert.ok(
      bodies.some((body) => body.includes(name)),
      `${name} did not come`,
    )
  }
  return { bodies, requests: there }
}
