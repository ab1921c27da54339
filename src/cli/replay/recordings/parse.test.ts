import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { parseRecordings, RecordingError, readRecordings, restoreMessages } from './index.ts'

const user = { role: 'user', content: 'hi' }
const call = (id: string, name = 'search', args = '{"q":1}') => ({
  ...{ id, type: 'function' },
  function: { name, arguments: args },
})
const calling = (...calls: ReturnType<typeof call>[]) => ({
  role: 'assistant',
  content: null,
  tool_calls: calls,
})
const result = (id: string, content = 'found') => ({ role: 'tool', tool_call_id: id, content })
const parse = (value: unknown) => parseRecordings(JSON.stringify(value), 'runs.json')
const tau2 = (...messages: unknown[]) => ({
  info: { environment_info: { policy: 'Be kind.' } },
  simulations: [{ id: 'sim', messages }],
})

describe('OpenAI chat messages', () => {
  const conversation = [{ role: 'developer', content: 'Be brief.' }, user, calling(call('a')), result('a')]

  it('are read as one list, as an object, as a list of both, and one a line', () => {
    const one = parse(conversation)
    expect(one).toHaveLength(1)
    expect(one[0]).toMatchObject({
      ...{ id: 'conversation-0', source: 'runs.json', format: 'openai-chat', index: 0 },
      ...{ systemPrompt: 'Be brief.', userPrompt: 'hi' },
    })
    expect(parse({ id: 'mine', model: 'gpt-4o', messages: conversation })[0]).toMatchObject({
      id: 'mine',
      model: 'gpt-4o',
    })
    expect(parse([conversation, { messages: conversation }]).map((run) => run.id)).toEqual([
      'conversation-0',
      'conversation-1',
    ])
    const lines = `${JSON.stringify(conversation)}\n\n${JSON.stringify({ messages: [user] })}\r\n`
    expect(parseRecordings(lines, 'a.jsonl').map((run) => [run.index, run.items.length])).toEqual([
      [0, 4],
      [1, 1],
    ])
    expect(parseRecordings(JSON.stringify({ messages: [user] }), 'one-line.jsonl')).toHaveLength(1)
  })

  it('keep arguments that are not JSON as they are', () => {
    const [run] = parse([user, calling(call('a', 'search', '{"q": 1'), call('b', 'note', '{"q" : 1}'))])
    expect(run?.calls).toMatchObject([
      { index: 0, argumentsText: '{"q": 1', args: undefined },
      { index: 1, argumentsText: '{"q" : 1}', args: { q: 1 } },
    ])
    expect(run?.calls[0]?.resultItem).toBeUndefined()
  })

  it('answer calls that share an id in the order in which they were made', () => {
    const [run] = parse([
      ...[user, calling(call('same', 'one'), call('same', 'two')), result('same', '1'), result('same', '2')],
      ...[
        calling(call('left')),
        calling(call('same', 'three'), call('left', 'four')),
        result('left', '4'),
        result('same', '3'),
      ],
    ])
    const answers = run?.items.flatMap((item) =>
      item.kind === 'toolResult' ? [[item.callIndex, item.name, item.content]] : [],
    )
    expect(answers).toEqual([
      [0, 'one', '1'],
      [1, 'two', '2'],
      [4, 'four', '4'],
      [3, 'three', '3'],
    ])
    expect(run?.calls[2]?.resultItem).toBeUndefined()
  })

  it('never tell failed results, and tau-bench does by their first word, in its spelling', () => {
    const messages = [user, calling(call('a'), call('b')), result('a', 'Error: no'), result('b', 'error: no')]
    const errors = (value: unknown) =>
      parse(value)[0]?.items.flatMap((item) => (item.kind === 'toolResult' ? [item.isError] : []))
    expect(errors(messages)).toEqual([false, false])
    expect(errors([{ task_id: 3, trial: 1, reward: 1, traj: messages }])).toEqual([true, false])
  })

  it('come back byte for byte, whatever their keys and their order', () => {
    const extra = fc.dictionary(
      fc.constantFrom('name', 'refusal', 'annotations', 'x', '__proto__'),
      fc.jsonValue(),
      {
        noNullPrototype: true,
      },
    )
    const content = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constant(null),
      fc.constant([{ type: 'text', text: 'part' }]),
    )
    const shuffled = (fields: Record<string, fc.Arbitrary<unknown>>) =>
      fc.tuple(fc.record(fields), extra, fc.nat()).map(([known, more, turn]) => {
        const entries = Object.entries({ ...more, ...known })
        return Object.fromEntries([
          ...entries.slice(turn % entries.length),
          ...entries.slice(0, turn % entries.length),
        ])
      })
    const toolCall = fc.record({
      function: fc.record({ arguments: fc.string(), name: fc.string() }),
      id: fc.constantFrom('a', 'b'),
      type: fc.constant('function'),
    })
    const message = fc.oneof(
      shuffled({ role: fc.constantFrom('system', 'developer'), content: fc.string() }),
      shuffled({ role: fc.constant('user'), content }),
      shuffled({
        role: fc.constant('assistant'),
        content,
        tool_calls: fc.oneof(fc.array(toolCall), fc.constant(null)),
      }),
    )
    fc.assert(
      fc.property(fc.array(message, { minLength: 1 }), (messages) => {
        const answers = messages.flatMap((one) => {
          const calls = (one.tool_calls ?? []) as { id: string }[]
          return [
            one,
            ...calls.map(({ id }) => ({ content: 'r', tool_call_id: id, role: 'tool', name: 'maybe' })),
          ]
        })
        const text = JSON.stringify(answers)
        const [run] = parseRecordings(text, 'x')
        expect(JSON.stringify(restoreMessages(run!))).toBe(text)
        expect(run?.calls.every((made) => made.resultItem !== undefined)).toBe(true)
      }),
    )
  })
})

