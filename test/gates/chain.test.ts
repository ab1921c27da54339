import { channel } from 'node:diagnostics_channel'
import { type GateDecidedMessage, HOOK_CHANNEL, HookDispatcher } from 'hookspan'
import { deny, type Gate, mutate, proceed, skip } from 'hookspan/gates'
import { describe, expect, it, onTestFinished } from 'vitest'
import { callTool, gate, spy, start } from './support.ts'

function listen(): GateDecidedMessage[] {
  const decided: GateDecidedMessage[] = []
  const onMessage = (message: unknown) => {
    if ((message as GateDecidedMessage).status === 'decided') decided.push(message as GateDecidedMessage)
  }
  channel(HOOK_CHANNEL).subscribe(onMessage)
  onTestFinished(() => void channel(HOOK_CHANNEL).unsubscribe(onMessage))
  return decided
}

const add = (id: string, more: Partial<Gate> = {}): Gate =>
  gate('beforeToolCall', ({ payload }) => mutate({ path: `${(payload as { path: string }).path}${id}` }), {
    id,
    ...more,
  })

describe('composition', () => {
  it('asks by priority, then by registration, and hands mutations on', async () => {
    const { op } = start([add('c'), add('d'), add('a', { priority: 1 }), add('b', { priority: 99 })])
    expect((await callTool(op, { path: '' })).ran).toEqual([{ path: 'abcd' }])
  })

  it('asks nobody after a deny or a skip', async () => {
    const last = spy('beforeToolCall')
    for (const decision of [deny('no'), skip(1)]) {
      const { op } = start([gate('beforeToolCall', () => decision), last])
      await callTool(op)
    }
    expect(last.seen).toEqual([])
  })

  it('stops at the first decision of any kind under firstDecision', async () => {
    const { op } = start([add('a'), gate('beforeToolCall', () => deny('no'), { id: 'late' })], {
      dispatcher: { composition: 'firstDecision' },
    })
    expect((await callTool(op, { path: '' })).ran).toEqual([{ path: 'a' }])
  })

  it('shows each gate its own copy', async () => {
    const edit: Gate['decide'] = (ctx) => {
      ;(ctx.payload as { nested: { deep: number } }).nested.deep = 666
    }
    const after = spy('beforeToolCall', 'after')
    const { op } = start([gate('beforeToolCall', edit), after])
    const args = { nested: { deep: 1 } }
    expect((await callTool(op, args)).ran).toEqual([{ nested: { deep: 1 } }])
    expect(after.seen[0]?.payload).toEqual({ nested: { deep: 1 } })
    expect(args.nested.deep).toBe(1)
  })

  it('keeps what a gate decided apart from what the gate does with it later', async () => {
    const payload = { q: 'decided' }
    const { op } = start([gate('beforeToolCall', () => mutate(payload))])
    const call = op.toolCall({ apiName: 't', args: {} }, async (args) => {
      payload.q = 'changed later'
      return args
    })
    expect((await call) as unknown).toMatchObject({ result: { q: 'decided' } })
  })
})

/** A field that spreading leaves out. */
function hidden(decision: object, key: string, value: unknown): never {
  return Object.defineProperty(decision, key, { value }) as never
}

/** A decision whose name is the one given when it is read first, and then another one. */
function changing(decision: object, then: string): never {
  const names = [then]
  return Object.defineProperty(decision, 'decision', {
    get: () => names.shift() ?? 'proceed',
    enumerable: true,
  }) as never
}

function thrower(): never {
  const fails = () => {
    throw new Error('looked at')
  }
  throw new Proxy({}, { get: fails, getPrototypeOf: fails })
}

