import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HookDispatcher } from 'hookspan'
import { loadConfigSync } from 'hookspan/policies'
import { expect, it, onTestFinished } from 'vitest'

function load(text: string, name = 'hookspan.config.yaml') {
  const cwd = mkdtempSync(join(tmpdir(), 'hookspan-config-'))
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }))
  writeFileSync(join(cwd, name), text)
  return loadConfigSync({ cwd, userFile: false })
}

const FLIGHTS = `
hooks:
  - { id: oslo, type: mock, match: book_*, when: { to: Oslo, seats: [1, 2] }, throws: sold out }
  - { id: others, type: mock, match: book_*, returns: { ok: true } }
`

function calling(text: string) {
  const dispatcher = new HookDispatcher()
  const told: unknown[] = []
  dispatcher.use(load(text).plugin)
  dispatcher.use({
    name: 'see',
    hooks: [
      {
        id: 'see',
        type: 'afterToolCall',
        handler: ({ mocked, mockSource, mockRule }) => void told.push({ mocked, mockSource, mockRule }),
      },
    ],
  })
  const call = (apiName: string, args: object) => {
    const op = dispatcher.startOperation({ agentName: 'a' })
    return op.step((step) => step.toolCall({ apiName, args }, () => 'real'))
  }
  return { call, told }
}

it('stands in for the tools and arguments that it names, and for no other', async () => {
  const { call, told } = calling(FLIGHTS)
  const outcomes = [
    await call('book_flight', { to: 'Oslo', seats: [1, 2], more: true }),
    await call('book_flight', { to: 'Oslo', seats: [2, 1] }),
    await call('find_flight', { to: 'Oslo' }),
  ]
  expect(outcomes).toMatchObject([
    { state: 'errored', error: { message: 'sold out' } },
    { state: 'mocked', result: { ok: true } },
    { state: 'completed', result: 'real' },
  ])
  expect(told.slice(-2)).toEqual([
    { mocked: true, mockSource: 'mock', mockRule: 'others' },
    { mocked: false },
  ])
})

it('is not meant for a call that lacks an argument, also where that is to be null', async () => {
  const { call } = calling(
    'hooks: [{ id: nowhere, type: mock, match: book, when: { to: null }, returns: no }]',
  )
  expect([await call('book', { to: null }), await call('book', {})]).toMatchObject([
    { state: 'mocked' },
    { state: 'completed' },
  ])
})

it('gives each call a result of its own', async () => {
  const { call } = calling(FLIGHTS)
  const first = (await call('book_flight', { to: 'Rome' })) as unknown as { result: { ok: unknown } }
  first.result.ok = 'changed'
  expect(await call('book_flight', { to: 'Rome' })).toMatchObject({ result: { ok: true } })
})

it('is listed, can be disabled, and is refused where an SDK could not hold it', () => {
  const loaded = load(`${FLIGHTS}disable: [oslo]\n`)
  expect(loaded.entries).toMatchObject([
    { kind: 'hook', id: 'oslo', type: 'mock', active: false },
    { kind: 'hook', id: 'others', type: 'mock', active: true },
  ])
  const dispatcher = new HookDispatcher()
  dispatcher.use(loaded.plugin)
  const adapter = { name: 'watcher', capabilities: { mockToolCalls: false } as never }
  expect(() => dispatcher.startOperation({ adapter })).toThrow(/mockToolCalls/)
})

it.each([
  ['match: book', 'needs either `returns` or `throws`'],
  ['match: book, returns: 1, throws: x', 'needs either `returns` or `throws`'],
  ['returns: 1', '`match`'],
  ['match: book, return: 1', 'Did you mean "returns"?'],
  ['match: book, returns: 1, when: Oslo', '`when`'],
  ['match: book, returns: 1, on: onStart', 'unknown field of mock "m"'],
])('refuses { %s }, and says where', (fields, message) => {
  const text = `hooks:\n  - { id: m, type: mock, ${fields} }\n`
  expect(() => load(text)).toThrow(/hookspan\.config\.yaml:2: /)
  expect(() => load(text)).toThrow(message)
})

it('stands in for a tool by its home, as gates name it', async () => {
  const dispatcher = new HookDispatcher()
  dispatcher.use(load('hooks: [{ id: shop, type: mock, match: shop/book_*, returns: no }]').plugin)
  const op = dispatcher.startOperation({ agentName: 'a' })
  const call = (identifier: string) =>
    op.toolCall({ apiName: 'book_room', identifier, args: {} }, () => 'real')
  expect([await call('shop'), await call('local')]).toMatchObject([{ result: 'no' }, { result: 'real' }])
})
