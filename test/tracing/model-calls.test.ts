import { HookDispatcher } from 'hookspan'
import { execAgent } from 'hookspan/agent'
import { scriptedModel } from 'hookspan/mock'
import { expect, it } from 'vitest'
import { traced } from '../support/span-tree.ts'

const json = (value: unknown) => JSON.parse(String(value)) as unknown

async function attributesOf(
  reply: unknown,
  options: Parameters<typeof traced>[0] = {},
  request: Readonly<Record<string, unknown>> = {},
  conversationId?: string,
) {
  using setup = traced({ captureContent: true, ...options })
  const op = setup.dispatcher.startOperation({ agentName: 'a', ...(conversationId && { conversationId }) })
  try {
    const given = await op.llmCall<unknown>({ model: 'm', request }, () => reply)
    if (typeof given === 'object' && given !== null && Symbol.asyncIterator in given)
      for await (const _chunk of given as AsyncIterable<unknown>);
  } catch {
    // The span tells.
  }
  await op.complete()
  return setup.span('chat m').attributes
}

const choice = (content: string, index = 0, finish_reason = 'stop') => ({
  index,
  finish_reason,
  message: { role: 'assistant', content },
})

it('counts the tokens that were written to a cache, under the name of the profile', async () => {
  const usage = { input_tokens: 4, output_tokens: 1, cache_creation_input_tokens: 5 }
  const reply = { type: 'message', content: [], usage }
  expect(await attributesOf(reply)).toMatchObject({
    'gen_ai.usage.input_tokens': 9,
    'gen_ai.usage.cache_creation.input_tokens': 5,
  })
  const latest = await attributesOf(reply, { semconv: 'latest' })
  expect(latest['gen_ai.usage.cache_write.input_tokens']).toBe(5)
  expect(latest['gen_ai.usage.cache_creation.input_tokens']).toBeUndefined()
})

it('has the conversation that the provider keeps, unless the run has one', async () => {
  const reply = { id: 'r', object: 'response', output: [], conversation: { id: 'conv_1' } }
  expect(await attributesOf(reply)).toMatchObject({ 'gen_ai.conversation.id': 'conv_1' })
  const asked = await attributesOf({}, {}, { input: 'x', conversation: 'conv_2' })
  expect(asked['gen_ai.conversation.id']).toBe('conv_2')
  const own = await attributesOf(reply, {}, { conversation: 'conv_2' }, 'mine')
  expect(own['gen_ai.conversation.id']).toBe('mine')
})

it('says that a reply holds a compacted conversation', async () => {
  const output = [{ type: 'compaction', id: 'c', encrypted_content: 'x' }]
  const attributes = await attributesOf({ id: 'r', object: 'response', output })
  expect(attributes['gen_ai.conversation.compacted']).toBe(true)
  expect(json(attributes['gen_ai.output.messages'])).toEqual([
    {
      role: 'assistant',
      parts: [{ type: 'compaction', id: 'c', encrypted_content: 'x' }],
      finish_reason: 'stop',
    },
  ])
})

it('has a message for each choice, and a reason for each', async () => {
  const choices = [choice('one'), choice('two', 1, 'length'), choice('three', 2)]
  const attributes = await attributesOf({ choices }, {}, { messages: [], n: 3 })
  expect(attributes['gen_ai.request.choice.count']).toBe(3)
  expect(attributes['gen_ai.response.finish_reasons']).toEqual(['stop', 'length', 'stop'])
  expect(json(attributes['gen_ai.output.messages'])).toEqual(
    choices.map(({ message, finish_reason }) => ({
      role: 'assistant',
      parts: [{ type: 'text', content: message.content }],
      finish_reason,
    })),
  )
})

it('writes no empty id', async () => {
  const attributes = await attributesOf({ id: '', model: '', choices: [choice('x')] })
  expect(attributes).not.toHaveProperty('gen_ai.response.id')
  expect(attributes).not.toHaveProperty('gen_ai.response.model')
})

it('knows nothing of a reply of an unknown shape, and says nothing of it', async () => {
  const attributes = await attributesOf({ content: { secret: 1 } })
  expect(attributes).not.toHaveProperty('gen_ai.output.messages')
})

it('tells a stream that was cut from one that failed and one that is whole', async () => {
  async function* stream(finish?: string, error?: Error) {
    yield { choices: [{ index: 0, delta: { content: 'half' } }] }
    if (error) throw error
    if (finish) yield { choices: [{ index: 0, delta: {}, finish_reason: finish }] }
  }
  const message = (finish_reason: string) => [
    { role: 'assistant', parts: [{ type: 'text', content: 'half' }], finish_reason },
  ]
  const whole = await attributesOf(stream('length'))
  expect(whole['hookspan.stream.end']).toBe('finished')
  expect(json(whole['gen_ai.output.messages'])).toEqual(message('length'))

  const cut = await attributesOf(stream())
  expect(cut['hookspan.stream.end']).toBe('cut')
  expect(cut['gen_ai.response.finish_reasons']).toEqual(['error'])
  expect(json(cut['gen_ai.output.messages'])).toEqual(message('error'))
  expect(cut['error.type']).toBeUndefined()

  const failed = await attributesOf(stream(undefined, new TypeError('terminated')))
  expect(failed['error.type']).toBe('TypeError')
  expect(failed['gen_ai.response.finish_reasons']).toEqual(['error'])
  expect(json(failed['gen_ai.output.messages'])).toEqual(message('error'))

  const refused = await attributesOf(Promise.reject(new TypeError('no connection')))
  expect(refused['gen_ai.response.finish_reasons']).toEqual(['error'])
})

it('gives the run an answer with a reason, which says how the run ended', async () => {
  using setup = traced({ captureContent: true })
  const { dispatcher } = setup
  using model = scriptedModel(['Hi.', { content: 'Wait.', toolCalls: [{ name: 'nap' }] }])
  const agent = { name: 'a', model: 'm', tools: [{ name: 'nap', execute: () => 'done' }] }
  await execAgent({ agent, prompt: 'x', client: model, dispatcher, priceOf: () => 0 })
  await execAgent({
    agent: { ...agent, name: 'b', maxSteps: 1 },
    prompt: 'x',
    client: model,
    dispatcher,
    priceOf: () => 0,
  })
  const output = (name: string) => json(setup.span(name).attributes['gen_ai.output.messages'])
  expect(output('invoke_agent a')).toEqual([
    { role: 'assistant', parts: [{ type: 'text', content: 'Hi.' }], finish_reason: 'stop' },
  ])
  expect(output('invoke_agent b')).toEqual([
    { role: 'assistant', parts: [{ type: 'text', content: 'Wait.' }], finish_reason: 'length' },
  ])
})

it('tells hooks what had come of a stream that failed', async () => {
  const dispatcher = new HookDispatcher()
  const seen: unknown[] = []
  const op = dispatcher.startOperation({
    hooks: [{ id: 'e', type: 'onLlmCallError', handler: (event) => void seen.push(event) }],
  })
  const stream = await op.llmCall({ model: 'm', request: {} }, async function* () {
    yield { choices: [{ index: 0, delta: { content: 'half' } }] }
    throw new TypeError('terminated')
  })
  await expect(async () => {
    for await (const _chunk of stream);
  }).rejects.toThrow('terminated')
  expect(seen).toMatchObject([{ response: { content: 'half', finishReasons: ['error'] } }])
  await op.complete()
})