describe('what a gate answered is read once', () => {
  const answers: [string, () => never, string][] = [
    ['a no in a field that no copy has', () => hidden({}, 'decision', 'deny'), 'denied'],
    ['a no that reads as a yes the next time', () => changing({}, 'deny'), 'denied'],
    ['a yes of the prototype', () => Object.create({ decision: 'proceed' }) as never, 'completed'],
    ['a no of the prototype', () => Object.create({ decision: 'deny' }) as never, 'denied'],
  ]
  it.each(answers)('%s', async (_name, decide, state) => {
    const { op } = start([gate('beforeToolCall', decide)])
    expect((await callTool(op)).outcome.state).toBe(state)
  })

  it('arguments that were looked at are those that run', async () => {
    const payloads = [{ q: 'seen' }]
    const payload = { get: () => payloads.shift() ?? new Map(), enumerable: true }
    const decide = () => Object.defineProperty({ decision: 'mutate' }, 'payload', payload) as never
    const { op } = start([gate('beforeToolCall', decide)])
    expect((await callTool(op)).ran).toEqual([{ q: 'seen' }])
  })
})

describe('the list of gates that was handed over', () => {
  it('is its own: a run keeps its gates when the caller empties the list', async () => {
    const gates = [gate('beforeToolCall', () => deny('no'))]
    const op = new HookDispatcher().startOperation({ gates })
    gates.length = 0
    expect((await callTool(op)).outcome.state).toBe('denied')
  })

  it('of a plugin, too, also when another plugin comes', async () => {
    const gates = [gate('beforeToolCall', () => deny('no'))]
    const { dispatcher, op } = start(gates)
    gates.length = 0
    dispatcher.use({ name: 'other' })
    expect((await callTool(op)).outcome.state).toBe('denied')
  })
})

describe('a gate that is changed after it was handed over', () => {
  class Counting implements Gate {
    readonly id = 'count'
    readonly point = 'beforeToolCall'
    #asked = 0

    decide() {
      return ++this.#asked > 1 ? deny('once is enough') : undefined
    }
  }
  const no = (): Gate => gate('beforeToolCall', () => deny('no'), { match: ['search'] })
  const changes: [string, (gate: Gate) => void][] = [
    ['decide', (gate) => Object.assign(gate, { decide: () => proceed() })],
    ['point', (gate) => Object.assign(gate, { point: 'onStart' })],
    ['match', (gate) => Object.assign(gate, { match: 'other' })],
    ['a glob of its list', (gate) => (gate.match as string[]).fill('other')],
    ['shadow', (gate) => Object.assign(gate, { shadow: true })],
  ]

  it.each(changes)('decides as it was: %s', async (_name, change) => {
    const plugged = no()
    const own = no()
    const { op } = start([plugged])
    const other = new HookDispatcher().startOperation({ gates: [own] })
    change(plugged)
    change(own)
    expect((await callTool(op)).outcome.state).toBe('denied')
    expect((await callTool(other)).outcome.state).toBe('denied')
  })

  it('decides as it is where it is handed over anew', async () => {
    const changed = no()
    start([changed])
    changed.decide = () => skip('instead')
    expect((await callTool(start([changed]).op)).outcome.state).toBe('skipped')
    changed.match = 'other'
    expect((await callTool(start([changed]).op)).outcome.state).toBe('completed')
  })

  it('keeps what it counts, and is asked once where caller and callee have it', async () => {
    const counting = new Counting()
    const { op } = start([counting])
    const states = await op.callAgent({ agentName: 'b', instruction: '' }, async (parent) => {
      const child = new HookDispatcher().startOperation({ gates: [counting], parent })
      return [(await callTool(child)).outcome.state, (await callTool(child)).outcome.state]
    })
    expect(states).toEqual(['completed', 'denied'])
  })
})

