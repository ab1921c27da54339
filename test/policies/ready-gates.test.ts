import { HookDispatcher, type HookEvent, ToolResult } from 'hookspan'
import { type Gate, mutate, skip } from 'hookspan/gates'
import { budget, loopGuard, redact, requireHuman, toolCache, toolPolicy } from 'hookspan/policies'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { callTool, gate, spy, start } from '../gates/support.ts'
import { cpuMs } from '../support/cpu.ts'

const reply = (content: string, tokens = 10) => ({
  id: 'r',
  model: 'm',
  choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content } }],
  usage: { prompt_tokens: tokens, completion_tokens: tokens, total_tokens: 2 * tokens },
})

const sets = (source: string) => new RegExp(source, 'v')

describe('toolPolicy', () => {
  const policy = toolPolicy({
    deny: ['run_shell', 'mail/*'],
    denyArguments: { command: ['rm\\s+-rf', /SHUTDOWN/i], 'options.path': '^/etc/', '*': ['DROP TABLE'] },
    allow: ['run_*', 'file_*', 'search'],
  })
  const cases: [string, string, unknown, string | undefined][] = [
    ['an allowed tool', 'file_read', { path: 'a' }, undefined],
    ['a denied tool, although it is allowed, too', 'run_shell', {}, 'tool_not_allowed'],
    ['a tool that is on no list', 'book_flight', {}, 'tool_not_allowed'],
    ['a forbidden argument', 'run_command', { command: 'sudo rm  -rf /' }, 'argument_denied'],
    ['a forbidden argument in any case', 'run_command', { command: 'shutdown now' }, 'argument_denied'],
    ['the same text in another argument', 'run_command', { note: 'rm -rf' }, undefined],
    ['a nested argument by its path', 'file_write', { options: { path: '/etc/passwd' } }, 'argument_denied'],
    ['a nested argument by its name', 'file_write', { deep: [{ command: 'rm -rf' }] }, 'argument_denied'],
    ['any argument under *', 'search', { a: { b: ['x; DROP TABLE y'] } }, 'argument_denied'],
    ['an argument that is no text', 'search', { a: { sql: 'DROP TABLE y' } }, 'argument_denied'],
    ['arguments that are no object', 'search', 'rm -rf /', 'argument_denied'],
    ['arguments that are a list', 'search', ['ls', ['rm -rf /']], 'argument_denied'],
  ]
  it.each([
    ['l\u00f6schen', 'lo\u0308schen'],
    ['lo\u0308sch*', 'l\u00f6schen'],
    ['l?schen', 'lo\u0308schen'],
  ])(
    'denies %s, however its accents are written: %s; what is allowed is the very name',
    async (glob, apiName) => {
      const state = async (options: object) =>
        (await callTool(start([toolPolicy(options)]).op, {}, apiName)).outcome.state
      expect(await state({ deny: [glob] })).toBe('denied')
      expect(await state({ allow: [glob] })).toBe('denied')
    },
  )
  it.each(cases)('decides on %s', async (_name, apiName, args, code) => {
    const { outcome } = await callTool(start([policy]).op, args, apiName)
    expect('code' in outcome ? outcome.code : undefined).toBe(code)
  })

  it('knows a tool by its home, too', async () => {
    const { op } = start([policy])
    const outcome = await op.toolCall({ apiName: 'search', identifier: 'mail', args: {} }, () => 1)
    expect(outcome).toMatchObject({ state: 'denied', code: 'tool_not_allowed' })
  })

  it('is not stalled by a pattern that stalls other engines', async () => {
    const stalling = ['^(a+)+$', '^(a|aa)+$', '^(.*a){20}$', '(x+x+)+y', '^(([a-z])+.)+[A-Z]([a-z])+$']
    const { op } = start([toolPolicy({ denyArguments: { text: stalling } })])
    const text = `${'a'.repeat(20_000)}!${'x'.repeat(20_000)}`
    expect(await cpuMs(() => callTool(op, { text }))).toBeLessThan(20_000)
  })

  it.each([
    ['a look-ahead', { denyArguments: { a: '(?=x)' } }, 'cannot run in linear time'],
    ['a back-reference', { denyArguments: { a: '(a)\\1' } }, 'cannot run in linear time'],
    ['a backspace, which is `\\b` read as a sign', { denyArguments: { a: '\brm\b' } }, 'has a backspace'],
    ['an escape of another engine', { denyArguments: { a: 'rm\\h+-rf' } }, 'which RE2 does not know'],
    ['another one, behind a backslash', { denyArguments: { a: '\\\\x\\Z' } }, 'which RE2 does not know'],
    ['sets in a class', { denyArguments: { a: sets('[\\p{L}--[a-z]]') } }, 'which RE2 does not know'],
    ['a misspelt option', { denyArgument: {} }, 'Unknown option `denyArgument`'],
    ['a list that is none', { deny: 'run_shell' }, 'to be a list'],
    ['patterns without names', { denyArguments: ['x'] }, 'patterns by argument name'],
    [
      'a policy without any list',
      {},
      'gate "tool-policy" has no list. Give one of allow, deny, denyArguments',
    ],
  ])('refuses %s at once', (_name, options, message) => {
    const known = [
      '\\d+\\w\\s\\b\\B\\D\\W\\S',
      '\\A/etc\\z',
      '\\\\hidden',
      '\\Qa.b\\E',
      '\\x41\\u0041\\cA\\0',
      /p{L}-h/,
      sets('[\\p{L}_]'),
    ]
    expect(() => toolPolicy({ denyArguments: { a: known } })).not.toThrow()
    expect(() => toolPolicy(options as never)).toThrow(message)
  })
})

