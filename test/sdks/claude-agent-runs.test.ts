import { AsyncLocalStorage } from 'node:async_hooks'
import { rmSync } from 'node:fs'
import { HookDispatcher } from 'hookspan'
import type { ContractReply } from 'hookspan/adapter/contract'
import { observeClaudeAgent } from 'hookspan/claude-agent'
import { deny } from 'hookspan/gates'
import { afterEach, describe, expect, it } from 'vitest'
import { toldLines } from '../support/told-events.ts'
import { homeOf, scriptedClaude } from './subjects/claude-agent.ts'
import type { Untyped } from './support/sdks.ts'

const NAME = '@anthropic-ai/claude-agent-sdk'

const homes: string[] = []
afterEach(() => {
  for (const home of homes.splice(0)) rmSync(home, { recursive: true, force: true })
})

/** The real Claude Code, whose tools are its own. */
async function ask(
  dispatcher: HookDispatcher,
  replies: readonly ContractReply[],
  options: object,
  more: Untyped = {},
) {
  const sdk: Untyped = await import(NAME)
  const server = await scriptedClaude({ contract: replies, ...more })
  const { home, env } = homeOf()
  homes.push(home)
  const query: Untyped = observeClaudeAgent(sdk.query, { dispatcher })
  const messages: Untyped[] = []
  try {
    const all = { env: env(server.baseURL), cwd: home, model: 'contract', settingSources: [], ...options }
    for await (const message of query({ prompt: 'Do it.', options: all })) messages.push(message)
  } finally {
    await server.close()
    await dispatcher.drain()
  }
  return messages
}

const bash = {
  toolCalls: [{ id: 'call_1', name: 'Bash', args: { command: 'echo hello', description: 'Says it' } }],
}
const only = (told: readonly string[], words: RegExp) => told.filter((line) => words.test(line))

describe('Claude Code’s own tools', () => {
  it('are asked about by canUseTool, which is told as a human, and tell their result', async () => {
    const { dispatcher, told } = toldLines()
    const mine = new AsyncLocalStorage<string>()
    const seen: unknown[] = []
    const canUseTool = async () => {
      seen.push(mine.getStore())
      return { behavior: 'deny', message: 'not today' }
    }
    const touch = { ...bash.toolCalls[0], args: { command: 'touch made', description: 'Makes it' } }
    await mine.run('mine', () =>
      ask(dispatcher, [{ toolCalls: [touch] } as ContractReply, { content: 'done' }], {
        tools: ['Bash'],
        canUseTool,
      }),
    )
    expect(seen).toEqual(['mine'])
    expect(only(told, /Tool|Human/)).toEqual([
      'beforeToolCall Bash',
      'beforeHumanIntervention claude',
      'afterHumanIntervention rejectAndContinue',
      'afterToolCall Bash',
    ])
  })

  it('are run, and tell what came of it', async () => {
    const { dispatcher, told } = toldLines()
    const messages = await ask(dispatcher, [bash, { content: 'done' }], {
      tools: ['Bash'],
      allowedTools: ['Bash'],
    })
    expect(JSON.stringify(messages)).toContain('hello')
    expect(messages.filter(({ type }) => type === 'stream_event')).toEqual([])
    expect(only(told, /Tool/)).toEqual(['beforeToolCall Bash', 'afterToolCall Bash'])
  })
})

describe('an agent that Claude Code calls', () => {
  it('is told below the run, with its turns', async () => {
    const { dispatcher, told } = toldLines()
    const call = {
      id: 'call_1',
      name: 'Agent',
      args: { description: 'Helps', prompt: 'help', subagent_type: 'expert' },
    }
    const agents = {
      expert: { description: 'Knows.', prompt: 'You know.', tools: ['Bash'], model: 'expert' },
    }
    const replies = [{ toolCalls: [call] }, { content: 'asked' }, { content: 'done' }]
    await ask(
      dispatcher,
      replies,
      { tools: ['Agent', 'Bash'], allowedTools: ['Agent'], agents },
      { expert: [{ content: 'it is 42' }] },
    )
    expect(only(told, /CallAgent|onStart|onComplete/)).toEqual(
      expect.arrayContaining([
        'beforeCallAgent expert',
        'onStart expert',
        'onComplete expert',
        'afterCallAgent expert',
        'onComplete claude',
      ]),
    )
  })
})

describe('observeClaudeAgent', () => {
  const idle: Untyped = async function* () {}

  it('is attached once, and refuses what is no function, wrong options and a second dispatcher', () => {
    const dispatcher = new HookDispatcher()
    const query = observeClaudeAgent(idle, { dispatcher })
    expect(observeClaudeAgent(query, { dispatcher })).toBe(query)
    const wrong = [
      () => observeClaudeAgent({} as never, { dispatcher }),
      () => observeClaudeAgent(idle, {} as never),
      () => observeClaudeAgent(idle, { dispatcher, spans: 'nest' } as never),
      () => observeClaudeAgent(query, { dispatcher: new HookDispatcher() }),
    ]
    for (const attach of wrong) expect(attach).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }))
  })

  it('refuses what cannot be held, when the run starts', () => {
    const mocked = new HookDispatcher()
    mocked.use({ name: 'mocks', standIn: () => undefined })
    const gated = new HookDispatcher()
    gated.use({ name: 'careful', gates: [{ id: 'no', point: 'beforeLlmCall', decide: () => deny('no') }] })
    for (const dispatcher of [mocked, gated]) {
      const query: Untyped = observeClaudeAgent(idle, { dispatcher })
      expect(() => query({ prompt: 'Hi.', options: {} })).toThrow(
        expect.objectContaining({ code: 'NOT_CAPABLE' }),
      )
    }
    const query: Untyped = observeClaudeAgent(idle, { dispatcher: mocked })
    const remote = { tools: [], mcpServers: { far: { type: 'http', url: 'http://127.0.0.1:1' } } }
    expect(() => query({ prompt: 'Hi.', options: remote })).toThrow(/far/)
  })

  it.each(['omit', 'nest'] as const)('of the spans of Claude Code: %s', async (sdkSpans) => {
    let given: Untyped
    const spy: Untyped = (params: Untyped) => {
      given = params.options.env
      return idle()
    }
    const query: Untyped = observeClaudeAgent(spy, { dispatcher: new HookDispatcher(), sdkSpans })
    for await (const _ of query({
      prompt: 'Hi.',
      options: { env: { CLAUDE_CODE_ENABLE_TELEMETRY: '1', MINE: 'x' } },
    }));
    expect(given).toMatchObject({ MINE: 'x', OTEL_TRACES_EXPORTER: sdkSpans === 'omit' ? 'none' : 'otlp' })
  })
})