describe('tau2-bench', () => {
  it('is read from a file for each simulation, too, as newer versions write them', () => {
    const simulation = {
      id: 'one',
      termination_reason: 'user_stop',
      messages: [{ role: 'user', content: 'hi' }],
    }
    const wanted = { format: 'tau2-bench', id: 'one', outcome: { terminationReason: 'user_stop' } }
    expect(parse(simulation)).toMatchObject([wanted])
    expect(parse([simulation, simulation])).toMatchObject([wanted, wanted])
    expect(() => parse({ ...simulation, messages: null })).toThrow(
      /expected a simulation with a `messages` list/,
    )
  })

  it('takes arguments as the model wrote them, if the raw answer means the same', () => {
    const raw = (text: string) => ({ message: { tool_calls: [{ function: { arguments: text } }] } })
    const turn = (id: string, rawData: unknown) => ({
      ...{ role: 'assistant', content: '', raw_data: rawData },
      tool_calls: [{ id, name: 'pay', arguments: { amount: 2 }, requestor: 'assistant' }],
    })
    const [run] = parse(
      tau2(turn('a', raw('{"amount": 2.0}')), turn('b', raw('{"amount": 3}')), turn('c', null)),
    )
    expect(run?.calls.map((made) => made.argumentsText)).toEqual([
      '{"amount": 2.0}',
      '{"amount":2}',
      '{"amount":2}',
    ])
  })

  it('takes failed results from the flag alone and gives messages back with more usage than is known', () => {
    const messages = [
      {
        role: 'user',
        content: null,
        tool_calls: [{ id: 'a', name: 'restart', arguments: {}, requestor: 'user' }],
      },
      { id: 'a', role: 'tool', content: 'fine', requestor: 'user', error: true },
      {
        ...{ role: 'assistant', content: 'Error', tool_calls: [], reasoning: 'so', cost: null },
        usage: { completion_tokens: 1, prompt_tokens: 2, cached_tokens: 1 },
        timestamp: '2025-08-01T15:53:27.553803',
      },
    ]
    const [run] = parse(tau2(...messages))
    expect(run?.items).toMatchObject([
      { kind: 'user', content: null, calls: [{ madeBy: 'user' }] },
      { kind: 'toolResult', isError: true, madeBy: 'user', name: 'restart' },
      {
        kind: 'assistant',
        reasoning: 'so',
        usage: { inputTokens: 2 },
        timestampMs: Date.UTC(2025, 7, 1, 15, 53, 27, 553),
      },
    ])
    expect(JSON.stringify(restoreMessages(run!))).toBe(JSON.stringify(messages))
  })
})

describe('SWE-agent', () => {
  it('is read from a demonstration that has a history and no trajectory', () => {
    const said = { agent: 'main', message_type: 'action' }
    const [run] = parse({
      history: [
        { ...said, role: 'system', content: 'Mend it.' },
        { ...said, ...calling(call('a')) },
        { ...said, role: 'tool', content: 'found', tool_call_ids: ['a'] },
      ],
    })
    expect(run).toMatchObject({ format: 'swe-agent', systemPrompt: 'Mend it.', calls: [{ id: 'a' }] })
    expect(run?.items.at(-1)).toMatchObject({ kind: 'toolResult', content: 'found' })
  })
})

