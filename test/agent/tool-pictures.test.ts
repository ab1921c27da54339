import { type AgentTool, execAgent } from 'hookspan/agent'
import { mutate } from 'hookspan/gates'
import { mock, mockTools } from 'hookspan/mock'
import { describe, expect, it } from 'vitest'
import { recorded, scripted } from '../support/scripted-client.ts'
import { traced } from '../support/span-tree.ts'

const png = 'iVBORw0KGgo='
const chart = {
  content: [
    { type: 'text', text: 'Sales by month:' },
    { type: 'image', data: png, mimeType: 'image/png' },
  ],
}
const url = `data:image/png;base64,${png}`
const draw = (result: unknown = chart): AgentTool => ({ name: 'draw', execute: () => result })

const calls = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ id: `c${index}`, name: 'draw', arguments: {} }))

async function run(tool: AgentTool, options: object = {}, agent: object = {}, count = 1) {
  const { client, fetch } = scripted([{ toolCalls: calls(count) }, { content: 'It grows.' }])
  const ended = await execAgent({
    agent: { name: 'a', model: 'gpt-4o', tools: [tool], ...agent },
    prompt: 'Draw it',
    client,
    ...options,
  })
  return { ended, messages: fetch.requests[1]?.messages ?? [] }
}

describe('a picture in the result of a tool', () => {
  it('follows the results of the turn in the chat API, whose results are text', async () => {
    const { messages, ended } = await run(draw(), {}, {}, 2)
    expect(messages.slice(2)).toEqual([
      { role: 'tool', tool_call_id: 'c0', content: 'Sales by month:\n[image/png, shown below]' },
      { role: 'tool', tool_call_id: 'c1', content: 'Sales by month:\n[image/png, shown below]' },
      {
        role: 'user',
        content: ['c0', 'c1'].flatMap((id) => [
          { type: 'text', text: `From the result of draw (${id}):` },
          { type: 'image_url', image_url: { url } },
        ]),
      },
    ])
    expect(ended).toMatchObject({ status: 'done', content: 'It grows.' })
  })

  it('is a part of the result in the responses API', async () => {
    const { messages } = await run(draw(), {}, { api: 'responses' })
    expect(messages.at(-1)).toEqual({
      type: 'function_call_output',
      call_id: 'c0',
      output: [
        { type: 'input_text', text: 'Sales by month:' },
        { type: 'input_image', detail: 'auto', image_url: url },
      ],
    })
  })

  it.each(['chat', 'responses'])(
    'is a part of the message on the span of the next call (%s)',
    async (api) => {
      using setup = traced({ captureContent: true })
      await run(draw(), { dispatcher: setup.dispatcher }, { api })
      const parts = setup
        .spans()
        .filter(({ name }) => name.startsWith('chat'))
        .flatMap(({ attributes }) => JSON.parse(String(attributes['gen_ai.input.messages'])))
        .flatMap((message: { parts: { type: string; response?: unknown }[] }) => message.parts)
      const blob = { type: 'blob', modality: 'image', mime_type: 'image/png', content: png }
      const inner = parts.flatMap(({ response }) => (Array.isArray(response) ? response : []))
      expect([...parts, ...inner].filter(({ type }) => type === 'blob')).toEqual([blob])
    },
  )

  it('is what a mock or a gate gives, too', async () => {
    const { dispatcher } = recorded()
    using _ = mockTools(dispatcher, [mock('draw').returns(chart)])
    const live = draw()
    live.execute = () => Promise.reject(new Error('live'))
    const mocked = await run(live, { dispatcher }, { api: 'responses' })
    expect(mocked.messages.at(-1)).toMatchObject({ output: [{}, { type: 'input_image', image_url: url }] })

    const other = { content: [{ type: 'image', data: 'AAAA', mimeType: 'image/gif' }] }
    const gate = { id: 'swap', point: 'afterToolCall', decide: () => mutate(other) } as const
    const swapped = await run(draw(), { gates: [gate] }, { api: 'responses' })
    expect(swapped.messages.at(-1)).toMatchObject({ output: [{ image_url: 'data:image/gif;base64,AAAA' }] })
  })

  it('is seen by gates and hooks as the tool gave it', async () => {
    const seen: unknown[] = []
    const gate = {
      id: 'look',
      point: 'afterToolCall',
      decide: ({ payload }: { payload: unknown }) => void seen.push(payload),
    } as const
    const hook = {
      id: 'look',
      type: 'afterToolCall',
      handler: ({ result }: { result?: unknown }) => void seen.push(result),
    } as const
    await run(draw(), { gates: [gate], hooks: [hook] })
    expect(seen).toEqual([chart, chart])
  })

  it('is left out, and said to be, where the result is larger than may be told', async () => {
    const { messages } = await run(draw(), {}, { maxToolResultBytes: 20 })
    expect(messages.at(-1)).toEqual({
      role: 'tool',
      tool_call_id: 'c0',
      content: 'Sales by month:\n[image/png left out: 12 bytes as base64, of 20 that a result may have]',
    })
  })

  it.each([
    [
      'sound',
      { type: 'audio', data: 'AAAA', mimeType: 'audio/wav' },
      '[audio/wav: 4 bytes as base64, which cannot be shown]',
    ],
    ['a link', { type: 'resource_link', uri: 'file:///a' }, '{"type":"resource_link","uri":"file:///a"}'],
  ])('brings what else is beside it as text: %s', async (_what, part, told) => {
    const { messages } = await run(draw({ content: [part, chart.content[1]] }))
    expect(messages.at(-2)).toMatchObject({ role: 'tool', content: `${told}\n[image/png, shown below]` })
  })

  it.each([
    ['without a picture', { content: [{ type: 'text', text: 'x' }] }],
    ['with a picture that has no type', { content: [{ type: 'image', data: png }] }],
    ['with content that is no list', { content: 'x' }],
  ])('leaves a result %s as JSON', async (_what, result) => {
    const { messages } = await run(draw(result))
    expect(messages.at(-1)).toMatchObject({ role: 'tool', content: JSON.stringify(result) })
  })

  it('is counted by what it is, and not told to the model that summarises', async () => {
    const large = { content: [{ type: 'image', data: 'A'.repeat(50_000), mimeType: 'image/png' }] }
    const { client, fetch } = scripted([{ toolCalls: calls(1) }, { content: 'a' }])
    const counted: string[] = []
    const compaction = {
      thresholdTokens: 5_000,
      countTokens: (text: string) => {
        counted.push(text)
        return text.length
      },
    }
    const agent = { name: 'a', model: 'gpt-4o', tools: [draw(large)], compaction }
    await execAgent({ agent, prompt: 'Draw it', client })
    expect(fetch.requests).toHaveLength(2)
    expect(counted.some((text) => text.includes('[image/png]'))).toBe(true)
    expect(counted.filter((text) => text.includes('AAAA'))).toEqual([])
  })
})
