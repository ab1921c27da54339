import { AIMessage, type BaseMessage, HumanMessage } from '@langchain/core/messages'
import { fakeModel } from '@langchain/core/testing'
import { deny, type Gate, mutate } from 'hookspan/gates'
import { hookspanMiddleware } from 'hookspan/langchain'
import { redact } from 'hookspan/policies'
import { createAgent, tool } from 'langchain'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { dispatcherWith, find } from '../support/told-events.ts'

const search = tool(({ q }) => `found ${q}`, {
  name: 'search',
  description: 'Searches.',
  schema: z.object({ q: z.string() }),
})

const THOUGHT = { type: 'thinking', thinking: 'Whose is it?', signature: 'Eq8=' }
const TEXT = { type: 'text', text: 'Of ann@shop.test.', citations: [{ cited_text: 'ann@shop.test' }] }
const CALL = {
  type: 'tool_use',
  id: 'toolu_1',
  name: 'search',
  input: { q: 'a' },
  caller: { type: 'direct' },
}

/** As `@langchain/anthropic` gives what Claude said. */
const ofClaude = (...content: object[]) =>
  new AIMessage({
    content: content as never,
    tool_calls: [{ id: 'toolu_1', name: 'search', args: { q: 'a' }, type: 'tool_call' }],
    additional_kwargs: { id: 'msg_1', parsed: { of: 'ann@shop.test' } },
    response_metadata: { model_provider: 'anthropic', stop_reason: 'tool_use' },
    usage_metadata: { input_tokens: 9, output_tokens: 4, total_tokens: 13 },
  })

/** What the second request says that the model said in the first. */
async function sentBack(reply: AIMessage, gate: Gate) {
  const { dispatcher, events } = dispatcherWith(gate)
  let sent: BaseMessage | undefined
  const model = fakeModel()
    .respond(reply)
    .respond((messages: BaseMessage[]) => {
      sent = messages.find(({ type }) => type === 'ai')
      return new AIMessage('done')
    })
  const middleware = [hookspanMiddleware({ dispatcher })]
  await createAgent({ model, tools: [search], middleware }).invoke({ messages: [new HumanMessage('hi')] })
  await dispatcher.drain()
  return { sent: sent as AIMessage, events }
}

const after = (change: (payload: Record<string, unknown>) => object): Gate => ({
  id: 'changes',
  point: 'afterLlmCall',
  decide: ({ payload }) => {
    const made = payload as Record<string, unknown>
    return made.toolCalls === undefined ? undefined : mutate({ ...made, ...change(made) })
  },
})

it('a reply whose text is redacted goes back with the thoughts, ids and metadata that came with it', async () => {
  const { sent } = await sentBack(ofClaude(THOUGHT, TEXT, CALL), redact({ kinds: ['email'] }))
  expect(sent.content).toEqual([THOUGHT, { type: 'text', text: 'Of [email].' }, CALL])
  expect(sent.tool_calls).toMatchObject([{ id: 'toolu_1', name: 'search', args: { q: 'a' } }])
  expect(sent.response_metadata).toEqual({ model_provider: 'anthropic', stop_reason: 'tool_use' })
  expect(sent.usage_metadata).toMatchObject({ total_tokens: 13 })
  // It says once more what was taken out.
  expect(sent.additional_kwargs).toEqual({ id: 'msg_1' })
  expect(JSON.stringify(sent)).not.toContain('ann@')
})

it('a text that stands beside keys of the provider is redacted as it is', async () => {
  const reply = new AIMessage({
    content: 'Of ann@shop.test.',
    tool_calls: [{ id: 'c1', name: 'search', args: { q: 'a' }, type: 'tool_call' }],
    additional_kwargs: { signatures: ['Cs0='], reasoning_content: 'Whose?' },
  })
  const { sent } = await sentBack(reply, redact({ kinds: ['email'] }))
  expect(sent.content).toBe('Of [email].')
  expect(sent.additional_kwargs).toEqual({ signatures: ['Cs0='], reasoning_content: 'Whose?' })
})

it('arguments that a gate changes are those of the block, too, and a call that it drops is in neither', async () => {
  const changed = await sentBack(
    ofClaude(THOUGHT, CALL),
    after(() => ({ toolCalls: [{ toolCallId: 'toolu_1', apiName: 'search', args: { q: 'b' } }] })),
  )
  expect(changed.sent.content).toEqual([THOUGHT, { ...CALL, input: { q: 'b' } }])
  expect(changed.sent.tool_calls).toMatchObject([{ id: 'toolu_1', args: { q: 'b' } }])
  expect(find(changed.events, 'afterToolCall')).toMatchObject({ args: { q: 'b' } })

  const { dispatcher } = dispatcherWith(after(() => ({ toolCalls: [] })))
  const model = fakeModel().respond(ofClaude(THOUGHT, TEXT, CALL))
  const { messages } = await createAgent({
    model,
    tools: [search],
    middleware: [hookspanMiddleware({ dispatcher })],
  }).invoke({ messages: [new HumanMessage('hi')] })
  expect(messages.at(-1)?.content).toEqual([THOUGHT, TEXT])
})

it('thoughts that a gate changes lose their signature, and those of a denied reply are gone', async () => {
  const { sent, events } = await sentBack(
    ofClaude(THOUGHT, TEXT, CALL),
    after(() => ({ reasoning: 'No matter.' })),
  )
  expect(find(events, 'afterLlmCall')).toMatchObject({ response: { reasoning: 'No matter.' } })
  expect(sent.content).toEqual([TEXT, CALL])
  expect(sent.additional_kwargs).toMatchObject({ reasoning_content: 'No matter.' })

  const { dispatcher } = dispatcherWith({ id: 'no', point: 'afterLlmCall', decide: () => deny('secret') })
  const agent = createAgent({
    model: fakeModel().respond(ofClaude(THOUGHT, TEXT, CALL)),
    tools: [search],
    middleware: [hookspanMiddleware({ dispatcher })],
  })
  const said = await agent.invoke({ messages: [new HumanMessage('hi')] }).catch((error: unknown) => error)
  expect(JSON.stringify(said)).not.toMatch(/Whose is it|ann@/)
})

it('a refusal is decided on, and stays where it was as long as nobody changes it', async () => {
  const refusing = () =>
    new AIMessage({
      content: '',
      tool_calls: [{ id: 'toolu_1', name: 'search', args: { q: 'a' }, type: 'tool_call' }],
      additional_kwargs: { refusal: 'Not of ann@shop.test.' },
    })
  const kept = await sentBack(
    refusing(),
    after(() => ({ toolCalls: [{ toolCallId: 'toolu_1', apiName: 'search', args: { q: 'b' } }] })),
  )
  expect(kept.sent).toMatchObject({
    content: '',
    additional_kwargs: { refusal: 'Not of ann@shop.test.' },
    tool_calls: [{ args: { q: 'b' } }],
  })
  const changed = await sentBack(
    refusing(),
    after(() => ({ refusal: 'Not of [email].' })),
  )
  expect(JSON.stringify(changed.sent)).not.toContain('ann@shop.test')
  expect(changed.sent.content).toBe('Not of [email].')
})