describe('failing', () => {
  const cases: [string, Gate['decide'], string][] = [
    [
      'throws',
      () => {
        throw new Error('boom')
      },
      'gate_error',
    ],
    ['rejects', () => Promise.reject(new Error('boom')), 'gate_error'],
    ['hangs', () => new Promise(() => {}), 'gate_timeout'],
    ['answers a text', () => 'yes' as never, 'gate_invalid'],
    ['answers null', () => null as never, 'gate_invalid'],
    ['answers an unknown decision', () => ({ decision: 'allow' }) as never, 'gate_invalid'],
    ['answers an unknown field', () => ({ decision: 'proceed', note: 1 }) as never, 'gate_invalid'],
    ['mutates without a payload', () => ({ decision: 'mutate' }) as never, 'gate_invalid'],
    ['mutates to nothing', () => mutate(undefined), 'gate_invalid'],
    ['mutates to a function', () => mutate(() => 1), 'gate_invalid'],
    ['gives a reason that is no text', () => ({ decision: 'deny', reason: 1 }) as never, 'gate_invalid'],
    [
      'asks with a negative timeout',
      () => ({ decision: 'require_approval', timeoutMs: -1 }) as never,
      'gate_invalid',
    ],
    [
      'allows an unknown choice',
      () => ({ decision: 'require_approval', allow: ['yes'] }) as never,
      'gate_invalid',
    ],
    ['keeps a field where a copy has none', () => hidden({ decision: 'mutate' }, 'note', 1), 'gate_invalid'],
    ['answers otherwise each time', () => changing({ decision: 'proceed' }, 'mutate'), 'gate_invalid'],
    ['throws what throws when it is looked at', () => thrower(), 'gate_error'],
  ]

  it.each(cases)('denies when the gate %s', async (_name, decide, code) => {
    const { op } = start([gate('beforeToolCall', decide, { timeoutMs: 20 })])
    const { outcome, ran } = await callTool(op)
    expect(ran).toEqual([])
    expect(outcome).toMatchObject({ state: 'denied', code })
    expect(outcome.toToolMessage().content).toContain('gate \\"g\\"')
  })

  it.each(cases)('lets the call through when the gate %s and says so itself', async (_name, decide) => {
    const decided = listen()
    const { op } = start([gate('beforeToolCall', decide, { timeoutMs: 20, onFailure: 'proceed' })])
    expect((await callTool(op)).outcome.state).toBe('completed')
    expect(decided).toMatchObject([{ decision: 'deny', enforced: false, failure: expect.any(String) }])
  })

  it('aborts the signal of a gate that ran out of time', async () => {
    let signal: AbortSignal | undefined
    const decide: Gate['decide'] = (ctx) => {
      signal = ctx.signal
      return new Promise(() => {})
    }
    const { op } = start([gate('beforeToolCall', decide, { timeoutMs: 10 })])
    await callTool(op)
    expect(signal?.aborted).toBe(true)
  })
})

it('a gate that rejects after its run was aborted meanwhile denies, and leaves no rejection behind', async () => {
  const unhandled: unknown[] = []
  const note = (error: unknown) => void unhandled.push(error)
  process.on('unhandledRejection', note)
  const { promise, reject } = Promise.withResolvers<undefined>()
  const controller = new AbortController()
  const { op } = start([gate('beforeComplete', () => promise)], { init: { signal: controller.signal } })

  const completed = op.complete()
  controller.abort()
  expect(await completed).toMatchObject({ refusal: { code: 'gate_error' } })
  reject(new Error('late'))
  await new Promise((resolve) => setImmediate(resolve))

  process.off('unhandledRejection', note)
  expect(unhandled).toEqual([])
})

describe('shadow', () => {
  it.each([deny('no'), skip(1), mutate({ q: 'other' })])(
    'records $decision and enforces nothing',
    async (decision) => {
      const decided = listen()
      const { op } = start([gate('beforeToolCall', () => decision, { shadow: true })])
      expect((await callTool(op)).ran).toEqual([{ q: 1 }])
      expect(decided).toMatchObject([{ gateId: 'g', decision: decision.decision, enforced: false }])
    },
  )
})

