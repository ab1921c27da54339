import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import {
  type GateDecidedMessage,
  HOOK_CHANNEL,
  HookDispatcher,
  type HookRunMessage,
  type Instrument,
} from 'hookspan'
import { deny, mutate, proceed } from 'hookspan/gates'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { everything, failures, hook, hooksOfEveryType, never, turn } from './support.ts'

type Message = HookRunMessage | GateDecidedMessage

/** What is published while `run` runs. */
async function published(run: () => Promise<unknown>): Promise<Message[]> {
  const messages: Message[] = []
  const listen = (message: unknown) => void messages.push(message as Message)
  subscribe(HOOK_CHANNEL, listen)
  try {
    await run()
  } finally {
    unsubscribe(HOOK_CHANNEL, listen)
  }
  return messages
}

const boom = new Error('observer failed')

describe('the diagnostics channel', () => {
  it('is hookspan:hook', () => {
    expect(HOOK_CHANNEL).toBe('hookspan:hook')
  })

  it.each([
    ['returns', () => {}, ['started', 'completed']],
    [
      'throws',
      () => {
        throw boom
      },
      ['started', 'failed'],
    ],
    ['resolves', () => turn(), ['started', 'completed']],
    ['rejects', () => Promise.reject(boom), ['started', 'failed']],
    ['hangs', never, ['started', 'timed_out']],
  ])('tells of a handler that %s', async (_name, handler, expected) => {
    const dispatcher = new HookDispatcher(failures())
    dispatcher.register('op', [hook('beforeStep', handler, { id: 'h', timeoutMs: 10 })])

    const messages = await published(async () => {
      dispatcher.dispatch('op', 'beforeStep', { stepIndex: 0 })
      await dispatcher.drain()
    })

    expect(messages.map(({ status }) => status)).toEqual(expected)
    for (const message of messages) {
      expect(message).toMatchObject({ hookId: 'h', hookType: 'beforeStep', operationId: 'op', sequence: 0 })
    }
    expect(messages[0]).not.toHaveProperty('durationMs')
    expect(messages[1]).toMatchObject({ durationMs: expect.any(Number) })
    if (expected[1] === 'failed') expect(messages[1]).toMatchObject({ error: boom })
  })

  it('tells how many events were dropped', async () => {
    const dispatcher = new HookDispatcher(failures())
    dispatcher.register('op', [hook('beforeStep', turn, { id: 'h', maxPending: 1 })])

    const messages = await published(async () => {
      for (let i = 0; i < 4; i++) dispatcher.dispatch('op', 'beforeStep', { stepIndex: i })
      await dispatcher.drain()
    })

    expect(messages.filter(({ status }) => status === 'dropped')).toEqual([
      { status: 'dropped', hookId: 'h', hookType: 'beforeStep', operationId: 'op', count: 2 },
    ])
  })

  it('tells what gates decided, without the values they saw', async () => {
    const gates = [
      { id: 'look', point: 'beforeToolCall' as const, decide: () => proceed() },
      { id: 'swap', point: 'beforeToolCall' as const, decide: () => mutate({ q: 'secret 2' }) },
      { id: 'stop', point: 'beforeToolCall' as const, decide: () => deny('no', { code: 'mine' }) },
    ]
    const op = new HookDispatcher().startOperation({ operationId: 'op', gates })

    const messages = await published(() =>
      op.toolCall({ apiName: 'search', args: { q: 'secret 1' }, toolCallId: 't1' }, () => 'x'),
    )

    expect(messages).toMatchObject([
      { status: 'decided', gateId: 'look', decision: 'proceed', operationId: 'op', toolCallId: 't1' },
      { status: 'decided', gateId: 'swap', decision: 'mutate', changedKeys: ['q'] },
      { status: 'decided', gateId: 'stop', decision: 'deny', code: 'mine', reason: 'no', enforced: true },
    ])
    expect(JSON.stringify(messages)).not.toContain('secret')
  })

  it('costs nothing when nobody listens: no clock is read, no message made', async () => {
    const now = vi.spyOn(performance, 'now')
    const dispatcher = new HookDispatcher()
    dispatcher.register('op', [hook('beforeStep', () => {})])

    for (let i = 0; i < 10; i++) dispatcher.dispatch('op', 'beforeStep', { stepIndex: i })

    expect(now).not.toHaveBeenCalled()
    now.mockRestore()
  })

  it('changes nothing when somebody does', async () => {
    const options = failures()
    const bare = await everything(new HookDispatcher(options))
    let seen: unknown

    await published(async () => {
      seen = await everything(new HookDispatcher(options), { hooks: hooksOfEveryType(() => {}) })
    })

    expect(seen).toEqual(bare)
  })
})

