import {
  tool as agentTool,
  applyPatchTool,
  computerTool,
  hostedMcpTool,
  shellTool,
  webSearchTool,
} from '@openai/agents'
import { assistantMessage, ScriptedModel } from '@openai/agents/testing'
import { HookDispatcher } from 'hookspan'
import type { Gate } from 'hookspan/gates'
import { mock, mockTools } from 'hookspan/mock'
import { toolPolicy } from 'hookspan/policies'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { eventsOf, findAll } from '../../support/told-events.ts'
import { agentOf, bareRunner, letAllGo, looking, observed, scripted } from './support.ts'

afterEach(letAllGo)

const shell = () => shellTool({ shell: { run: () => Promise.reject(new Error('a real shell ran')) } })
const patch = () =>
  applyPatchTool({ editor: { createFile: fail, updateFile: fail, deleteFile: fail } as never })
const fail = () => Promise.reject(new Error('a real file was changed'))
const computer = () =>
  computerTool({ computer: { environment: 'browser', dimensions: [1, 1], screenshot: fail } as never })
const mcp = () => hostedMcpTool({ serverLabel: 'crm', serverUrl: 'https://example.com' })

async function ask(tool: unknown, prepare: (dispatcher: HookDispatcher) => unknown): Promise<string> {
  const dispatcher = new HookDispatcher()
  prepare(dispatcher)
  const agent = agentOf({ model: scripted('done'), tools: [tool] as never })
  const run = observed(bareRunner(), { dispatcher }).run(agent, 'hi')
  return run.then(({ finalOutput }) => String(finalOutput), String)
}

const using = (gate: Gate) => (dispatcher: HookDispatcher) => dispatcher.use({ name: 'g', gates: [gate] })

