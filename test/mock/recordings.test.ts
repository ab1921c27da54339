import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HookDispatcher, type Operation, ToolResult } from 'hookspan'
import { currentCalls } from 'hookspan/adapter'
import { requireApproval } from 'hookspan/gates'
import {
  mock,
  mockTools,
  type ReplayToolsOptions,
  readRecording,
  recordTools,
  redactKeys,
  replayTools,
} from 'hookspan/mock'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { errorOf, resultOf, thrownBy } from './support/run-tools.ts'

let folder: string
let next = 0
const newFile = () => join(folder, `${next++}.json`)
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'hookspan-recordings-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

interface Call {
  apiName: string
  args?: unknown
  inputSchema?: unknown
}

/** A world in which the same call has another result each time. */
function world() {
  let calls = 0
  let ran = 0
  const tools: Record<string, (args: never) => unknown> = {
    counter: () => ({ count: ++calls }),
    pay: () => {
      throw Object.assign(new RangeError('declined for anna@example.org'), { code: 'E_DECLINED' })
    },
    lookup: ({ email }: { email: string }) => ({ email, name: 'Anna', token: 's3cret' }),
    ship: () => new ToolResult({ content: 'no stock', success: false }),
    slow: async ({ ms }: { ms: number }) => {
      for (let turns = 0; turns < ms; turns++) await new Promise((resolve) => setImmediate(resolve))
      return `waited ${ms}`
    },
  }
  return {
    get ran() {
      return ran
    },
    run: (name: string) => (args: unknown) => {
      ran++
      return (tools[name] as (args: unknown) => unknown)(args)
    },
  }
}

async function drive(
  dispatcher: HookDispatcher,
  steps: readonly (readonly Call[])[],
  real = world(),
  agentName = 'shop',
) {
  const operation = dispatcher.startOperation({ agentName })
  const all = []
  for (const calls of steps) {
    const outcomes = await operation.step((step) =>
      Promise.all(
        calls.map(({ apiName, args = {}, ...more }) =>
          step.toolCall({ apiName, args, ...more }, real.run(apiName)),
        ),
      ),
    )
    all.push(...outcomes)
  }
  await operation.complete()
  return all
}

const STEPS: Call[][] = [
  [{ apiName: 'counter' }, { apiName: 'counter' }],
  [{ apiName: 'lookup', args: { email: 'anna@example.org' } }],
  [
    { apiName: 'slow', args: { ms: 15 } },
    { apiName: 'slow', args: { ms: 1 } },
  ],
  [{ apiName: 'pay', args: { amount: 3 } }],
  [{ apiName: 'ship' }, { apiName: 'counter' }],
]

async function record(options: Partial<ReplayToolsOptions> = {}, steps = STEPS) {
  const file = newFile()
  const dispatcher = new HookDispatcher()
  {
    using _recorder = recordTools(dispatcher, { file, ...options })
    await drive(dispatcher, steps)
  }
  return file
}

async function replayed(options: ReplayToolsOptions, steps: readonly (readonly Call[])[] = STEPS) {
  const dispatcher = new HookDispatcher()
  const replay = replayTools(dispatcher, options)
  const real = world()
  const outcomes = await drive(dispatcher, steps, real)
  return { replay, outcomes, real }
}