describe('records', () => {
  it('tell the decision, the code, the time and which keys changed, never their values', async () => {
    const decided = listen()
    const { op } = start([
      gate('beforeToolCall', () => mutate({ q: 'secret-value', extra: 1 }), { id: 'm' }),
      gate('beforeToolCall', () => proceed(), { id: 'p' }),
      gate('beforeToolCall', () => deny('no', { code: 'mine' }), { id: 'd' }),
    ])
    await callTool(op)
    expect(decided).toMatchObject([
      {
        gateId: 'm',
        point: 'beforeToolCall',
        decision: 'mutate',
        enforced: true,
        changedKeys: ['extra', 'q'],
      },
      { gateId: 'p', decision: 'proceed', toolCallId: 't1', operationId: 'op' },
      { gateId: 'd', decision: 'deny', code: 'mine', durationMs: expect.any(Number) },
    ])
    expect(JSON.stringify(decided)).not.toContain('secret-value')
  })

  it('tell only the fields of a model request that really changed', async () => {
    const decided = listen()
    const { op } = start([gate('beforeLlmCall', () => mutate({ temperature: 0, top_p: 1 }))])
    await op.llmCall({ model: 'm', request: { messages: [], temperature: 1, top_p: 1 } }, () => ({}))
    expect(decided).toMatchObject([{ changedKeys: ['temperature'] }])
  })
})

describe('sub-agents', () => {
  it('inherit the gates of their parent, and theirs', async () => {
    const dispatcher = new HookDispatcher()
    const op = dispatcher.startOperation({
      gates: [gate('beforeToolCall', () => deny('no', { code: 'root' }))],
    })
    const inner = await op.callAgent({ agentName: 'a', instruction: 'i' }, (parent) => {
      const child = dispatcher.startOperation({ parent })
      return child.callAgent({ agentName: 'b', instruction: 'i' }, (deeper) =>
        callTool(dispatcher.startOperation({ parent: deeper })),
      )
    })
    expect(inner.outcome).toMatchObject({ state: 'denied', code: 'root' })
  })

  it('add to the sums of the whole run', async () => {
    const dispatcher = new HookDispatcher()
    const last = spy('beforeToolCall')
    const op = dispatcher.startOperation({ gates: [last] })
    await callTool(op)
    await op.callAgent({ agentName: 'a', instruction: 'i' }, (parent) =>
      callTool(dispatcher.startOperation({ parent })),
    )
    expect(last.seen.map((ctx) => ctx.totals.toolCalls)).toEqual([1, 2])
    expect(last.seen[0]?.state).toBe(last.seen[1]?.state)
  })
})

it('a gate sees the sums as they are when it is asked, however long the gates before it took', async () => {
  const { promise, resolve } = Promise.withResolvers<undefined>()
  const slow = gate('beforeToolCall', ({ apiName }) => (apiName === 'first' ? promise : undefined))
  const counting = spy('beforeToolCall')
  const { op } = start([slow, counting])
  const first = op.toolCall({ apiName: 'first', args: {} }, () => {})
  await op.toolCall({ apiName: 'second', args: {} }, () => {})

  resolve(undefined)
  await first

  expect(counting.seen.map(({ apiName, totals }) => [apiName, totals.toolCalls])).toEqual([
    ['second', 2],
    ['first', 2],
  ])
})

describe('registration', () => {
  it.each<[string, object]>([
    ['an unknown point', { id: 'g', point: 'beforeTool', decide: () => {} }],
    ['no point', { id: 'g', point: [], decide: () => {} }],
    ['no function', { id: 'g', point: 'onStart' }],
    ['an empty id', { id: '', point: 'onStart', decide: () => {} }],
    ['a timeout that is no number', { id: 'g', point: 'onStart', decide: () => {}, timeoutMs: Number.NaN }],
    ['an unknown failure policy', { id: 'g', point: 'onStart', decide: () => {}, onFailure: 'open' }],
    ['an empty match', { id: 'g', point: 'beforeToolCall', decide: () => {}, match: [] }],
  ])('refuses %s', (_name, bad) => {
    const dispatcher = new HookDispatcher()
    expect(() => dispatcher.use({ name: 'p', gates: [bad as Gate] })).toThrow(
      expect.objectContaining({ code: 'INVALID_GATE' }),
    )
    expect(() => dispatcher.startOperation({ gates: [bad as Gate] })).toThrow(
      expect.objectContaining({ code: 'INVALID_GATE' }),
    )
  })

  it('refuses two gates of one id', () => {
    const two = [spy('onStart'), spy('onStart')]
    expect(() => new HookDispatcher().use({ name: 'p', gates: two })).toThrow('Two gates have the id "spy"')
  })
})