describe('budget', () => {
  const call = (op: ReturnType<typeof start>['op'], tokens?: number) =>
    op.llmCall(
      { model: 'm', request: {}, standIn: (message) => ({ ...reply(message.content ?? ''), denied: true }) },
      () => reply('x', tokens),
    )

  it('ends the run once its money is spent', async () => {
    const { op } = start([budget({ maxCostUsd: 0.5 })], { dispatcher: { priceOf: () => 0.3 } })
    await call(op)
    expect(op.stopRequested).toBeUndefined()
    await call(op)
    expect(op.stopRequested).toBeUndefined()
    expect(await call(op)).toHaveProperty('denied')
    expect(op.stopRequested).toMatchObject({
      code: 'budget_exceeded',
      reason: expect.stringContaining('$0.6000 of $0.5'),
    })
  })

  it('does not take a price that is not known for nothing', async () => {
    const { op } = start([budget({ maxCostUsd: 5 })])
    await call(op)
    expect(await call(op)).toHaveProperty('denied')
    expect(op.stopRequested).toMatchObject({
      reason: expect.stringMatching(/the price of 1 model call\(s\) \(model "[^"]+"\) is not known/),
    })
    const lax = start([budget({ maxCostUsd: 5, unknownPrice: 'proceed' })])
    await call(lax.op)
    expect(await call(lax.op)).not.toHaveProperty('denied')
  })

  it('does not take a reply that says no usage for free', async () => {
    const dispatcher = { priceOf: () => 0.01 }
    const { op } = start([budget({ maxCostUsd: 5 })], { dispatcher })
    const failing = () => op.llmCall({ model: 'm', request: {} }, () => Promise.reject(new Error('401')))
    await expect(failing()).rejects.toThrow('401')
    const { usage: _none, ...untold } = reply('x')
    const init = { model: 'm', request: {}, standIn: () => ({ ...reply(''), denied: true }) }
    expect(await op.llmCall(init, () => untold)).toBe(untold)
    expect(await call(op)).toHaveProperty('denied')
    expect(op.stopRequested).toMatchObject({
      reason: expect.stringContaining('1 model call(s) (model "m") is not known'),
    })
    const lax = start([budget({ maxCostUsd: 5, unknownPrice: 'proceed' })], { dispatcher })
    await lax.op.llmCall(init, () => untold)
    expect(await call(lax.op)).not.toHaveProperty('denied')
  })

  it('does not send more requests when it cannot count the tokens of a reply that says none', async () => {
    const { usage: _none, ...untold } = reply('x')
    const init = { model: 'm', request: {}, standIn: () => ({ ...reply(''), denied: true }) }
    const { op } = start([budget({ maxTokens: 10_000 })])
    expect(await op.llmCall(init, () => untold)).toBe(untold)
    expect(await call(op)).toHaveProperty('denied')
    expect(op.stopRequested).toMatchObject({
      reason: expect.stringContaining('1 model call(s) did not say how many tokens they used'),
    })
    const lax = start([budget({ maxTokens: 10_000, unknownUsage: 'proceed' })])
    await lax.op.llmCall(init, () => untold)
    expect(await call(lax.op)).not.toHaveProperty('denied')
  })

  it('does not count what a gate said in a model’s place as a reply without usage', async () => {
    const first = { asked: false }
    const says = gate('beforeLlmCall', () => {
      if (first.asked) return undefined
      first.asked = true
      return skip({ content: 'no need' })
    })
    const { op } = start([says, budget({ maxCostUsd: 5 })], { dispatcher: { priceOf: () => 0.01 } })
    expect(await call(op)).toHaveProperty('denied')
    expect(await call(op)).not.toHaveProperty('denied')
  })

  it('counts what a stream had told of its tokens when it failed', async () => {
    const { op } = start([budget({ maxTokens: 1_000 })])
    async function* broken() {
      yield {
        type: 'message_start',
        message: {
          role: 'assistant',
          model: 'm',
          content: [],
          usage: { input_tokens: 990, output_tokens: 20 },
        },
      }
      throw new Error('cut')
    }
    const read = async () => {
      const stream = await op.llmCall({ model: 'm', request: { stream: true } }, () => broken())
      for await (const _ of stream);
    }
    await expect(read()).rejects.toThrow('cut')
    expect(await call(op)).toHaveProperty('denied')
    expect(op.stopRequested).toMatchObject({ reason: expect.stringContaining('1010 of 1000 tokens') })
  })

  it('does not send a request that would pass the token limit', async () => {
    const { op } = start([budget({ maxTokens: 100 })])
    await call(op, 40)
    let sent = false
    const request = { messages: [{ role: 'user', content: 'x'.repeat(400) }] }
    const init = { model: 'm', request, standIn: () => reply('') }
    await op.llmCall(init, () => {
      sent = true
      return reply('x')
    })
    expect(sent).toBe(false)
    expect(op.stopRequested?.reason).toContain('80 tokens and about')
  })

  it('lets exactly as many tool calls through as it says, of those made at once, too', async () => {
    const { op } = start([budget({ maxToolCalls: 3, stop: false })])
    const outcomes = await Promise.all(
      Array.from({ length: 5 }, () => op.toolCall({ apiName: 't', args: {} }, async () => 1)),
    )
    expect(outcomes.map((outcome) => outcome.state)).toEqual([
      'completed',
      'completed',
      'completed',
      'denied',
      'denied',
    ])
  })

  it.each([
    [4, 2],
    [2, 4],
  ])('holds its limit beside another of its id: %i and %i', async (ofAll, ofRun) => {
    const dispatcher = new HookDispatcher()
    dispatcher.use({ name: 'all', gates: [budget({ maxToolCalls: ofAll, stop: false })] })
    const op = dispatcher.startOperation({ gates: [budget({ maxToolCalls: ofRun, stop: false })] })
    const states = []
    for (let i = 0; i < 4; i++) states.push((await callTool(op)).outcome.state)
    expect(states).toEqual(['completed', 'completed', 'denied', 'denied'])
  })

  it('counts sub-agents', async () => {
    const dispatcher = new HookDispatcher()
    dispatcher.use({ name: 'p', gates: [budget({ maxToolCalls: 2 })] })
    const op = dispatcher.startOperation()
    await callTool(op)
    const states = await op.callAgent({ agentName: 'a', instruction: 'i' }, async (parent) => {
      const child = dispatcher.startOperation({ parent })
      return [(await callTool(child)).outcome.state, (await callTool(child)).outcome.state]
    })
    expect(states).toEqual(['completed', 'denied'])
  })

  it('limits steps and time', async () => {
    const steps = start([budget({ maxSteps: 1 })])
    expect(
      await steps.op.step(async (step) => (await step.toolCall({ apiName: 't', args: {} }, () => 1)).state),
    ).toBe('completed')
    expect(
      await steps.op.step(async (step) => (await step.toolCall({ apiName: 't', args: {} }, () => 1)).state),
    ).toBe('denied')
    vi.useFakeTimers({ toFake: ['performance'] })
    onTestFinished(() => void vi.useRealTimers())
    const time = start([budget({ maxDurationMs: 5 })])
    expect((await callTool(time.op)).outcome).toMatchObject({ state: 'completed' })
    vi.advanceTimersByTime(6)
    expect((await callTool(time.op)).outcome).toMatchObject({ code: 'budget_exceeded' })
  })

  it.each([[{}], [{ maxCostUsd: -1 }], [{ maxTokens: Number.NaN }], [{ maxCost: 1 }]])(
    'refuses %j',
    (options) => {
      expect(() => budget(options as never)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }))
    },
  )
})