describe('recordTools', () => {
  it('writes a readable file, in the order of the run and the same each time', async () => {
    const [a, b] = [await record(), await record()]
    expect(readFileSync(a, 'utf8')).toBe(readFileSync(b, 'utf8'))
    expect(readRecording(a)).toEqual({
      format: 'hookspan-recording',
      version: 1,
      redacted: false,
      tools: { counter: {}, lookup: {}, slow: {}, pay: {}, ship: {} },
      calls: [
        { agent: 'shop', step: 0, tool: 'counter', args: {}, result: { count: 1 } },
        { agent: 'shop', step: 0, tool: 'counter', args: {}, result: { count: 2 } },
        {
          agent: 'shop',
          step: 1,
          tool: 'lookup',
          args: { email: 'anna@example.org' },
          result: { email: 'anna@example.org', name: 'Anna', token: 's3cret' },
        },
        { agent: 'shop', step: 2, tool: 'slow', args: { ms: 15 }, result: 'waited 15' },
        { agent: 'shop', step: 2, tool: 'slow', args: { ms: 1 }, result: 'waited 1' },
        {
          agent: 'shop',
          step: 3,
          tool: 'pay',
          args: { amount: 3 },
          error: { name: 'RangeError', message: 'declined for anna@example.org', code: 'E_DECLINED' },
        },
        { agent: 'shop', step: 4, tool: 'ship', args: {}, result: 'no stock', success: false },
        { agent: 'shop', step: 4, tool: 'counter', args: {}, result: { count: 3 } },
      ],
    })
  })

  it('redacts before it writes', async () => {
    const file = await record({ redact: redactKeys(['email', 'token']) })
    const text = readFileSync(file, 'utf8')
    expect(text).not.toContain('s3cret')
    expect(readRecording(file).calls[2]).toMatchObject({
      args: { email: '[redacted]' },
      result: { name: 'Anna', token: '[redacted]' },
    })
    expect(() => replayTools(new HookDispatcher(), { file })).toThrow('the same `redact` function')
    const { replay, real } = await replayed({ file, redact: redactKeys(['email', 'token']) })
    replay.assertFollowed()
    expect(real.ran).toBe(0)
  })

  it('redacts in JSON that a tool gave or was given as text, and leaves other text as it is', async () => {
    const dispatcher = new HookDispatcher()
    const recorder = recordTools(dispatcher, { redact: redactKeys(['token']) })
    const text = JSON.stringify({ rows: [{ token: 's3cret', body: '{"token":"s3cret"}' }] })
    const untouched = '{ "id":  7 }'
    const answers: Record<string, unknown> = {
      text,
      parts: { content: [{ type: 'text', text }] },
      error: new Error(text),
      untouched,
    }
    const op = dispatcher.startOperation({ agentName: 'a' })
    for (const [apiName, answer] of Object.entries(answers)) {
      await op.toolCall({ apiName, args: { body: text } }, () => {
        if (answer instanceof Error) throw answer
        return answer
      })
    }
    await op.complete()
    const recording = recorder.recording()
    expect(JSON.stringify(recording)).not.toContain('s3cret')
    expect(recording.calls.map(({ tool }) => tool)).toEqual(Object.keys(answers))
    expect(recording.calls[0]?.result).toBe(
      '{"rows":[{"token":"[redacted]","body":"{\\"token\\":\\"[redacted]\\"}"}]}',
    )
    expect(recording.calls[3]?.result).toBe(untouched)
  })

  it('refuses a misspelt option: the file would hold what was to be redacted', () => {
    const options = { file: 'never-written.json', redct: redactKeys(['email']) }
    expect(() => recordTools(new HookDispatcher(), options)).toThrow('Unknown option `redct` of recordTools')
    expect(() => replayTools(new HookDispatcher(), options)).toThrow('Unknown option `redct` of replayTools')
  })

  it('keeps only what real tools answered, and refuses to write a recording of mocks', async () => {
    const dispatcher = new HookDispatcher()
    const file = newFile()
    const recorder = recordTools(dispatcher, { file })
    using _mocks = mockTools(dispatcher, [
      mock('counter').returns(1),
      mock('lookup').passesThrough().optional(),
    ])
    await drive(dispatcher, [[{ apiName: 'counter' }]])
    expect(() => recorder.save()).toThrow('all 1 calls were mocked or replayed')
    await drive(dispatcher, [[{ apiName: 'lookup', args: { email: 'x' } }]])
    recorder[Symbol.dispose]()
    expect(readRecording(file).calls.map(({ tool }) => tool)).toEqual(['lookup'])
  })
})

