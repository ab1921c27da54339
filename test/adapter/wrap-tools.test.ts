import { promisify } from 'node:util'
import { HookDispatcher, type HookEvent } from 'hookspan'
import { wrapTools } from 'hookspan/adapter'
import { deny, mutate } from 'hookspan/gates'
import { mock, mockTools, startScriptedServer } from 'hookspan/mock'
import { requireHuman, toolPolicy } from 'hookspan/policies'
import OpenAI from 'openai'
import { ResponsesToolRunner, runnerFunction } from 'openai/helpers/responses-tool-runner'
import { zodResponsesFunction } from 'openai/helpers/zod'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { z } from 'zod'

const search = async ({ q }: { q: string }) => `found ${q}`

function seen(dispatcher: HookDispatcher): HookEvent<'afterToolCall'>[] {
  const events: HookEvent<'afterToolCall'>[] = []
  const handler = (event: HookEvent<'afterToolCall'>) => void events.push(event)
  dispatcher.use({ name: 'see', hooks: [{ id: 'see', type: 'afterToolCall', handler }] })
  return events
}

describe('wrapTools', () => {
  it('makes each call a tool call, of an operation of its own or of the one that runs', async () => {
    const dispatcher = new HookDispatcher()
    const events = seen(dispatcher)
    const tools = wrapTools({ search }, { dispatcher, agentName: 'plain' })
    expect(await tools.search({ q: 'a' })).toBe('found a')
    const op = dispatcher.startOperation({ agentName: 'mine' })
    expect(await op.step(() => tools.search({ q: 'b' }))).toBe('found b')
    await op.complete()
    await dispatcher.drain()
    expect(events).toMatchObject([
      { agentName: 'plain', apiName: 'search', args: { q: 'a' }, result: 'found a' },
      { agentName: 'mine', stepIndex: 0, args: { q: 'b' } },
    ])
    expect(dispatcher.stats().operations).toBe(0)
  })

  it('keeps what a class tells of its tools out of what it alone can read', async () => {
    // As LlamaIndex has it.
    class FunctionTool {
      readonly #metadata: object
      readonly #fn: typeof search
      call = (args: { q: string }) => this.#fn(args)
      constructor(fn: typeof search, metadata: object) {
        this.#fn = fn
        this.#metadata = metadata
      }
      get metadata() {
        return this.#metadata
      }
      get body() {
        return this.#fn
      }
    }
    const dispatcher = new HookDispatcher()
    const events = seen(dispatcher)
    const tools = wrapTools({ search: new FunctionTool(search, { name: 'search' }) }, { dispatcher })
    expect(tools.search.metadata).toEqual({ name: 'search' })
    expect(await tools.search.call({ q: 'a' })).toBe('found a')
    expect(() => tools.search.body).toThrow(TypeError)
    await dispatcher.drain()
    expect(events).toMatchObject([{ apiName: 'search', result: 'found a' }])
  })

  it('refuses a function that can be run in another way, as a tool of Genkit', () => {
    const tool = Object.assign(search.bind(undefined), { run: search })
    expect(() => wrapTools({ tool }, { dispatcher: new HookDispatcher() })).toThrow(
      'Tool "tool" of wrapTools is a function with a run() of its own',
    )
  })

  it('keeps names, schemas, further arguments and `this`', async () => {
    class Shelf {
      readonly name = 'shelf'
      readonly description = 'Looks on the shelf.'
      readonly inputSchema = { type: 'object' }
      readonly #books = ['one']
      async execute({ at }: { at: number }, context: { toolCallId: string }) {
        return `${this.#books[at]} ${context.toolCallId}`
      }
    }
    const dispatcher = new HookDispatcher()
    const events = seen(dispatcher)
    const shelf = new Shelf()
    const plain = Object.assign(async (_args: object) => 'ok', { schema: { type: 'object' } })
    const tools = wrapTools({ shelf, plain }, { dispatcher, identifier: 'library' })
    expect(await tools.shelf.execute({ at: 0 }, { toolCallId: 'call_7' })).toBe('one call_7')
    expect(tools.shelf).toBeInstanceOf(Shelf)
    expect(tools.shelf).toMatchObject({ name: 'shelf', inputSchema: { type: 'object' } })
    expect([tools.plain.name, tools.plain.length, tools.plain.schema]).toEqual([plain.name, 1, plain.schema])
    await dispatcher.drain()
    expect(events).toMatchObject([{ identifier: 'library', toolCallId: 'call_7' }])
  })

  it('leaves out other ways to call a function, which nobody would be asked about', async () => {
    const { tool, execute } = runnerFunction(
      zodResponsesFunction({ name: 'wipe', parameters: z.object({}), function: () => 'wiped' }),
    )
    const promised = Object.assign(async () => 'wiped', { [promisify.custom]: async () => 'wiped' })
    const dispatcher = new HookDispatcher()
    dispatcher.use({ name: 'careful', gates: [toolPolicy({ allow: [] })] })
    const tools = wrapTools({ wipe: execute, promised }, { dispatcher, onRefused: 'tell' })

    expect(Object.getOwnPropertySymbols(tools.promised)).toEqual([])
    const model = await startScriptedServer({
      steps: [{ toolCalls: [{ name: 'wipe' }] }, { content: 'done' }],
    })
    onTestFinished(() => model.close())
    const client = new OpenAI({ apiKey: 'none', baseURL: model.baseURL })
    const runner = new ResponsesToolRunner({ functions: [{ tool, execute: tools.wipe }] })
    await runner.run(client, { model: 'm', input: 'hi' })
    expect(JSON.stringify(model.requests)).toContain('denied')
    expect(JSON.stringify(model.requests)).not.toContain('wiped')
  })

  it('lets gates, mocks and humans have their say', async () => {
    const body = vi.fn(search)
    const dispatcher = new HookDispatcher()
    const tools = wrapTools({ search: body, refund: body, send: body }, { dispatcher })
    using _ = mockTools(dispatcher, [mock('search').when({ q: 'a' }).returns('mocked')], {
      onUnmocked: 'passthrough',
    })
    dispatcher.use({
      name: 'policy',
      gates: [toolPolicy({ deny: ['refund'] }), requireHuman({ match: 'send' })],
    })
    expect(await tools.search({ q: 'a' })).toBe('mocked')
    await expect(tools.refund({ q: 'a' })).rejects.toMatchObject({ code: 'CALL_DENIED' })
    await expect(tools.send({ q: 'a' })).rejects.toThrow(/no_approver/)
    expect(body).not.toHaveBeenCalled()
    dispatcher.use({ name: 'ask', approver: { requestApproval: async () => ({ decision: 'park' }) } })
    await expect(tools.send({ q: 'a' })).rejects.toThrow(/park/)
    dispatcher.use({
      name: 'change',
      gates: [{ id: 'change', point: 'beforeToolCall', match: 'search', decide: () => mutate({ q: 'b' }) }],
    })
    expect(await tools.search({ q: 'c' })).toBe('found b')
  })

  const ofId = { type: 'object', properties: { id: { type: 'number' } }, required: ['id'] }
  const later = {
    '~standard': {
      version: 1,
      vendor: 'own',
      validate: async (value: unknown) => z.object({ id: z.number() })['~standard'].validate(value),
    },
  }
  it.each([
    ['JSON Schema', { parameters: ofId }],
    ['zod', { inputSchema: z.object({ id: z.number() }) }],
    ['a schema that checks asynchronously', { schema: later }],
  ])('holds arguments that were changed to the schema of the tool: %s', async (_, schema) => {
    const run = vi.fn(({ id }: { id: number }) => `found ${id}`)
    const dispatcher = new HookDispatcher()
    const { find } = wrapTools({ find: { ...schema, run } }, { dispatcher })
    const changes: object[] = [{ id: '7' }, { idd: 7 }, { id: 8 }]
    const decide = () => mutate(changes.shift() as never)
    dispatcher.use({ name: 'change', gates: [{ id: 'change', point: 'beforeToolCall', decide }] })

    await expect(find.run({ id: 7 })).rejects.toThrow(/do not fit the schema of the tool: args\.id/)
    await expect(find.run({ id: 7 })).rejects.toThrow(/do not fit/)
    expect(await find.run({ id: 7 })).toBe('found 8')
    expect(run).toHaveBeenCalledTimes(1)
  })

  it('leaves arguments to the tool that its schema does not take as they were, or that nobody can check', async () => {
    const dispatcher = new HookDispatcher()
    const execute = ({ at }: { at: number }) => at + 1
    const made = { inputSchema: z.object({ at: z.string().transform(Number) }), execute }
    const strange = { parameters: { $ref: 'https://elsewhere.test/schema' }, execute }
    const tools = wrapTools({ made, strange }, { dispatcher })
    const gate = { id: 'change', point: 'beforeToolCall' as const, decide: () => mutate({ at: 2 }) }
    dispatcher.use({ name: 'change', gates: [gate] })

    expect(await tools.made.execute({ at: 1 })).toBe(3)
    expect(await tools.strange.execute({ at: 1 })).toBe(3)
  })

  it('calls the tool of a run of its own with what an onStart gate made of the input', async () => {
    const dispatcher = new HookDispatcher()
    const events = seen(dispatcher)
    const tools = wrapTools({ search }, { dispatcher })
    const decisions = [mutate({ q: 'b' }), deny('not now')]
    const gate = { id: 'first', point: 'onStart' as const, decide: () => decisions.shift() }
    dispatcher.use({ name: 'first', gates: [gate] })

    expect(await tools.search({ q: 'a' })).toBe('found b')
    await expect(tools.search({ q: 'a' })).rejects.toThrow(/policy_denied.*not now/)
    await dispatcher.drain()
    expect(events).toMatchObject([{ args: { q: 'b' }, success: true }, { success: false }])
  })

  it('tells a refusal as the result, where it is asked to', async () => {
    const dispatcher = new HookDispatcher()
    dispatcher.use({ name: 'policy', gates: [toolPolicy({ deny: ['search'] })] })
    const tools = wrapTools({ search }, { dispatcher, onRefused: 'tell' })
    expect(await tools.search({ q: 'a' })).toContain('"denied":true')
  })

  it('throws what the tool throws', async () => {
    const broken = new Error('broken')
    const dispatcher = new HookDispatcher()
    const fail = (_args: object): string => {
      throw broken
    }
    await expect(wrapTools({ fail }, { dispatcher }).fail({})).rejects.toBe(broken)
  })

  it('wraps once, and leaves the tools as they were', async () => {
    const dispatcher = new HookDispatcher()
    const events = seen(dispatcher)
    const tool = Object.freeze({ execute: search })
    const tools = wrapTools({ tool }, { dispatcher })
    const again = wrapTools(tools, { dispatcher })
    expect(again.tool).toBe(tools.tool)
    await again.tool.execute({ q: 'a' })
    await dispatcher.drain()
    expect(events).toHaveLength(1)
    expect(tool.execute).toBe(search)
    expect(() => wrapTools(tools, { dispatcher: new HookDispatcher() })).toThrow(/another dispatcher/)
  })

  it.each([
    ['no tools', () => wrapTools([] as never, { dispatcher: new HookDispatcher() }), /such as \{ search \}/],
    ['no tool', () => wrapTools({ search: 7 }, { dispatcher: new HookDispatcher() }), /tool "search"/],
    [
      'a tool without a body',
      () => wrapTools({ search: {} }, { dispatcher: new HookDispatcher() }),
      /execute, run/,
    ],
    ['no dispatcher', () => wrapTools({ search }, {} as never), /needs a `dispatcher`/],
    [
      'a misspelt key',
      () => wrapTools({ search }, { dispatcher: new HookDispatcher(), onrefused: 'tell' } as never),
      /onRefused/,
    ],
  ])('refuses %s', (_, wrap, why) => {
    expect(wrap).toThrow(why)
  })
})
