import { HookDispatcher } from 'hookspan'
import { type Gate, mutate } from 'hookspan/gates'
import { hookspanPlugin } from 'hookspan/google-adk'
import { mock, mockTools } from 'hookspan/mock'
import { redact, toolPolicy } from 'hookspan/policies'
import { describe, expect, it } from 'vitest'
import { traced } from '../support/span-tree.ts'
import { ScriptedLlm } from './subjects/google-adk.ts'
import type { Untyped } from './support/sdks.ts'

const sdk = '@google/adk'
const { BaseCodeExecutor, InMemoryRunner, LlmAgent }: Untyped = await import(sdk)

/** Says what it was given, and runs nothing. */
class Recorder extends BaseCodeExecutor {
  readonly ran: string[] = []
  readonly stderr: string

  constructor(stderr = '') {
    super()
    this.stderr = stderr
    this.optimizeDataFile = true
  }

  async executeCode({ codeExecutionInput: { code } }: Untyped) {
    this.ran.push(code)
    return { stdout: 'for ann@shop.test', stderr: this.stderr, outputFiles: [] }
  }
}

const TABLE = { inlineData: { mimeType: 'text/csv', data: Buffer.from('a\n1').toString('base64') } }

async function run(
  dispatcher: HookDispatcher,
  executor: object,
  { plugins, file = TABLE }: { plugins?: readonly object[]; file?: object } = {},
) {
  const model = new ScriptedLlm([{ content: 'done' }])
  const agent = new LlmAgent({ name: 'analyst', model, codeExecutor: executor })
  const runner = new InMemoryRunner({
    agent,
    appName: 'app',
    plugins: plugins ?? [hookspanPlugin({ dispatcher })],
  })
  const newMessage = { role: 'user', parts: [{ text: 'add it up' }, file] }
  const texts: string[] = []
  for await (const { content } of runner.runEphemeral({ userId: 'u', newMessage }))
    for (const { text } of content?.parts ?? []) if (typeof text === 'string') texts.push(text)
  return { texts, told: texts.join('\n') }
}

const guarded = (...gates: Gate[]) => {
  const dispatcher = new HookDispatcher()
  dispatcher.use({ name: 'guard', gates })
  return dispatcher
}

describe('code that an executor of ADK runs', () => {
  it('is a call of code_execution, and gives what it gives without us', async () => {
    using tracing = traced()
    const [with_, without] = [new Recorder(), new Recorder()]
    const seen = await run(tracing.dispatcher, with_)
    expect(seen).toEqual(await run(new HookDispatcher(), without, { plugins: [] }))
    expect(with_.ran).toEqual(without.ran)
    expect(tracing.tree()).toContain('execute_tool code_execution')
  })

  it('is told as failed where it writes to its standard error', async () => {
    using tracing = traced()
    await run(tracing.dispatcher, new Recorder('NameError'))
    const span = tracing.spans().find(({ name }) => name === 'execute_tool code_execution')
    expect(span?.status).toMatchObject({ code: 2 })
  })

  it('does not run where a policy denies it, and the model is told why', async () => {
    const executor = new Recorder()
    const { told } = await run(guarded(toolPolicy({ deny: ['code_*'] })), executor)
    expect(executor.ran).toEqual([])
    expect(told).toContain('not allowed')
  })

  it('is mocked', async () => {
    const dispatcher = new HookDispatcher()
    using _mocks = mockTools(dispatcher, [mock('code_execution').returns('mocked 42')])
    const executor = new Recorder()
    const { told } = await run(dispatcher, executor)
    expect(executor.ran).toEqual([])
    expect(told).toContain('mocked 42')
  })

  it('runs as a gate has it, and gives what a gate makes of what it gave', async () => {
    const executor = new Recorder()
    const harmless: Gate = {
      id: 'harmless',
      point: 'beforeToolCall',
      match: 'code_execution',
      decide: ({ args }) => mutate({ ...(args as object), code: 'print(2)' }),
    }
    const { told } = await run(guarded(harmless, redact({ kinds: ['email'] })), executor)
    expect(executor.ran).toEqual(['print(2)'])
    expect(told).toContain('for [email]')
    expect(told).not.toContain('ann@')
  })

  it('is refused where the executor is frozen and a gate decides on it', async () => {
    const executor = Object.freeze(new Recorder())
    const refusing = guarded(toolPolicy({ deny: ['code_execution'] }))
    await expect(run(refusing, executor, { file: { text: 'no file' } })).rejects.toThrow(/code_execution/)
    expect(executor.ran).toEqual([])
  })

  it('is the executor’s own again once the plugin is left', async () => {
    const executor = new Recorder()
    const plugin = hookspanPlugin({ dispatcher: new HookDispatcher() })
    await run(new HookDispatcher(), executor, { plugins: [plugin] })
    expect(Object.hasOwn(executor, 'executeCode')).toBe(true)
    plugin[Symbol.dispose]()
    expect(Object.hasOwn(executor, 'executeCode')).toBe(false)
  })
})