describe('a tool that runs out of reach', () => {
  it.each([
    ['a hosted search', webSearchTool(), toolPolicy({ deny: ['web_search*'] })],
    ['every tool, the hosted search among them', webSearchTool(), toolPolicy({ deny: ['*'] })],
    ['tools of a hosted MCP server', mcp(), toolPolicy({ deny: ['crm/*'] })],
    ['a shell', shell(), toolPolicy({ deny: ['shell'] })],
    ['a shell, among all', shell(), toolPolicy({ denyArguments: { '*': ['rm'] } })],
    ['a computer, by the name of its calls', computer(), toolPolicy({ deny: ['computer'] })],
    [
      'a computer, by the name that it is offered by',
      computer(),
      toolPolicy({ deny: ['computer_use_preview'] }),
    ],
    ['patches, among all', patch(), toolPolicy({ allow: ['search'] })],
  ])('ends the run when a gate decides on %s', async (_name, tool, gate) => {
    expect(await ask(tool, using(gate))).toMatch(/Gate "tool-policy" .* nobody would be asked/)
  })

  it('is none where an agent gives it by a method of its own', async () => {
    const execute = vi.fn(() => 'wiped')
    const wipe = agentTool({ name: 'wipe', description: 'Wipes.', parameters: z.object({}), execute })
    const agent = agentOf({ model: scripted([['wipe', {}]], 'done') })
    agent.getAllTools = async () => [wipe]
    const dispatcher = new HookDispatcher()
    dispatcher.use({ name: 'g', gates: [toolPolicy({ deny: ['wipe'] })] })

    const { finalOutput } = await observed(bareRunner(), { dispatcher }).run(agent, 'hi')

    expect(finalOutput).toBe('done')
    expect(execute).not.toHaveBeenCalled()
  })

  it('is no matter of a list of others that are denied', async () => {
    expect(await ask(shell(), using(toolPolicy({ deny: ['wipe_*'] })))).toBe('done')
  })

  it('ends the run when tools are mocked and the SDK would run this one', async () => {
    const prepare = (dispatcher: HookDispatcher) => mockTools(dispatcher, [mock('shell').returns('ok')])

    expect(await ask(shell(), prepare)).toMatch(/"shell" is mocked, .* "shell", which the SDK runs by itself/)
  })

  it.each([
    ['every tool', undefined, /Tools are mocked, .* "shell", which the SDK runs by itself/],
    ['it picks', () => true, /Tools are mocked, .* "shell", which the SDK runs by itself/],
    ['others', 'search_*', /^done$/],
  ])('ends the run where a hook says that it mocks %s', async (_what, match, ended) => {
    const hook = { id: 'dry run', type: 'beforeToolCall', mocks: true, handler: () => {} } as const
    const hooks = [match === undefined ? hook : { ...hook, match }]

    expect(await ask(shell(), (dispatcher) => dispatcher.use({ name: 'dry run', hooks }))).toMatch(ended)
  })

  const llm = (shadow = false) =>
    using({ id: 'short', point: 'beforeLlmCall', shadow, decide: () => undefined })

  it.each([
    ['an agent', { model: Object.freeze(scripted('done')) }, undefined],
    ['a runner', { model: undefined }, { model: Object.freeze(scripted('done')) as never }],
    [
      'a provider',
      { model: undefined },
      { modelProvider: Object.freeze({ getModel: () => scripted('done') }) },
    ],
  ] as const)(
    'ends the run before a frozen model of %s is asked, when a gate decides on model calls',
    async (_of, config, more) => {
      const asked = (prepare: ReturnType<typeof using>) => {
        const dispatcher = new HookDispatcher()
        prepare(dispatcher)
        const runner = observed(bareRunner(more), { dispatcher })
        return runner
          .run(agentOf(config as never), 'hi')
          .then(({ finalOutput }) => String(finalOutput), String)
      }

      expect(await asked(llm())).toMatch(/Gate "short" decides at beforeLlmCall.*a model that is frozen/)
      expect(await asked(llm(true))).toBe('done')
    },
  )

  it('ends the run when a gate decides on a frozen tool that waits in the state of a run, and runs it without', async () => {
    const bodies: string[] = []
    const tools = [Object.freeze(looking(bodies, { needsApproval: true }))]
    const agent = agentOf({ model: scripted([['look', { q: 'a' }]], 'done'), tools })
    const { state } = await bareRunner().run(agent, 'hi')
    for (const interruption of state.getInterruptions()) state.approve(interruption)
    const dispatcher = new HookDispatcher()
    const runner = observed(bareRunner(), { dispatcher })

    const { [Symbol.dispose]: forget } = dispatcher.use({
      name: 'g',
      gates: [toolPolicy({ deny: ['look'] })],
    })
    await expect(runner.run(agent, state)).rejects.toThrow(/"look", which the SDK runs by itself/)
    expect(bodies).toEqual([])
    forget()
    expect((await runner.run(agent, state)).finalOutput).toBe('done')
    expect(bodies).toEqual(['a'])
  })

  it('runs where nobody decides on it', async () => {
    expect(await ask(webSearchTool(), using(toolPolicy({ deny: ['wipe'] })))).toBe('done')
    expect(await ask(shell(), () => {})).toBe('done')
  })

  it('is told when the SDK ran it, with what came of it, also once a human has let it', async () => {
    const dispatcher = new HookDispatcher()
    const events = eventsOf(dispatcher)
    const action = { commands: ['ls'] }
    const output = [{ stdout: 'a.txt', stderr: '', outcome: { type: 'exit', exitCode: 0 } as const }]
    const operation = { type: 'delete_file', path: 'a.txt' } as const
    const editor = { deleteFile: async () => ({ status: 'completed', output: 'gone' }) }
    const tools = [
      shellTool({ shell: { run: async () => ({ output }) }, needsApproval: true }),
      applyPatchTool({ editor: editor as never }),
    ]
    const model = new ScriptedModel([
      [{ type: 'shell_call', callId: 's', status: 'completed', action }],
      [{ type: 'apply_patch_call', callId: 'p', status: 'completed', operation }],
      [assistantMessage('done')],
    ])
    const runner = observed(bareRunner(), { dispatcher })
    const agent = agentOf({ model, tools })

    const { state } = await runner.run(agent, 'hi')
    for (const asked of state.getInterruptions()) state.approve(asked)
    expect((await runner.run(agent, state)).finalOutput).toBe('done')

    expect(findAll(events, 'beforeToolCall')).toMatchObject([
      { apiName: 'shell', source: 'local', toolCallId: 's', args: action },
      { apiName: 'apply_patch', source: 'local', toolCallId: 'p', args: operation },
    ])
    expect(findAll(events, 'afterToolCall')).toMatchObject([
      { apiName: 'shell', result: output },
      { apiName: 'apply_patch', result: 'gone' },
    ])
    expect(findAll(events, 'onComplete')).toHaveLength(1)
  })

  it('is told when the provider ran it', async () => {
    const dispatcher = new HookDispatcher()
    const events = eventsOf(dispatcher)
    const model = scripted('done')
    model.getResponse = async () => ({
      usage: { requests: 1, inputTokens: 3, outputTokens: 2, totalTokens: 5 } as never,
      output: [
        {
          type: 'hosted_tool_call',
          id: 'ws_1',
          name: 'web_search_call',
          status: 'completed',
          providerData: { type: 'web_search_call', action: { query: 'bags' } },
        },
        {
          type: 'message',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: 'ok' }],
        },
      ],
    })

    await observed(bareRunner(), { dispatcher }).run(agentOf({ model, tools: [webSearchTool()] }), 'hi')

    expect(findAll(events, 'afterToolCall')).toMatchObject([
      { apiName: 'web_search', source: 'provider', identifier: 'openai', args: { query: 'bags' } },
    ])
    expect(findAll(events, 'onComplete')).toMatchObject([
      { totals: { usage: { inputTokens: 3, outputTokens: 2 } } },
    ])
  })
})