describe('replayTools', () => {
  it('answers every call as recorded, keyed by call and not by arrival, and no real tool runs', async () => {
    const file = await record()
    const { replay, outcomes, real } = await replayed({ file })
    expect(real.ran).toBe(0)
    expect(outcomes.map((outcome) => ('result' in outcome ? outcome.result : outcome.state))).toEqual([
      { count: 1 },
      { count: 2 },
      { email: 'anna@example.org', name: 'Anna', token: 's3cret' },
      'waited 15',
      'waited 1',
      'errored',
      'no stock',
      { count: 3 },
    ])
    expect(errorOf(outcomes[5])).toMatchObject({
      name: 'RangeError',
      code: 'E_DECLINED',
      message: 'declined for anna@example.org',
    })
    expect(outcomes.every(({ state }) => state === 'mocked' || state === 'errored')).toBe(true)
    expect(replay.report()).toEqual({
      recorded: 8,
      served: 8,
      overruled: 0,
      live: 0,
      divergences: [],
      unreached: [],
      drifted: [],
    })
    replay.assertFollowed()
  })

  const lookup = { apiName: 'lookup', args: { email: 'anna@example.org' } }
  const table: [string, Call[][], string, RegExp][] = [
    [
      'an argument changed',
      STEPS.with(1, [{ apiName: 'lookup', args: { email: 'bob' } }]),
      'changed',
      /changed: lookup\({"email":"bob"}\).*\n +recorded lookup\({"email":"anna@example\.org"}\).*\n +args\.email: expected "anna@example\.org", got "bob"/,
    ],
    [
      'a call repeated',
      STEPS.with(1, [lookup, lookup]),
      'repeated',
      /repeated: lookup[\s\S]*recorded 1 times, made 2 times/,
    ],
    ['a call dropped', STEPS.toSpliced(3, 1), 'missing', /missing: pay\({"amount":3}\)/],
    [
      'a call of another tool',
      [...STEPS, [{ apiName: 'refund' }]],
      'extra',
      /extra: refund\({}\).*\n +recorded nothing more/,
    ],
    [
      'calls swapped',
      STEPS.with(1, STEPS[3] as Call[]).with(3, STEPS[1] as Call[]),
      'moved',
      /moved: (lookup|pay).*\n +made as call \d, recorded as call \d/,
    ],
    ['parallel calls swapped', STEPS.with(2, (STEPS[2] as Call[]).toReversed()), 'moved', /moved: slow/],
  ]
  it.each(table)('reports %s as a divergence, with both sides', async (_name, steps, kind, message) => {
    const file = await record()
    const { replay, real } = await replayed({ file }, steps)
    expect(real.ran).toBe(0)
    expect(replay.report().divergences.map((one) => one.kind)).toContain(kind)
    const failure = thrownBy(() => replay[Symbol.dispose]())
    expect(failure.message).toMatch(message)
  })

  it('tells the model the very text that the real tool told it', async () => {
    const dispatcher = new HookDispatcher()
    const file = join(folder, 'told.json')
    const ask = async () => {
      const operation = dispatcher.startOperation({ agentName: 'shop' })
      const outcome = await operation.toolCall({ apiName: 'find', args: { z: 1, a: 2 } }, () => ({
        z: 1,
        a: [{ y: 1, b: 2 }],
      }))
      await operation.complete()
      return outcome.toToolMessage().content
    }
    const recorder = recordTools(dispatcher, { file })
    const live = await ask()
    recorder[Symbol.dispose]()
    using _replay = replayTools(dispatcher, { file })
    expect(await ask()).toBe(live)
  })

  it('serves runs of one agent that go on at once', async () => {
    const file = newFile()
    const dispatcher = new HookDispatcher()
    const runs = (target: HookDispatcher, real = world()) =>
      Promise.all(
        [1, 2, 3].map((ms) =>
          drive(target, [[{ apiName: 'slow', args: { ms: ms * 4 } }], [{ apiName: 'counter' }]], real),
        ),
      )
    {
      using _recorder = recordTools(dispatcher, { file })
      await runs(dispatcher)
    }
    const again = new HookDispatcher()
    using replay = replayTools(again, { file })
    const real = world()
    const results = await runs(again, real)
    expect(real.ran).toBe(0)
    expect(results.map((outcomes) => outcomes.map(resultOf))).toEqual([
      ['waited 4', { count: 1 }],
      ['waited 8', { count: 2 }],
      ['waited 12', { count: 3 }],
    ])
    replay.assertFollowed()
  })

  it('knows agents apart: a sub-agent does not get what its parent was answered', async () => {
    const both = async (dispatcher: HookDispatcher, real = world()) => {
      const parent = dispatcher.startOperation({ agentName: 'boss' })
      const own = await parent.toolCall({ apiName: 'counter', args: {} }, real.run('counter'))
      const sub = await parent.callAgent({ agentName: 'worker', instruction: 'count' }, async (handle) => {
        const child = dispatcher.startOperation({ agentName: 'worker', parent: handle })
        const outcome = await child.toolCall({ apiName: 'counter', args: {} }, real.run('counter'))
        await child.complete()
        return outcome
      })
      await parent.complete()
      return [resultOf(own), resultOf(sub)]
    }
    const file = newFile()
    const dispatcher = new HookDispatcher()
    {
      using _recorder = recordTools(dispatcher, { file })
      await both(dispatcher)
    }
    expect(readRecording(file).calls.map(({ agent }) => agent)).toEqual(['boss', 'boss > worker'])
    const again = new HookDispatcher()
    using replay = replayTools(again, { file })
    expect(await both(again)).toEqual([{ count: 1 }, { count: 2 }])
    replay.assertFollowed()
  })

  it('does not miss what a tool called that it answers, itself or by an agent that it asked', async () => {
    const run = async (dispatcher: HookDispatcher) => {
      let count = 0
      const find = { apiName: 'find', args: {} }
      const expert = (calls: Pick<Operation, 'callAgent'> | undefined) =>
        calls?.callAgent({ agentName: 'expert', instruction: 'go' }, async (parent) => {
          const op = dispatcher.startOperation({ agentName: 'expert', parent })
          told.push(resultOf(await op.toolCall(find, () => ++count)))
          await op.complete()
        })
      const told: unknown[] = []
      const op = dispatcher.startOperation({ agentName: 'lead' })
      const asked = await op.toolCall({ apiName: 'ask', args: {} }, async () => {
        await currentCalls()?.toolCall(find, () => ++count)
        await expert(currentCalls())
        return 'asked'
      })
      told.push(resultOf(asked), resultOf(await op.toolCall(find, () => ++count)))
      await expert(op)
      await op.complete()
      return told
    }
    const file = newFile()
    const recorded = new HookDispatcher()
    const recorder = recordTools(recorded, { file })
    expect(await run(recorded)).toEqual([2, 'asked', 3, 4])
    recorder[Symbol.dispose]()
    expect(readRecording(file).calls.map(({ tool, inside }) => [tool, inside])).toEqual([
      ['ask', undefined],
      ['find', 'ask'],
      ['find', undefined],
      ['find', 'ask'],
      ['find', undefined],
    ])
    const replayed = new HookDispatcher()
    const replay = replayTools(replayed, { file })
    expect(await run(replayed)).toEqual(['asked', 3, 4])
    expect(replay.report()).toMatchObject({ recorded: 5, served: 3, live: 0, divergences: [] })
    replay.assertFollowed()
  })

  it('reports a tool whose schema changed as drift', async () => {
    const call = (inputSchema: unknown) => [[{ apiName: 'counter', inputSchema }]]
    const file = await record({}, call({ type: 'object', properties: {} }))
    expect(readRecording(file).tools.counter?.inputSchema).toMatch(/^sha256:[0-9a-f]{64}$/)
    const same = await replayed({ file }, call({ properties: {}, type: 'object' }))
    same.replay.assertFollowed()
    const changed = await replayed(
      { file },
      call({ type: 'object', properties: { from: { type: 'number' } } }),
    )
    expect(changed.replay.report().drifted).toEqual(['counter'])
    expect(thrownBy(() => changed.replay.assertFollowed())).toMatchObject({ code: 'REPLAY_DRIFTED' })
  })

  it('takes fields and choices in another order for the same schema, also in a recording that was made by that order', async () => {
    const call = (schema: z.ZodType) => [[{ apiName: 'counter', inputSchema: z.toJSONSchema(schema) }]]
    const [a, b] = [z.string(), z.enum(['x', 'y'])]
    const file = await record({}, call(z.object({ b, a })))
    const moved = await replayed({ file }, call(z.object({ a, b: z.enum(['y', 'x']) })))
    moved.replay.assertFollowed()
    for (const other of [z.object({ a, b: b.optional() }), z.object({ a, b: z.enum(['x', 'z']) })]) {
      expect((await replayed({ file }, call(other))).replay.report().drifted).toEqual(['counter'])
    }
    // As it was written when the order counted.
    const required = { type: 'object', required: ['b', 'a'] }
    const inputSchema = `sha256:${createHash('sha256').update('{"required":["b","a"],"type":"object"}').digest('hex')}`
    const older = await record({}, [[{ apiName: 'counter', inputSchema: required }]])
    const before = { ...readRecording(older), tools: { counter: { inputSchema } } }
    const same = await replayed({ recording: before }, [[{ apiName: 'counter', inputSchema: required }]])
    same.replay.assertFollowed()
  })

  it('reports it also where zod made the JSON Schema, which has the schema hidden in it', async () => {
    const call = (schema: z.ZodType) => [[{ apiName: 'counter', inputSchema: z.toJSONSchema(schema) }]]
    const file = await record({}, call(z.object({})))
    expect(readRecording(file).tools.counter?.inputSchema).toMatch(/^sha256:[0-9a-f]{64}$/)
    const changed = await replayed({ file }, call(z.object({ from: z.number().optional() })))
    expect(changed.replay.report().drifted).toEqual(['counter'])
  })

  it('reports a tool that no agent has any more as drift, and not one that a model had made up', async () => {
    const run = async (dispatcher: HookDispatcher, name: string) => {
      const op = dispatcher.startOperation({ agentName: 'a' })
      const request = { messages: [], tools: [{ type: 'function', function: { name } }] }
      const calls = ['find', 'made_up'].map((apiName, at) => ({
        id: `call_${at}`,
        type: 'function',
        function: { name: apiName, arguments: '{}' },
      }))
      const message = { role: 'assistant', content: null, tool_calls: calls }
      const reply = { choices: [{ index: 0, message, finish_reason: 'tool_calls' }] }
      await op.llmCall({ model: 'm', request }, () => reply)
      await op.toolCall({ apiName: 'find', args: {} }, () => 1)
      await op
        .toolCall({ apiName: 'made_up', args: {} }, () => {
          throw new Error('There is no such tool.')
        })
        .catch(() => {})
      await op.complete()
    }
    const file = newFile()
    const recorded = new HookDispatcher()
    const recorder = recordTools(recorded, { file })
    await run(recorded, 'find')
    recorder[Symbol.dispose]()
    const again = async (name: string) => {
      const dispatcher = new HookDispatcher()
      const replay = replayTools(dispatcher, { file })
      await run(dispatcher, name)
      return replay
    }
    ;(await again('find')).assertFollowed()
    const renamed = await again('find_order')
    expect(renamed.report().drifted).toEqual(['find'])
    const failure = thrownBy(() => renamed.assertFollowed())
    expect(failure.code).toBe('REPLAY_DRIFTED')
    expect(failure.message).toContain(
      'Tool "find" was called as it was recorded, and its agent does not have it any more.',
    )
    expect(failure.message).toContain('Tools: find_order.')
  })

  it.each([
    ['another way', (from: object) => from],
    [
      'as JSON Schema, of a schema of code',
      () => ({ '~standard': { vendor: 'own', version: 1, validate: (value: unknown) => ({ value }) } }),
    ],
  ])('knows a tool again that an SDK offers to the model %s', async (_name, own) => {
    const run = async (dispatcher: HookDispatcher, from: object) => {
      const op = dispatcher.startOperation({ agentName: 'a' })
      const schema = { type: 'object', properties: { from } }
      const offered = {
        type: 'function',
        name: 'find',
        parameters: { ...schema, additionalProperties: false },
      }
      const ask = () => op.llmCall({ model: 'm', request: { input: 'go', tools: [offered] } }, () => ({}))
      await ask()
      await op.toolCall({ apiName: 'find', args: {}, inputSchema: own(schema) }, () => 1)
      await ask()
      await op.complete()
    }
    const first = new HookDispatcher()
    using recorder = recordTools(first)
    await run(first, { type: 'string' })
    const recording = recorder.recording()
    const same = new HookDispatcher()
    using replay = replayTools(same, { recording })
    await run(same, { type: 'string' })
    replay.assertFollowed()
    const other = new HookDispatcher()
    const changed = replayTools(other, { recording })
    await run(other, { type: 'number' })
    expect(changed.report().drifted).toEqual(['find'])
    changed.detach()
  })

  it('records or replays with auto, never half of each, and compares no recording with itself', async () => {
    const file = newFile()
    const first = await replayed({ file, mode: 'auto' })
    expect(first.replay.mode).toBe('record')
    expect(() => first.replay.assertFollowed()).toThrow('nothing to compare it with')
    expect(first.replay.report()).toMatchObject({ served: 0, live: 8 })
    first.replay[Symbol.dispose]()
    const second = await replayed({ file, mode: 'auto' }, [...STEPS, [{ apiName: 'counter' }]])
    expect(second.replay.mode).toBe('replay')
    expect(second.real.ran).toBe(0)
    expect(() => second.replay[Symbol.dispose]()).toThrow('repeated: counter')
    const before = readFileSync(file, 'utf8')
    const third = await replayed({ file, mode: 'record' }, STEPS.slice(0, 1))
    third.replay[Symbol.dispose]()
    expect(readFileSync(file, 'utf8')).not.toBe(before)
    expect(readRecording(file).calls).toHaveLength(2)
  })

  it('looks at each recorded call a few times, however many there are, and tells the first of what diverged', async () => {
    const MANY = 300
    const run = async (dispatcher: HookDispatcher, ids: readonly number[]) => {
      const op = dispatcher.startOperation({ agentName: 'a' })
      for (const id of ids)
        await op.step((step) => step.toolCall({ apiName: 'find', args: { id } }, () => id))
      await op.complete()
    }
    const ids = Array.from({ length: MANY }, (_, id) => id)
    const first = new HookDispatcher()
    using recorder = recordTools(first)
    await run(first, ids)
    let looks = 0
    const { calls, ...rest } = recorder.recording()
    const watched = calls.map((call, id) => ({
      ...call,
      args: {
        get id() {
          looks++
          return id
        },
      },
    }))
    const ended = async (made: readonly number[]) => {
      const dispatcher = new HookDispatcher()
      const replay = replayTools(dispatcher, { recording: { ...rest, calls: watched } })
      await run(dispatcher, made)
      return String(thrownBy(() => replay[Symbol.dispose]()))
    }
    expect(await ended([1, 0, ...ids.slice(2)])).toMatch(/moved: find\(\{"id":\d\}\)/)
    expect(looks).toBeLessThan(MANY * 10)
    const said = await ended(ids.map((id) => id + MANY))
    expect(said).toContain('599 failures of the replay')
    expect(said).toContain('… and 549 more')
    expect(said.split('\n').length).toBeLessThan(300)
  })

  it('gives equal calls their results in the order in which they were made, within steps and outside of them', async () => {
    const first = new HookDispatcher()
    using recorder = recordTools(first)
    let n = 0
    const run = async (dispatcher: HookDispatcher) => {
      const op = dispatcher.startOperation({ agentName: 'a' })
      const results: unknown[] = []
      const find = async (place: Pick<typeof op, 'toolCall'>) => {
        const outcome = await place.toolCall({ apiName: 'find', args: {} }, () => n++)
        results.push('result' in outcome && outcome.result)
      }
      await op.step((step) => step.toolCall({ apiName: 'look', args: {} }, () => 1))
      await op.step((step) => find(step))
      await find(op)
      await op.complete()
      return results
    }
    expect(await run(first)).toEqual([0, 1])
    const second = new HookDispatcher()
    using _replay = replayTools(second, { recording: recorder.recording() })
    expect(await run(second)).toEqual([0, 1])
  })

  it('reads a file as an editor of Windows leaves it: with a byte order mark and other ends of lines', async () => {
    const file = await record()
    const text = readFileSync(file, 'utf8')
    const before = readRecording(file)
    writeFileSync(file, `\uFEFF${text.replaceAll('\n', '\r\n')}`)
    expect(readRecording(file)).toEqual(before)
  })

  it('takes no file for granted', () => {
    const write = (text: string) => {
      const file = newFile()
      writeFileSync(file, text)
      return file
    }
    const empty = { format: 'hookspan-recording', version: 1, redacted: false, tools: {} }
    const open = (options: ReplayToolsOptions) => () => replayTools(new HookDispatcher(), options)
    expect(existsSync(join(folder, 'none.json'))).toBe(false)
    expect(open({ file: join(folder, 'none.json') })).toThrow('Record it first, with mode "record" or "auto"')
    expect(open({ file: write('{') })).toThrow('is not JSON')
    expect(open({ file: write('{"calls": [{ "result": 1, "result": 2 }]}') })).toThrow(
      'has the key "result" twice in one object. Keep one of the two, or record it again',
    )
    expect(open({ file: write('{}') })).toThrow('has the format `undefined`')
    expect(open({ file: write('{"format":"hookspan-recording","version":9}') })).toThrow('has version `9`')
    expect(
      open({ file: write('{"format":"hookspan-recording","version":1,"tools":{},"calls":[{}]}') }),
    ).toThrow('`redacted` of "')
    const held = (call: object) =>
      open({
        recording: { ...empty, calls: [{ agent: 'a', step: 0, tool: 't', args: {}, ...call }] } as never,
      })
    expect(held({ eror: { name: 'Error', message: 'no' } })).toThrow(
      'Unknown option `eror` of calls[0] of the recording. Did you mean `error`?',
    )
    expect(held({ error: 'no' })).toThrow('Expected `error` of calls[0] of the recording to be an object')
    expect(held({ error: { name: 'Error' } })).toThrow('Expected `message` of the error of calls[0]')
    expect(held({ error: { name: 'Error', message: 'no' }, result: 1 })).toThrow(
      'calls[0] of the recording has an `error` and a `result`',
    )
    expect(held({ agent: undefined })).toThrow('Expected `agent` of calls[0]')
    expect(open({})).toThrow('to get a `file`')
    expect(open({ file: 'x', mode: 'loose' as never })).toThrow('Expected `mode` to be "strict"')
  })
})