describe('loopGuard', () => {
  it('refuses the fourth equal call, tells the model, and ends a run that does not listen', async () => {
    const { op } = start([loopGuard({ stopAfter: 2 })])
    const states = []
    for (let i = 0; i < 5; i++) states.push((await callTool(op, { b: 1, a: 2 })).outcome.state)
    expect(states).toEqual(['completed', 'completed', 'completed', 'denied', 'denied'])
    expect(op.stopRequested).toMatchObject({ code: 'loop_detected' })
  })

  it('sees a circle of several calls, and the same arguments in another order', async () => {
    const { op } = start([loopGuard({ maxRepeats: 2 })])
    const states = []
    for (const args of [{ a: 1, b: 2 }, { x: 1 }, { b: 2, a: 1 }, { x: 1 }, { a: 1, b: 2 }]) {
      states.push((await callTool(op, args)).outcome.state)
    }
    expect(states).toEqual(['completed', 'completed', 'completed', 'completed', 'denied'])
  })

  it('lets polling tools and repetitions outside of the window pass', async () => {
    const { op } = start([loopGuard({ maxRepeats: 1, window: 2, ignore: ['poll_*', 'jobs/*'] })])
    for (let i = 0; i < 3; i++) {
      const polled = await op.toolCall({ apiName: 'get', identifier: 'jobs', args: {} }, () => 1)
      expect(polled.state).toBe('completed')
    }
    for (let i = 0; i < 3; i++) expect((await callTool(op, {}, 'poll_job')).outcome.state).toBe('completed')
    for (const q of [1, 2, 3, 1]) expect((await callTool(op, { q })).outcome.state).toBe('completed')
  })

  it('remembers what it has to beside another of its id, which looks back less far', async () => {
    const dispatcher = new HookDispatcher()
    dispatcher.use({ name: 'all', gates: [loopGuard({ maxRepeats: 2 })] })
    const op = dispatcher.startOperation({ gates: [loopGuard({ window: 1 })] })
    const states = []
    for (const q of [1, 2, 1, 2, 1]) states.push((await callTool(op, { q })).outcome.state)
    expect(states).toEqual(['completed', 'completed', 'completed', 'completed', 'denied'])
  })
})