describe('a failure', () => {
  afterEach(() => void vi.restoreAllMocks())

  it('is one console.warn per hook id by default', () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    const dispatcher = new HookDispatcher()
    const fail = () => {
      throw boom
    }
    dispatcher.register('op', [hook('beforeStep', fail, { id: 'a' }), hook('beforeStep', fail, { id: 'b' })])

    for (let i = 0; i < 5; i++) dispatcher.dispatch('op', 'beforeStep', { stepIndex: i })

    expect(warn.mock.calls.map(([text]) => text)).toEqual([
      expect.stringMatching(/^\[hookspan\] Hook "a" \(beforeStep\) threw: observer failed\./),
      expect.stringMatching(/^\[hookspan\] Hook "b" \(beforeStep\) threw: observer failed\./),
    ])
    expect(dispatcher.stats().failed).toBe(10)
  })

  it('goes to onHookError instead, each time', () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    const { list, onHookError } = failures()
    const dispatcher = new HookDispatcher({ onHookError })
    dispatcher.register('op', [
      hook('beforeStep', () => {
        throw boom
      }),
    ])

    for (let i = 0; i < 2; i++) dispatcher.dispatch('op', 'beforeStep', { stepIndex: i })

    expect(list).toEqual([
      {
        kind: 'failed',
        hookId: 'beforeStep',
        hookType: 'beforeStep',
        operationId: 'op',
        error: boom,
        message: expect.any(String),
      },
      expect.objectContaining({ error: boom }),
    ])
    expect(warn).not.toHaveBeenCalled()
  })

  it.each([
    [
      'throws',
      () => {
        throw new Error('no place to write')
      },
    ],
    ['rejects', () => Promise.reject(new Error('no place to write'))],
  ])('of an onHookError that %s reaches nobody but the console', async (_name, onHookError) => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    const dispatcher = new HookDispatcher({ onHookError })
    dispatcher.register('op', [
      hook('beforeStep', () => {
        throw boom
      }),
    ])

    dispatcher.dispatch('op', 'beforeStep', { stepIndex: 0 })
    await turn()

    expect(warn.mock.calls.join()).toMatch(/onHookError threw: no place to write/)
  })

  it('does not reach the agent through a console that throws', () => {
    vi.spyOn(console, 'warn').mockImplementation(() => {
      throw new Error('EPIPE')
    })
    const dispatcher = new HookDispatcher()
    dispatcher.register('op', [
      hook('beforeStep', () => {
        throw boom
      }),
    ])

    expect(() => dispatcher.dispatch('op', 'beforeStep', { stepIndex: 0 })).not.toThrow()
  })

  it('of a plugin that traces is reported, and changes nothing', async () => {
    const options = failures()
    const bare = await everything(new HookDispatcher(options))
    const throwing = () => {
      throw boom
    }
    const scope = {
      run: throwing,
      end: throwing,
      annotate: throwing,
      get traceparent(): string {
        return throwing()
      },
    }
    const late = <T>(fn: () => T): T => {
      fn()
      return throwing()
    }
    const instruments: Instrument[] = [
      { start: throwing, onEvent: throwing, onRelease: throwing },
      { start: () => scope as never },
      {
        start: () => ({
          run: (fn) => {
            fn()
            return fn()
          },
          end: () => {},
        }),
      },
      { start: () => ({ run: late, end: () => {} }) },
      { start: () => ({ run: () => undefined as never, end: () => {} }) },
    ]
    const { list, onHookError } = failures()
    const dispatcher = new HookDispatcher({ onHookError })
    for (const instrument of instruments) dispatcher.use({ name: 'tracer', instrument })

    expect(await everything(dispatcher)).toEqual(bare)
    expect(list.every(({ kind, error }) => kind !== 'instrument' || error === boom)).toBe(true)
    expect(list.length).toBeGreaterThan(20)
  })
})

describe('stats', () => {
  it('count what there is and what happened', async () => {
    const dispatcher = new HookDispatcher(failures())
    dispatcher.use({ name: 'p', hooks: [hook('afterStep', () => {})] })
    dispatcher.register('op', [
      hook('beforeStep', turn, { maxPending: 1 }),
      hook('onError', () => {
        throw boom
      }),
    ])

    for (let i = 0; i < 3; i++) dispatcher.dispatch('op', 'beforeStep', { stepIndex: i })
    dispatcher.dispatch('op', 'onError', {})
    dispatcher.dispatch('op', 'onStart', {})

    expect(dispatcher.stats()).toEqual({
      operations: 1,
      hooks: 3,
      plugins: 1,
      pending: 2,
      abandoned: 0,
      dispatched: 4,
      delivered: 0,
      failed: 1,
      timedOut: 0,
      dropped: 1,
    })
    await dispatcher.drain()
    expect(dispatcher.stats()).toMatchObject({ pending: 0, delivered: 2 })
  })
})
