import { HookDispatcher, type Operation } from 'hookspan'
import { describe, expect, it } from 'vitest'
import { RunBounds } from './run-bounds.ts'

const user = (content: unknown, more: object = {}) => ({ role: 'user', content, ...more })
const bounds = () => new RunBounds(new HookDispatcher())

/** Whether the second request is of the run that began with the first. */
function goesOn(first: unknown[], second: unknown[], between = () => {}): boolean {
  const { operationOf } = bounds()
  const run: Operation = operationOf({ messages: first })
  between()
  return operationOf({ messages: second }) === run
}

describe('RunBounds: a request of a script', () => {
  const parts = [
    { type: 'text', text: 'look' },
    { type: 'image_url', image_url: { url: 'data:' } },
  ]

  it.each<[string, unknown[], unknown[]]>([
    ['with the same messages and more', [user('a')], [user('a'), user('b')]],
    ['with a copy of them', [user(parts)], [user(structuredClone(parts)), user('b')]],
    ['without what was undefined in them', [user('a', { name: undefined })], [user('a'), user('b')]],
    ['with the same dates', [user(new Date(7))], [user(new Date(7)), user('b')]],
  ])('goes on with the run before: %s', (_what, first, second) => {
    expect(goesOn(first, second)).toBe(true)
  })

  it.each<[string, unknown[], unknown[]]>([
    ['with other messages', [user('a')], [user('b'), user('c')]],
    ['with no more messages', [user('a')], [user('a')]],
    [
      'with another one in the midst',
      [user('a'), user('b'), user('c')],
      [user('a'), user('x'), user('c'), user('d')],
    ],
    [
      'with something deep inside that is another',
      [user(parts)],
      [user([parts[0], { ...parts[1], image_url: { url: 'x' } }]), user('b')],
    ],
    ['with a field more', [user('a')], [user('a', { name: 'ann' }), user('b')]],
    ['with other dates', [user(new Date(7))], [user(new Date(8)), user('b')]],
    ['with a list for an object', [user({})], [user([]), user('b')]],
    ['after one without any', [], [user('a')]],
  ])('begins another: %s', (_what, first, second) => {
    expect(goesOn(first, second)).toBe(false)
  })

  it('is held to the messages as they were, whatever became of them', () => {
    const message = user('a')
    const change = () => {
      message.content = 'b'
    }
    expect(goesOn([message], [message, user('c')], change)).toBe(false)
  })

  it('is of the run of one that failed when it says the same again, and of no run that was answered', async () => {
    const dispatcher = new HookDispatcher()
    const { operationOf } = new RunBounds(dispatcher)
    const request = { messages: [user('a')] }
    const ask = async (answer: () => unknown) => {
      const op = operationOf(structuredClone(request))
      await op.llmCall({ model: 'm', request }, async () => answer()).catch(() => {})
      await dispatcher.drain()
      return op
    }
    const first = await ask(() => {
      throw new Error('503')
    })
    expect(await ask(() => ({ content: 'b' }))).toBe(first)
    expect(await ask(() => ({ content: 'b' }))).not.toBe(first)
  })

  it('costs what is new in it, not the history', () => {
    const { operationOf } = bounds()
    const text = 'x'.repeat(20_000)
    const messages = Array.from({ length: 500 }, (_none, index) => user(`${index} ${text}`))
    const run = operationOf({ messages })
    const from = performance.now()
    JSON.stringify(messages)
    const whole = performance.now() - from

    const start = performance.now()
    for (let call = 0; call < 100; call++) {
      messages.push(user(`${call} more`))
      expect(operationOf({ messages: messages.map((message) => ({ ...message })) })).toBe(run)
    }
    expect(performance.now() - start).toBeLessThan(20 * whole)
  })
})