describe('redact', () => {
  it('cleans what goes to the model, in messages of any shape', async () => {
    const { op } = start([redact({ in: ['modelInput'] })])
    let sent: unknown
    const messages = [
      { role: 'system', content: 'Write to ann@example.com' },
      {
        role: 'user',
        content: [{ type: 'text', text: 'card 4111 1111 1111 1111, order 1234 5678 9012 3456' }],
      },
    ]
    await op.llmCall({ model: 'm', request: { messages, user: 'ann@example.com' } }, (request) => {
      sent = request
      return reply('ok')
    })
    expect(sent).toEqual({
      user: 'ann@example.com',
      messages: [
        { role: 'system', content: 'Write to [email]' },
        { role: 'user', content: [{ type: 'text', text: 'card [creditCard], order 1234 5678 9012 3456' }] },
      ],
    })
    expect(messages[0]?.content).toContain('ann@')
  })

  it.each([
    [{ system_instruction: 'Ask ann@example.com' }, { system_instruction: 'Ask [email]' }],
    [
      { systemInstruction: { parts: [{ text: 'ann@example.com' }] } },
      { systemInstruction: { parts: [{ text: '[email]' }] } },
    ],
    [
      { config: { systemInstruction: 'Ask ann@example.com', labels: { by: 'ann@example.com' } } },
      { config: { systemInstruction: 'Ask [email]', labels: { by: 'ann@example.com' } } },
    ],
    [{ instructions: 'Ask ann@example.com' }, { instructions: 'Ask [email]' }],
    [
      { system: [{ type: 'text', text: 'ann@example.com' }] },
      { system: [{ type: 'text', text: '[email]' }] },
    ],
  ])('cleans the instructions of each API: %j', async (request, cleaned) => {
    const { op } = start([redact({ in: ['modelInput'] })])
    const sent = vi.fn(() => reply('ok'))
    await op.llmCall({ model: 'm', request: { contents: 'hi', ...request } }, sent)
    expect(sent).toHaveBeenCalledWith({ contents: 'hi', ...cleaned }, expect.anything())
  })

  const bytes = new Uint8Array([104, 200, 201])
  it.each([
    { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBO2345AA==' } },
    { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBO2345AA==' } },
    { type: 'input_image', image_url: 'data:image/png;base64,iVBO2345AA==' },
    { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBE2345' },
    { type: 'input_audio', input_audio: { data: 'UklG2345', format: 'wav' } },
    { inlineData: { mimeType: 'image/png', data: 'iVBO2345AA==' } },
    { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'iVBO2345AA==' } },
    { type: 'file', mediaType: 'image/png', data: bytes },
    { type: 'file', mediaType: 'image/png', data: Buffer.from(bytes) },
  ])('leaves a picture, a file or a sound beside a text as it is: %j', async (part) => {
    const { op } = start([redact({ in: ['modelInput'], patterns: { number: '\\d{3}' } })])
    const sent = vi.fn(() => reply('ok'))
    const messages = (text: string) => [{ role: 'user', content: [{ type: 'text', text }, part] }]
    await op.llmCall({ model: 'm', request: { messages: messages('of 1234') } }, sent)
    expect(sent).toHaveBeenCalledWith({ messages: messages('of [number]4') }, expect.anything())
  })

  it('cleans addresses, which stay what they are, the text of a document, and what stands behind a picture', async () => {
    const { op } = start([redact({ in: ['modelInput'] })])
    const sent = vi.fn(() => reply('ok'))
    const messages = (mail: string) => [
      { type: 'file', mediaType: 'image/png', data: new URL(`https://x.test/a.png?by=${mail}`) },
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: mail } },
      { role: 'user', content: `data:image/png;base64,iVBO ${mail}` },
    ]
    await op.llmCall({ model: 'm', request: { messages: messages('ann@example.com') } }, sent)
    expect(sent).toHaveBeenCalledWith({ messages: messages('[email]') }, expect.anything())
  })

  it('cleans replies and tool results, with patterns of its own', async () => {
    const { op } = start([redact({ patterns: { order: 'ORD-\\d+' }, replacement: '<{name}>' })])
    const got = await op.llmCall(
      { model: 'm', request: {}, standIn: (message) => reply(message.content ?? '') },
      () => reply('see ORD-77 at 10.0.0.1'),
    )
    expect(got.choices[0]?.message.content).toBe('see <order> at <ipAddress>')
    const outcome = await op.toolCall({ apiName: 't', args: {} }, () => ({
      rows: [{ mail: 'bob@example.org', n: 1 }],
    }))
    expect(outcome).toMatchObject({ result: { rows: [{ mail: '<email>', n: 1 }] } })
  })

  it.each([
    ['apiKey', 'key sk-abcdefghijklmnop1234 end'],
    ['apiKey', 'AKIAABCDEFGHIJKLMNOP'],
    ['jwt', 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dBjftJeZ4CVPmB92K27uhbUJU1p1r'],
    ['iban', 'DE89 3704 0044 0532 0130 00'],
    ['usSsn', '078-05-1120'],
    ['privateKey', '-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----'],
    [
      'privateKey',
      '-----BEGIN RSA PRIVATE KEY-----\r\nProc-Type: 4,ENCRYPTED\r\nDEK-Info: AES-128-CBC,0F\r\n\r\nMIIE\r\n-----END RSA PRIVATE KEY-----',
    ],
  ])('knows %s by its form', async (kind, text) => {
    const { outcome } = await callTool(
      start([gate('afterToolCall', () => mutate(text)), redact({ in: ['toolResult'] })]).op,
    )
    expect((outcome as unknown as { result: string }).result).toContain(`[${kind}]`)
  })

  it.each([
    ['the date and the code of a card', '4111 1111 1111 1111 12/27 123', '[creditCard] 12/27 123'],
    ['the code', '4111-1111-1111-1111-999', '[creditCard]-999'],
    ['a code without a gap in the number', '4111111111111111 123', '[creditCard] 123'],
    ['a quantity', 'qty 2 4111 1111 1111 1111', 'qty 2 [creditCard]'],
    ['another card', '3782 822463 10005 4111 1111 1111 1111', '[creditCard] [creditCard]'],
    ['a currency', 'ES9121000418450200051332 EUR 100', '[iban] EUR 100'],
    ['a word', 'ES91 2100 0418 4502 0005 1332 PAID', '[iban] PAID'],
    ['a label', 'NR01 DE89 3704 0044 0532 0130 00', 'NR01 [iban]'],
  ])('knows a number beside %s', async (_what, text, clean) => {
    const { outcome } = await callTool(
      start([gate('afterToolCall', () => mutate(text)), redact({ in: ['toolResult'] })]).op,
    )
    expect(outcome).toMatchObject({ result: clean })
  })

  it.each([
    '52 31 44 12 99 23 61 52 33 41 55 66 77',
    'GB29 3704 0044 0532 0130 00',
    'DE00 0000',
    '1.2.3',
    '4111 1111 1111 1112',
    '1795312276730',
    'a@b',
  ])('leaves %s', async (text) => {
    const { outcome } = await callTool(
      start([gate('afterToolCall', () => mutate(text)), redact({ in: ['toolResult'] })]).op,
    )
    expect(outcome).toMatchObject({ result: text })
  })

  it('cleans an error that a tool gives, and on its way to the model one that it throws', async () => {
    const { op } = start([redact()])
    const given = await op.toolCall({ apiName: 't', args: {} }, () => new Error('no bob@example.org'))
    expect(given.toToolMessage().content).toBe('Error: no [email]')
    const thrown = await op.toolCall({ apiName: 't', args: {} }, () => {
      throw new Error('no bob@example.org')
    })
    let sent: unknown
    await op.llmCall({ model: 'm', request: { messages: [thrown.toToolMessage()] } }, (request) => {
      sent = request
      return reply('ok')
    })
    expect(sent).toMatchObject({ messages: [{ role: 'tool', content: 'Error: no [email]' }] })
  })

  it('cleans all that a reply says: what the provider found, other choices, other parts', async () => {
    const { op, dispatcher } = start([redact({ in: ['modelOutput'] })])
    const events: unknown[] = []
    dispatcher.use({
      name: 'events',
      hooks: (['afterLlmCall', 'afterToolCall'] as const).map((type) => ({
        id: type,
        type,
        handler: (event: HookEvent) => void events.push(event),
      })),
    })
    const secret = 'ann@example.com'
    const given = await op.llmCall<unknown>(
      { model: 'm', request: { input: '' }, standIn: (message) => ({ response: message }) },
      () => ({
        id: 'r',
        object: 'response',
        output: [
          { type: 'mcp_call', id: 'a', name: 'find', server_label: 'w', arguments: '{}', output: secret },
          { type: 'compaction', id: 'c', content: secret },
        ],
      }),
    )
    await op.llmCall<unknown>(
      { model: 'm', request: { messages: [] }, standIn: (message) => ({ response: message }) },
      () => ({ choices: [{ message: { content: 'a' } }, { message: { content: secret } }] }),
    )
    await op.complete()
    expect(JSON.stringify([given, events])).not.toContain(secret)
    expect(JSON.stringify(events)).toContain('[email]')
  })

  it('cleans numbers, and what an object says of itself in JSON', async () => {
    const entity = { toJSON: () => ({ mail: 'bob@example.org' }) }
    const { op } = start([redact({ in: ['toolResult'] })])
    const result = { card: 4111111111111111, at: 1700000000000, entity, when: new Date(0) }
    const outcome = await op.toolCall({ apiName: 't', args: {} }, () => result)
    expect(outcome).toMatchObject({
      result: { card: '[creditCard]', at: 1700000000000, entity: { mail: '[email]' }, when: new Date(0) },
    })
  })

  it('cleans what a tool says in words of its own, and leaves what it does not tell the model', async () => {
    const { op } = start([redact({ in: ['toolResult'], kinds: ['email'] })])
    const call = (result: unknown) => op.toolCall({ apiName: 't', args: {} }, () => result)
    const words = await call(new ToolResult({ content: 'sent to ann@example.com', data: { rows: 3 } }))
    expect(words).toMatchObject({ state: 'completed', result: { rows: 3 } })
    expect(words.toToolMessage().content).toBe('sent to [email]')
    const data = await call(new ToolResult({ content: '1 row', data: { to: 'ann@example.com' } }))
    expect(data).toMatchObject({ state: 'completed', result: { to: '[email]' } })
    expect(data.toToolMessage().content).toBe('1 row')
  })

  it('makes no success of a failure', async () => {
    const { op, dispatcher } = start([
      redact({ in: ['toolResult'] }),
      gate('afterToolCall', () => mutate('gone')),
    ])
    const told: unknown[] = []
    const handler = ({ success, content }: HookEvent<'afterToolCall'>) => void told.push([success, content])
    dispatcher.register('op', [{ id: 'told', type: 'afterToolCall', handler }])
    const failed = new ToolResult({ content: 'no ann@example.com', success: false, data: { left: 0 } })
    await op.toolCall({ apiName: 't', args: {} }, () => failed)
    expect(told).toEqual([[false, 'gone']])
  })

  it('cleans the names of fields, and keeps apart those that become the same', async () => {
    const { op } = start([redact({ patterns: { key: 'args|text|C-\\d{4}' } })])
    const balances = { 'ann@example.com': 1, 'bob@example.com': { 'C-1234': 2 }, '[email] 2': 3 }
    const outcome = await op.toolCall({ apiName: 't', args: {} }, () => balances)
    expect(outcome).toMatchObject({ result: { '[email]': 1, '[email] 3': { '[key]': 2 }, '[email] 2': 3 } })
    const sent: unknown[] = []
    const request = { messages: [{ role: 'user', text: [{ args: { 'ann@example.com': 'C-1234' } }] }] }
    await op.llmCall({ model: 'm', request }, (given) => {
      sent.push(given)
      return reply('x')
    })
    expect(sent).toEqual([{ messages: [{ role: 'user', text: [{ args: { '[email]': '[key]' } }] }] }])
  })

  it('is not stalled by text made to stall it', async () => {
    const { op } = start([
      gate('afterToolCall', () =>
        mutate(
          `${'a.'.repeat(50_000)}@${'1 '.repeat(50_000)}${'-----BEGIN PRIVATE KEY-----\na: '.repeat(5_000)}`,
        ),
      ),
      redact({ in: ['toolResult'] }),
    ])
    expect(await cpuMs(() => callTool(op))).toBeLessThan(20_000)
  })
})

describe('toolCache', () => {
  it('answers equal calls of the run out of the first one', async () => {
    const { op } = start([toolCache({ match: 'search' })])
    expect((await callTool(op, { a: 1, b: 2 })).outcome.state).toBe('completed')
    const again = await callTool(op, { b: 2, a: 1 })
    expect(again.ran).toEqual([])
    expect(again.outcome).toMatchObject({ state: 'skipped', result: { found: { a: 1, b: 2 } } })
    expect((await callTool(op, { a: 2 })).outcome.state).toBe('completed')
    expect((await callTool(op, { a: 1, b: 2 }, 'write')).outcome.state).toBe('completed')
  })

  it('forgets what is too old, keeps no failure, and keeps users apart', async () => {
    const cache = (): Gate => toolCache({ match: '*', ttlMs: 5, scope: 'process' })
    const op = start([cache()]).dispatcher.startOperation({ userId: 'ann' })
    vi.useFakeTimers({ toFake: ['Date'] })
    onTestFinished(() => void vi.useRealTimers())
    await callTool(op)
    expect((await callTool(op)).outcome.state).toBe('skipped')
    vi.advanceTimersByTime(6)
    expect((await callTool(op)).outcome.state).toBe('completed')
    // A clock that was set back does not make it younger.
    vi.setSystemTime(Date.now() - 3_600_000)
    expect((await callTool(op)).outcome.state).toBe('completed')
    const failing = start([toolCache({ match: '*' })]).op
    const fail = () => failing.toolCall({ apiName: 't', args: {} }, () => ({ isError: true }))
    await fail()
    expect((await fail()).state).toBe('completed')
    const { dispatcher } = start([toolCache({ match: '*', scope: 'process' })])
    const ann = dispatcher.startOperation({ userId: 'ann' })
    const bob = dispatcher.startOperation({ userId: 'bob' })
    await callTool(ann)
    expect((await callTool(bob)).outcome.state).toBe('completed')
    expect((await callTool(dispatcher.startOperation({ userId: 'ann' }))).outcome.state).toBe('skipped')
  })

  it('gives nothing of a run to others where nobody knows whose they are', async () => {
    const { dispatcher } = start([toolCache({ match: '*', scope: 'process' })])
    for (const whose of [{}, { userId: '' }, { agentId: 'helper' }]) {
      const first = dispatcher.startOperation(whose)
      await callTool(first)
      expect((await callTool(first)).outcome.state).toBe('skipped')
      expect((await callTool(dispatcher.startOperation(whose))).outcome.state).toBe('completed')
    }
    for (const op of [1, 2].map(() => dispatcher.startOperation({ conversationId: 'thread-1' })))
      await callTool(op)
    const third = await callTool(dispatcher.startOperation({ conversationId: 'thread-1' }))
    expect(third.outcome.state).toBe('skipped')
  })

  it('gives the model the words that it was told, and keeps no failure that a tool only reports', async () => {
    const { op } = start([toolCache({ match: '*' })])
    const ran: string[] = []
    const call = async (apiName: string, success: boolean) => {
      const outcome = await op.toolCall({ apiName, args: { q: 1 } }, () => {
        ran.push(apiName)
        return new ToolResult({ content: 'in words', success, data: { rows: 3 } })
      })
      expect(outcome).toMatchObject({ result: { rows: 3 } })
      expect(outcome.toToolMessage().content).toBe('in words')
    }
    for (const success of [true, false]) {
      await call(`succeeds: ${success}`, success)
      await call(`succeeds: ${success}`, success)
    }
    expect(ran).toEqual(['succeeds: true', 'succeeds: false', 'succeeds: false'])
  })

  it('asks for the tools it may cache', () => {
    expect(() => toolCache({} as never)).toThrow('`match`')
  })
})

it('requireHuman denies where nobody can be asked, and asks about some calls only', async () => {
  const last = spy('afterToolCall')
  const { op } = start([requireHuman({ match: 'delete_*', when: (ctx) => ctx.payload !== 'dry' }), last])
  expect((await callTool(op, 'real', 'delete_order')).outcome).toMatchObject({ code: 'no_approver' })
  expect((await callTool(op, 'dry', 'delete_order')).outcome.state).toBe('completed')
  expect((await callTool(op, 'real', 'search')).outcome.state).toBe('completed')
})
