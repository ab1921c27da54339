import { pathToFileURL } from 'node:url'
import { HookDispatcher } from 'hookspan'
import { execAgent } from 'hookspan/agent'
import { mock, mockTools, recordEvents, recordTools, replayTools, scriptedApprovals } from 'hookspan/mock'
import { observeOpenAI } from 'hookspan/openai'
import { useConfig } from 'hookspan/policies'
import OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import { asks, CALLS } from '../support/option-calls.ts'

const WRONG: [string, unknown][] = [
  ['nothing', undefined],
  ['null', null],
  ['a number', 1],
  ['an empty object', {}],
  ['a list of rules', [mock('search').returns(1)]],
  ['an instance of something else', new Map()],
  ['the class', HookDispatcher],
  ['one of its operations', new HookDispatcher().startOperation()],
]

/** Those that take it by itself. */
const POSITIONAL: Record<string, (dispatcher: never) => unknown> = {
  mockTools,
  scriptedApprovals,
  recordTools,
  recordEvents,
  replayTools: (dispatcher) => replayTools(dispatcher, { file: '/nowhere.json' }),
  useConfig: (dispatcher) => useConfig(dispatcher, { userFile: false, cwd: '/' }),
}

const inOptions = asks
  .filter(({ keys }) => keys.includes('dispatcher'))
  .map(({ who, type }): [string, (dispatcher: never) => unknown] => [
    `${who}({ dispatcher })`,
    (dispatcher) => CALLS[who]?.[type]?.({ dispatcher }),
  ])

/** They make one of their own. */
const OPTIONAL = /^(execAgent|resumeAgent|durableAgent)\(/

it('each that takes a dispatcher among its options is asked', () => {
  expect(inOptions.length).toBeGreaterThan(14)
})

describe.each([...Object.entries(POSITIONAL), ...inOptions])('%s', (who, call) => {
  it.each(OPTIONAL.test(who) ? WRONG.slice(1) : WRONG)(
    'refuses %s, and says what it needs',
    async (_what, value) => {
      const error: unknown = await (async () => call(value as never))().then(
        () => 'it was taken',
        (thrown: unknown) => thrown,
      )
      expect(error).toMatchObject({
        code: 'INVALID_OPTION',
        message: expect.stringMatching(/`dispatcher`.*HookDispatcher.*got /is),
      })
    },
  )
})

describe.each(asks.filter(({ keys }) => keys.includes('operation')))(
  '$who({ operation })',
  ({ who, type }) => {
    it.each([{}, 1, new HookDispatcher(), new Map()])('refuses %s', (operation) => {
      expect(() => CALLS[who]?.[type]?.({ operation })).toThrow(/`operation` of .* to be an Operation/)
    })
  },
)

describe('the dispatcher of another copy of hookspan', () => {
  const ofAnother = async () => {
    const built = pathToFileURL('dist/index.js').href
    const other = (await import(/* @vite-ignore */ built)) as { HookDispatcher: typeof HookDispatcher }
    expect(other.HookDispatcher).not.toBe(HookDispatcher)
    return new other.HookDispatcher()
  }

  it('is one for who hears of its runs, and for mocks', async () => {
    const dispatcher = await ofAnother()
    using log = recordEvents(dispatcher)
    using mocks = mockTools(dispatcher, [mock('search').returns({ found: 1 })])
    const outcome = await dispatcher.startOperation().toolCall({ apiName: 'search', args: {} }, () => 'live')
    expect(outcome).toMatchObject({ state: 'mocked', result: { found: 1 } })
    expect(mocks.calls('search')).toHaveLength(1)
    expect(log.events.length).toBeGreaterThan(1)
  })

  it('is refused by who takes part in them, with what to do', async () => {
    const dispatcher = await ofAnother()
    const refused = /got the `dispatcher` of another copy of hookspan, .*`npm ls hookspan`/
    const client = new OpenAI({ apiKey: 'none' })
    expect(() => observeOpenAI(client, { dispatcher })).toThrow(refused)
    const agent = { name: 'a', model: 'gpt-4o' }
    await expect(execAgent({ agent, prompt: 'go', client, dispatcher })).rejects.toThrow(refused)
  })
})
