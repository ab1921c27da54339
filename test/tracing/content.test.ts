import { HookDispatcher, ToolResult } from 'hookspan'
import { type ContentPlace, traceHooks } from 'hookspan/tracing'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { cpuClock } from '../support/cpu.ts'
import { traced } from '../support/span-tree.ts'

const MESSAGES = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: 'Where is order 7?' },
  {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'c1', type: 'function', function: { name: 'lookup', arguments: '{"id":7}' } }],
  },
  { role: 'tool', tool_call_id: 'c1', content: 'shipped' },
]
const REPLY = {
  choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Shipped.' } }],
}
const TOOLS = [{ type: 'function', function: { name: 'lookup', parameters: { type: 'object' } } }]

describe('content capture', () => {
  afterEach(() => vi.unstubAllEnvs())

  it('is off unless asked for', async () => {
    using setup = traced()
    await run(setup.dispatcher)
    const text = JSON.stringify(setup.spans().map((span) => [span.attributes, span.events]))
    for (const secret of ['Be brief', 'order 7', 'Shipped', 'needle']) expect(text).not.toContain(secret)
  })

  it.each(['true', 'SPAN_ONLY', 'span_and_event'])('is on when the environment says %s', async (value) => {
    vi.stubEnv('OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT', value)
    using setup = traced()
    await run(setup.dispatcher)
    expect(setup.span('chat m').attributes['gen_ai.output.messages']).toBeDefined()
  })

  it.each(['false', 'NO_CONTENT', 'EVENT_ONLY'])('is off when the environment says %s', async (value) => {
    vi.stubEnv('OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT', value)
    using setup = traced()
    await run(setup.dispatcher)
    expect(setup.span('chat m').attributes['gen_ai.output.messages']).toBeUndefined()
  })

  it('has the shapes of the conventions', async () => {
    using setup = traced({ captureContent: true })
    await run(setup.dispatcher)
    const chat = setup.span('chat m').attributes
    expect(JSON.parse(String(chat['gen_ai.input.messages']))).toEqual([
      { role: 'system', parts: [{ type: 'text', content: 'Be brief.' }] },
      { role: 'user', parts: [{ type: 'text', content: 'Where is order 7?' }] },
      { role: 'assistant', parts: [{ type: 'tool_call', id: 'c1', name: 'lookup', arguments: { id: 7 } }] },
      { role: 'tool', parts: [{ type: 'tool_call_response', id: 'c1', response: 'shipped' }] },
    ])
    expect(JSON.parse(String(chat['gen_ai.output.messages']))).toEqual([
      { role: 'assistant', parts: [{ type: 'text', content: 'Shipped.' }], finish_reason: 'stop' },
    ])
    expect(JSON.parse(String(chat['gen_ai.tool.definitions']))).toEqual([
      { type: 'function', name: 'lookup', parameters: { type: 'object' } },
    ])
    const tool = setup.span('execute_tool lookup').attributes
    expect(JSON.parse(String(tool['gen_ai.tool.call.arguments']))).toEqual({ q: 'needle' })
    expect(JSON.parse(String(tool['gen_ai.tool.call.result']))).toEqual({ content: 'found needle' })
    expect(setup.span('invoke_agent a').attributes['gen_ai.system_instructions']).toBe(
      '[{"type":"text","content":"Be brief."}]',
    )
  })

  it('goes through the redact function, whole and with its place', async () => {
    const places: string[] = []
    using setup = traced({
      captureContent: true,
      redact: (value, place) => {
        places.push(place.attribute)
        return JSON.parse(JSON.stringify(value).replaceAll('needle', '***'))
      },
    })
    await run(setup.dispatcher)
    expect(JSON.stringify(setup.spans().map((span) => span.attributes))).not.toContain('needle')
    expect(new Set(places)).toEqual(
      new Set([
        'gen_ai.system_instructions',
        'gen_ai.input.messages',
        'gen_ai.output.messages',
        'gen_ai.tool.definitions',
        'gen_ai.tool.call.arguments',
        'gen_ai.tool.call.result',
      ]),
    )
  })

  it('lets nothing through when the redact function throws', async () => {
    using setup = traced({
      captureContent: true,
      redact: () => {
        throw new Error('broken')
      },
    })
    await run(setup.dispatcher)
    const text = JSON.stringify(setup.spans().map((span) => span.attributes))
    expect(text).toContain('[redaction failed]')
    expect(text).not.toContain('needle')
  })

  it.each([false, true])('redacts what a failure says, captured (%s) or not', async (captureContent) => {
    const places: ContentPlace[] = []
    using setup = traced({
      captureContent,
      redact: (value, place) => {
        places.push(place)
        return JSON.parse(JSON.stringify(value).replaceAll('needle', '***'))
      },
    })
    const op = setup.dispatcher.startOperation({ operationId: 'op-1', agentName: 'a' })
    await op.toolCall({ apiName: 'lookup', args: {} }, () => {
      throw new RangeError('no needle found')
    })
    await op.complete()
    const span = setup.span('execute_tool lookup')
    expect(span.status.message).toBe('no *** found')
    expect(span.attributes['error.type']).toBe('RangeError')
    expect(JSON.stringify([span.attributes, span.events, span.status])).not.toContain('needle')
    expect(places).toContainEqual({ attribute: 'error.message', operationId: 'op-1', toolName: 'lookup' })
  })

  it('is cut to its budget with the oldest messages gone, valid, and with the cut told', async () => {
    using setup = traced({ captureContent: true, maxContentBytes: 2_000 })
    const history = Array.from({ length: 50 }, (_, i) => ({
      role: 'user',
      content: `${i} ${'é'.repeat(40)}`,
    }))
    const messages = [MESSAGES[0], ...history]
    await run(setup.dispatcher, messages)
    const chat = setup.span('chat m').attributes
    const text = String(chat['gen_ai.input.messages'])
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(2_000)
    const kept = JSON.parse(text) as { parts: { content: string }[] }[]
    expect(kept[0]?.parts[0]?.content).toBe('Be brief.')
    expect(kept[1]?.parts[0]?.content).toMatch(/^\[hookspan: \d+ messages, \d+ bytes cut\]$/)
    expect(kept.at(-1)?.parts[0]?.content).toBe(history.at(-1)?.content)
    expect(chat['hookspan.content.cut']).toEqual(['gen_ai.input.messages'])
    expect(chat['hookspan.content.cut_bytes']).toBeGreaterThan(3_000)
    expect(chat['gen_ai.response.finish_reasons']).toEqual(['stop'])
  })

  it('keeps as much of a long list and a wide object as fits, and says how much is missing', async () => {
    using setup = traced({ captureContent: true, maxContentBytes: 2_000 })
    const rows = Array.from({ length: 5_000 }, (_, id) => ({ id, city: 'Bergen' }))
    const wide = Object.fromEntries(rows.map(({ id, city }) => [`field${id}`, city]))
    const op = setup.dispatcher.startOperation({ agentName: 'a' })
    await op.toolCall({ apiName: 'query', args: wide }, () => ({ rows, total: 5_000 }))
    await op.complete()
    const { attributes } = setup.span('execute_tool query')
    const result = JSON.parse(String(attributes['gen_ai.tool.call.result']))
    expect(result.rows.length).toBeGreaterThan(10)
    expect(result.rows[0]).toEqual({ id: 0, city: 'Bergen' })
    expect(result.rows.at(-1).hookspan_cut).toBe(`${5_001 - result.rows.length} of 5000 items`)
    expect(result.total).toBe(5_000)
    const args = JSON.parse(String(attributes['gen_ai.tool.call.arguments']))
    expect(args.field0).toBe('Bergen')
    expect(args.hookspan_cut).toMatch(/^\d+ of 5000 fields$/)
    for (const name of ['gen_ai.tool.call.result', 'gen_ai.tool.call.arguments']) {
      expect(Buffer.byteLength(String(attributes[name]))).toBeLessThanOrEqual(2_000)
    }
  })

  it('says what a message lost as one of its parts, and of all that was too much as a message', async () => {
    const parts = Array.from({ length: 60 }, (_, id) => ({
      type: 'text',
      text: `part ${id} ${'x'.repeat(200)}`,
    }))
    const cut = async (maxContentBytes: number) => {
      using setup = traced({ captureContent: true, maxContentBytes })
      const op = setup.dispatcher.startOperation({ agentName: 'a' })
      await op.llmCall({ model: 'm', request: { messages: [{ role: 'user', content: parts }] } }, () => ({
        content: 'ok',
      }))
      await op.complete()
      return JSON.parse(String(setup.span('chat m').attributes['gen_ai.input.messages']))
    }
    const [message] = await cut(2_000)
    expect(message.role).toBe('user')
    expect(message.parts.at(-1)).toEqual({
      type: 'hookspan_cut',
      hookspan_cut: `${61 - message.parts.length} of 60 items`,
    })
    const [all] = await cut(256)
    expect(all).toEqual({
      role: 'user',
      parts: [{ type: 'hookspan_cut', hookspan_cut: expect.stringMatching(/bytes did not fit into 256$/) }],
    })
  })

  it('keeps token counts when a history of 200 messages is captured', async () => {
    using setup = traced({ captureContent: true })
    const messages = Array.from({ length: 200 }, (_, i) => ({ role: 'user', content: `message ${i}` }))
    await run(setup.dispatcher, messages, { usage: { prompt_tokens: 5, completion_tokens: 6 } })
    expect(setup.span('chat m').attributes).toMatchObject({
      'gen_ai.usage.input_tokens': 5,
      'gen_ai.usage.output_tokens': 6,
      'gen_ai.output.messages': expect.any(String),
    })
    expect(setup.span('chat m').droppedAttributesCount).toBe(0)
  })

  it('is looked at no further than there is room for it', async () => {
    let reads = 0
    class Row {
      readonly id: number
      constructor(id: number) {
        this.id = id
        Object.defineProperty(this, 'text', {
          enumerable: true,
          get: () => `row ${++reads}${'x'.repeat(90)}`,
        })
      }
    }
    const rows = Array.from({ length: 100_000 }, (_, id) => new Row(id))
    const tree = Array.from({ length: 100 }, (_, i) => rows.slice(i * 1_000, (i + 1) * 1_000))
    const wide = Object.fromEntries(rows.map((row) => [`row${row.id}`, row]))
    const message = (part: unknown) => ({ role: 'user', content: [{ type: 'data', data: part }] })
    using setup = traced({ captureContent: true })
    const op = setup.dispatcher.startOperation({ agentName: 'a' })
    const spent: number[] = []
    const spend = async (what: () => Promise<unknown>) => {
      const before = reads
      await what()
      spent.push(reads - before)
    }
    for (const args of [{ rows }, { tree }, wide]) {
      await spend(() => op.toolCall({ apiName: 'query', args }, () => 'ok'))
      await spend(() => op.toolCall({ apiName: 'query', args: {} }, () => args))
    }
    const messages = [message('first'), ...tree.map(message), message('last')]
    await spend(() => op.llmCall({ model: 'm', request: { messages } }, () => ({ content: 'ok' })))
    await op.complete()
    // Up to a few hundred rows fit, and are tried a dozen times; there are 100 000.
    expect(Math.max(...spent)).toBeLessThan(30_000)
    const spans = setup.spans().filter(({ name }) => name === 'execute_tool query')
    expect(spans).toHaveLength(6)
    for (const { attributes } of spans)
      expect(attributes['hookspan.content.cut_bytes']).toBeGreaterThan(100_000)
    const kept = JSON.parse(String(setup.span('chat m').attributes['gen_ai.input.messages']))
    expect(JSON.stringify([kept[0], kept.at(-1)])).toMatch(/first.*last/)
  })

  it('survives circular, huge and unserializable results', async () => {
    using setup = traced({ captureContent: true })
    const op = setup.dispatcher.startOperation({ agentName: 'a' })
    const circular: Record<string, unknown> = { n: 1n }
    circular.self = circular
    const hostile = {
      toJSON() {
        throw new Error('no')
      },
    }
    const big = 'x'.repeat(50_000_000)
    await op.step(async (step) => {
      const one = await step.toolCall({ apiName: 'circular', args: circular }, () => circular)
      const two = await step.toolCall({ apiName: 'hostile', args: {} }, () => hostile)
      const three = await step.toolCall({ apiName: 'big', args: {} }, () => new ToolResult({ content: big }))
      expect([one, two, three].map((outcome) => outcome.state)).toEqual([
        'completed',
        'completed',
        'completed',
      ])
      expect(three).toMatchObject({ result: big })
    })
    await op.complete()
    expect(setup.span('execute_tool circular').attributes['gen_ai.tool.call.result']).toBe(
      '{"n":"1","self":"[Circular]"}',
    )
    const cut = String(setup.span('execute_tool big').attributes['gen_ai.tool.call.result'])
    expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(60_000)
    expect(JSON.parse(cut).content).toMatch(/bytes cut\]$/)
  })

  it.each([false, true])(
    'has a span for arguments that say nothing of themselves, redacted: %s',
    async (redacts) => {
      using setup = traced({ captureContent: true, ...(redacts && { redact: (value: unknown) => value }) })
      const { proxy: revoked, revoke } = Proxy.revocable({}, {})
      revoke()
      const places: unknown[] = []
      places.length = 2 ** 32 - 1
      const silent = new Proxy(
        { id: 7 },
        {
          getPrototypeOf() {
            throw new Error('no')
          },
        },
      )
      const op = setup.dispatcher.startOperation({ agentName: 'a' })
      await op.step(async (step) => {
        for (const [apiName, args] of Object.entries({ revoked, silent, places: { places } }))
          expect(await step.toolCall({ apiName, args }, () => 'done')).toMatchObject({ state: 'completed' })
      })
      await op.complete()
      const shown = (name: string) =>
        setup.span(`execute_tool ${name}`).attributes['gen_ai.tool.call.arguments']
      expect(shown('revoked')).toContain('[not readable: ')
      expect(shown('silent')).toBe('{"id":7}')
      expect(shown('places')).toContain('of 4294967295 items')
    },
  )

  it('says of bytes how many there are, and of a returned error what it says', async () => {
    using setup = traced({ captureContent: true })
    const op = setup.dispatcher.startOperation({ agentName: 'a' })
    const bytes = new Uint8Array(20_000_000)
    const results = {
      bytes,
      fields: { image: Buffer.from(bytes), width: 3 },
      failure: new Error('no seat left'),
    }
    const told: string[] = []
    const spentMs = cpuClock()
    for (const [apiName, result] of Object.entries(results)) {
      const outcome = await op.toolCall({ apiName, args: {} }, () => result)
      expect('result' in outcome && outcome.result === result).toBe(true)
      told.push(outcome.toToolMessage().content)
    }
    await op.complete()
    expect(spentMs()).toBeLessThan(1_000)
    const text = '[20000000 bytes of binary data]'
    expect(told).toEqual([text, `{"image":"${text}","width":3}`, 'Error: no seat left'])
    expect(
      Object.keys(results).map((name) =>
        JSON.parse(String(setup.span(`execute_tool ${name}`).attributes['gen_ai.tool.call.result'])),
      ),
    ).toEqual([{ content: text }, { image: text, width: 3 }, { content: 'Error: no seat left' }])
  })

  it('says of bytes how many there are however deep they are, in arguments, requests, replies and results', async () => {
    using setup = traced({ captureContent: true })
    const data = Buffer.alloc(10 * 1024 * 1024, 7)
    const shared = { data }
    const value: Record<string, unknown> = {
      files: [{ data }, { parts: [[data.buffer], new Float64Array(2)] }],
      at: new Date(0),
      again: [shared, shared],
      record: new (class Image {
        readonly bytes = data
      })(),
    }
    value.self = value
    let deep: unknown = { data }
    for (let i = 0; i < 500; i++) deep = { deep }
    const spentMs = cpuClock()
    const op = setup.dispatcher.startOperation({ agentName: 'a', input: { value } })
    const outcome = await op.toolCall({ apiName: 't', args: { value } }, () => value)
    const message = outcome.toToolMessage().content
    const nested = (await op.toolCall({ apiName: 'u', args: { deep } }, () => deep)).toToolMessage().content
    const content = [
      { type: 'file', file: { data } },
      { type: 'text', text: 'see' },
    ]
    const reply = { choices: [{ message: { role: 'assistant', content: 'ok', extra: [{ data }] } }] }
    const request = {
      messages: [{ role: 'user', content }],
      tools: [{ type: 'function', function: { name: 'f', data } }],
    }
    await op.llmCall({ model: 'm', request }, () => reply)
    await op.complete()
    expect(spentMs()).toBeLessThan(1_000)

    const text = '[10485760 bytes of binary data]'
    const told = {
      files: [{ data: text }, { parts: [[text], '[16 bytes of binary data]'] }],
      at: '1970-01-01T00:00:00.000Z',
      again: [{ data: text }, { data: text }],
      record: { bytes: text },
      self: '[Circular]',
    }
    expect(JSON.parse(message)).toEqual(told)
    expect(nested).toContain(text)
    const { attributes } = setup.span('execute_tool t')
    expect(JSON.parse(String(attributes['gen_ai.tool.call.result']))).toEqual(told)
    expect(JSON.parse(String(attributes['gen_ai.tool.call.arguments']))).toMatchObject({
      value: { again: told.again },
    })
    expect(value.files).toEqual([{ data }, { parts: [[data.buffer], new Float64Array(2)] }])
    for (const span of setup.spans()) {
      for (const one of Object.values(span.attributes)) expect(String(one).length).toBeLessThan(50_000)
    }
  })

  it('sees a message that was changed after it was captured', async () => {
    using setup = traced({ captureContent: true })
    const message = { role: 'user', content: 'first' }
    await run(setup.dispatcher, [message])
    message.content = 'second'
    await run(setup.dispatcher, [message])
    const inputs = setup.spans().filter((span) => span.name === 'chat m')
    expect(inputs.map((span) => String(span.attributes['gen_ai.input.messages']).includes('second'))).toEqual(
      [false, true],
    )
  })
})