describe('a recording that would be lost, or not whole,', () => {
  const call = (dispatcher: HookDispatcher, apiName: string, run: () => unknown = () => 1) => {
    const op = dispatcher.startOperation({ agentName: 'a' })
    return op.toolCall({ apiName, args: {} }, run).finally(() => op.complete())
  }

  it('is not written over what another one has written meanwhile', async () => {
    const file = newFile()
    const [first, second] = [new HookDispatcher(), new HookDispatcher()]
    const [one, other] = [first, second].map((dispatcher) => recordTools(dispatcher, { file }))
    await call(first, 'x')
    await call(second, 'y')
    one?.[Symbol.dispose]()
    expect(() => other?.[Symbol.dispose]()).toThrow(/was written since this recording began: two tests/)
    expect(readRecording(file).calls).toMatchObject([{ tool: 'x' }])
    const [same, alike] = [recordTools(first, { file }), recordTools(second, { file })]
    await Promise.all([call(first, 'x'), call(second, 'x')])
    same[Symbol.dispose]()
    alike[Symbol.dispose]()
    using again = recordTools(second, { file })
    await call(second, 'y')
    again.save()
    await call(second, 'z')
    again.save()
    expect(readRecording(file).calls).toMatchObject([{ tool: 'y' }, { tool: 'z' }])
  })

  it('is not made of a dispatcher on which nothing runs: it would be followed whatever the agent does', async () => {
    const file = newFile()
    const recorder = recordTools(new HookDispatcher(), { file })
    expect(() => recorder[Symbol.dispose]()).toThrow('nothing has run on the dispatcher')
    expect(existsSync(file)).toBe(false)
    const dispatcher = new HookDispatcher()
    {
      using _recorder = recordTools(dispatcher, { file })
      await dispatcher.startOperation().complete()
    }
    expect(readRecording(file).calls).toEqual([])
  })

  it('is not made while a tool runs still', async () => {
    const file = newFile()
    const dispatcher = new HookDispatcher()
    const recorder = recordTools(dispatcher, { file })
    const { promise, resolve } = Promise.withResolvers<void>()
    const running = call(dispatcher, 'slow', () => promise)
    await new Promise(setImmediate)
    expect(() => recorder[Symbol.dispose]()).toThrow('slow had not ended. Await the run')
    expect(existsSync(file)).toBe(false)
    resolve()
    await running
  })

  it('is made where a call waits for a human, or was cut short', async () => {
    const file = newFile()
    const dispatcher = new HookDispatcher()
    dispatcher.use({
      name: 'ask',
      gates: [{ id: 'ask', point: 'beforeToolCall', match: 'pay', decide: () => requireApproval({}) }],
      approver: { requestApproval: async () => ({ decision: 'park' }) },
    })
    {
      using _recorder = recordTools(dispatcher, { file })
      const op = dispatcher.startOperation({ agentName: 'a' })
      await op.toolCall({ apiName: 'find', args: {} }, () => 1)
      await op.toolCall({ apiName: 'pay', args: {} }, () => 1)
      op.park({ waitingFor: 'human' })
      const controller = new AbortController()
      const cut = dispatcher.startOperation({ agentName: 'b', signal: controller.signal })
      const hung = cut.toolCall({ apiName: 'hang', args: {} }, () => new Promise(() => {}))
      await new Promise(setImmediate)
      controller.abort(new Error('enough'))
      await hung
      await cut.fail(new Error('enough'))
    }
    expect(readRecording(file).calls).toMatchObject([{ tool: 'find' }, { tool: 'hang' }])
  })
})