describe('a malformed recording', () => {
  it.each<[string, string, string]>([
    ['is empty', '  \n', 'runs.json: the file is empty'],
    ['is cut off', '[{"role":"user","content":"h', 'The file ends too early'],
    ['is not JSON', 'role: user', 'not JSON'],
    [
      'breaks on one line',
      '{"messages":[{"role":"user","content":"a"}]}\n{oops',
      'run 1: line 2 is not JSON',
    ],
    [
      'is another format',
      '{"spans":[]}',
      'no known format: found `{"spans":[]}` (object). Known are OpenAI chat',
    ],
    ['is a number', '3', 'no known format: found `3` (number)'],
    ['is an empty list', '[]', 'holds an empty list'],
    ['has no runs', '{"simulations":[]}', 'the file holds no runs'],
    ['has a run without messages', '[{"messages":[]}]', 'run 0: the conversation has no messages'],
  ])('that %s is refused', (_, text, message) => {
    expect(() => parseRecordings(text, 'runs.json')).toThrow(message)
  })

  it.each<[string, unknown, string, object]>([
    ['no role', [user, { content: 'x' }], 'run 0, message 1: expected `role` to be', { run: 0, message: 1 }],
    [
      'a message that is none',
      [[user], [user, 7]],
      'run 1, message 1: expected a chat message, got `7`',
      { run: 1 },
    ],
    [
      'a result without a call',
      [user, result('zz')],
      'tool call "zz" belongs to no call: no message before',
      { message: 1 },
    ],
    ['a second result', [calling(call('a')), result('a'), result('a')], 'already answered', { message: 2 }],
    [
      'a result without an id',
      [user, { role: 'tool', content: 'x' }],
      '`tool_call_id` to be a string',
      { message: 1 },
    ],
    [
      'arguments that are no text',
      [calling(call('a', 'x', {} as string))],
      'tool_calls[0].function.arguments',
      {},
    ],
    [
      'calls that are no list',
      [{ role: 'assistant', tool_calls: 'x' }],
      '`tool_calls` to be a list, got `"x"`',
      {},
    ],
    ['the old function role', [{ role: 'function', name: 'x', content: '' }], 'Write it as role "tool"', {}],
    ['the old function call', [{ role: 'assistant', function_call: {} }], 'an entry of `tool_calls`', {}],
    [
      'content of a wrong type',
      [{ role: 'user', content: 4 }],
      '`content` to be a string, null or a list',
      {},
    ],
    ['a system message without text', [{ role: 'system' }], 'needs `content`', {}],
    [
      'a tau-bench run without a trajectory',
      [{ traj: [user] }, { reward: 1 }],
      'run 1: expected a tau-bench run',
      { run: 1 },
    ],
    [
      'a simulation without messages',
      { simulations: [{}] },
      'run 0: expected a simulation with a `messages` list',
      {},
    ],
    ['an empty simulation', tau2(), 'the simulation has no messages', {}],
    [
      'a tau2 role of its own',
      tau2({ role: 'judge', content: '' }),
      'role` to be assistant, user or tool',
      {},
    ],
    [
      'a tau2 call without arguments',
      tau2({ role: 'user', content: '', tool_calls: [{ id: 'a', name: 'x' }] }),
      'arguments` to be an object',
      {},
    ],
    [
      'a tau2 result without a call',
      tau2({ role: 'tool', id: 'q', content: '' }),
      'tool call "q" belongs to no call',
      { message: 0 },
    ],
  ])('with %s is refused at its place', (_, value, message, place) => {
    const failure = (() => {
      try {
        return parse(value)
      } catch (error) {
        return error
      }
    })()
    expect(failure).toBeInstanceOf(RecordingError)
    expect(failure).toMatchObject({ code: 'INVALID_RECORDING', place: { source: 'runs.json', ...place } })
    expect((failure as Error).message).toContain(message)
  })

  it('never fails with anything but a RecordingError, wherever it is broken', () => {
    const whole = JSON.stringify(
      tau2({ role: 'user', content: 'x' }, { role: 'assistant', content: null, tool_calls: [] }),
    )
    const broken = fc.oneof(
      fc.tuple(fc.nat(whole.length), fc.string()).map(([at, noise]) => whole.slice(0, at) + noise),
      fc.json(),
      fc
        .jsonValue()
        .map((value) => JSON.stringify([{ role: 'assistant', content: null, tool_calls: [value] }])),
      fc.jsonValue().map((value) => JSON.stringify({ simulations: [{ messages: [value] }], info: value })),
    )
    fc.assert(
      fc.property(broken, (text) => {
        try {
          expect(parseRecordings(text, 'f').length).toBeGreaterThan(0)
        } catch (error) {
          expect(error).toBeInstanceOf(RecordingError)
        }
      }),
      { numRuns: 1_000 },
    )
  })
})

describe('a file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'hookspan-recordings-'))
  afterAll(() => rmSync(folder, { recursive: true }))
  const write = (name: string, content: string | Buffer) => {
    writeFileSync(join(folder, name), content)
    return join(folder, name)
  }

  it('is named by its path in every run and every error', async () => {
    const path = write('good.json', `\uFEFF${JSON.stringify([user])}`)
    expect((await readRecordings(path))[0]?.source).toBe(path)
    await expect(readRecordings(write('bad.json', '{'))).rejects.toThrow('bad.json: not JSON')
  })

  it('that is missing, a folder, compressed or too large is refused with the mend', async () => {
    await expect(readRecordings(join(folder, 'nope.json'))).rejects.toThrow(
      /nope\.json: the file cannot be read \(ENOENT/,
    )
    await expect(readRecordings(folder)).rejects.toThrow('cannot be read (it is a folder')
    await expect(readRecordings(write('z.gz', Buffer.from([0x1f, 0x8b, 8, 0])))).rejects.toThrow(
      'unpack it first',
    )
    await expect(readRecordings(write('big.json', '[1,2,3]'), { maxFileBytes: 4 })).rejects.toThrow(
      'the file has 7 bytes, more than the 4 that are read at once. Split it into smaller files.',
    )
  })
})
