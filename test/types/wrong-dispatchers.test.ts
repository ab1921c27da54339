import { pathToFileURL } from 'node:url'
import { HookDispatcher, ToolResult } from 'hookspan'
import { execAgent } from 'hookspan/agent'
import { mutate } from 'hookspan/gates'
import { mock, mockTools, recordEvents, recordTools, replayTools, scriptedApprovals } from 'hookspan/mock'
import { observeOpenAI } from 'hookspan/openai'
import { toolPolicy, useConfig } from 'hookspan/policies'
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

  it('has runs below which others begin, with the gates of both', async () => {
    const [outer, inner] = [await ofAnother(), new HookDispatcher()]
    outer.use({ name: 'outer', gates: [toolPolicy({ deny: ['drop_*'] })] })
    inner.use({ name: 'inner', gates: [toolPolicy({ deny: ['wipe'] })] })
    const below = inner.startOperation({ parent: outer.startOperation() })
    const states: string[] = []
    for (const apiName of ['find', 'drop_table', 'wipe']) {
      const { state } = await below.toolCall({ apiName, args: {} }, () => 'live')
      states.push(state)
    }
    expect(states).toEqual(['completed', 'denied', 'denied'])
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

describe('a ToolResult of another copy of hookspan, as the package of a tool brings it', () => {
  const failed = async () => {
    const source = '../../src/dispatcher/calls/tool-outcome.ts?another'
    const other = (await import(/* @vite-ignore */ source)) as { ToolResult: typeof ToolResult }
    expect(other.ToolResult).not.toBe(ToolResult)
    return new other.ToolResult({ content: 'not found', success: false, data: { id: 7 } })
  }

  it('is told as what it says', async () => {
    const dispatcher = new HookDispatcher()
    using log = recordEvents(dispatcher)
    const outcome = await dispatcher.startOperation().toolCall({ apiName: 'search', args: {} }, failed)
    expect(outcome).toMatchObject({ state: 'completed', result: { id: 7 } })
    expect(outcome.toToolMessage().content).toBe('not found')
    await dispatcher.drain()
    expect(log.events.filter(({ hookType }) => hookType === 'afterToolCall')).toMatchObject([
      { content: 'not found', success: false },
    ])
  })

  it('is told so where a mock gives it, or a gate', async () => {
    const dispatcher = new HookDispatcher()
    using _mocks = mockTools(dispatcher, [mock('search').calls(failed)])
    const op = dispatcher.startOperation()
    const mocked = await op.toolCall({ apiName: 'search', args: {} }, () => 'live')
    expect([mocked.state, mocked.toToolMessage().content]).toEqual(['mocked', 'not found'])
    const gates = [{ id: 'g', point: 'afterToolCall', decide: async () => mutate(await failed()) } as const]
    const changed = await new HookDispatcher()
      .startOperation({ gates })
      .toolCall({ apiName: 'search', args: {} }, () => 'live')
    expect(changed.toToolMessage().content).toBe('not found')
  })
})