describe('traceHooks', () => {
  it.each([
    [{ maxContentBytes: 10 }, /`maxContentBytes`.*`10`/],
    [{ semconv: 'newest' as never }, /`semconv`.*"newest"/],
    [{ redact: 'yes' as never }, /`redact`.*"yes"/],
  ])('refuses %j', (options, message) => {
    expect(() => traceHooks(options)).toThrow(message)
  })

  it('never lets a tracer that throws reach the agent', async () => {
    const failures: string[] = []
    const dispatcher = new HookDispatcher({ onHookError: (failure) => failures.push(failure.kind) })
    const broken = {
      startSpan() {
        throw new Error('tracer is broken')
      },
    }
    dispatcher.use(traceHooks({ tracer: broken as never }))
    const op = dispatcher.startOperation({ agentName: 'a' })
    const outcome = await op.step((step) => step.toolCall({ apiName: 't', args: {} }, () => 42))
    await op.complete()
    expect(outcome).toMatchObject({ state: 'completed', result: 42 })
    expect(failures).toContain('instrument')
  })
})

async function run(dispatcher: HookDispatcher, messages: unknown[] = MESSAGES, extra: object = {}) {
  const op = dispatcher.startOperation({
    agentName: 'a',
    instructions: 'Be brief.',
    input: 'Where is order 7?',
  })
  await op.step(async (step) => {
    await step.llmCall({ model: 'm', request: { messages, tools: TOOLS } }, () => ({ ...REPLY, ...extra }))
    await step.toolCall({ apiName: 'lookup', args: { q: 'needle' } }, () => 'found needle')
  })
  await op.complete({ content: 'Shipped.' })
}
