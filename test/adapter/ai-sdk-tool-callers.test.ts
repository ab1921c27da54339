import * as ai from 'ai'
import { HookDispatcher } from 'hookspan'
import { wrapTools } from 'hookspan/adapter'
import { observeAISDK } from 'hookspan/ai-sdk'
import { createApprovals, memoryStore } from 'hookspan/approval'
import { mutate } from 'hookspan/gates'
import { mock, mockTools } from 'hookspan/mock'
import { requireHuman, toolPolicy } from 'hookspan/policies'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { activityTree } from '../support/activity-tree.ts'
import { settled } from '../support/seen-by-caller.ts'
import { eventsOf } from '../support/told-events.ts'
import { scripted } from './subjects/ai-sdk.ts'

type Nested = { execute(input: unknown, options: unknown): Promise<string> }

/** A tool that calls another one by itself, as one does that runs code of the model, and what the two were given. */
function tools({ hasOwn = true } = {}) {
  const ran: string[] = []
  const search = ai.tool({
    inputSchema: z.object({ q: z.string() }),
    execute: async ({ q }) => {
      ran.push(`search ${q}`)
      return `found ${q}`
    },
  })
  const inputSchema = z.object({ code: z.string() })
  const unbound = hasOwn ? { inputSchema, execute: async () => 'unbound' } : { inputSchema }
  const code = ai.experimental_toolCaller(ai.tool(unbound as never), {
    type: 'local',
    bind: ({ search: bound }) =>
      ai.tool({
        inputSchema,
        execute: async ({ code }, options) => {
          ran.push(`code ${code}`)
          const ask = (q: string) => (bound as unknown as Nested).execute({ q }, options).catch(String)
          return [await ask('a'), await ask('b')].join(', ')
        },
      }),
  })
  return { ran, tools: { search, code } }
}

const CALL = { toolCalls: [{ id: 'c1', name: 'code', args: { code: 'x' } }] }
const asking = (given: object) => ({
  model: scripted([CALL, { content: 'done' }]),
  prompt: 'hi',
  tools: given,
  experimental_toolCallers: { search: ['code'] },
  stopWhen: ai.isStepCount(5),
})

async function run(sdk: Pick<typeof ai, 'generateText' | 'streamText'>, given: object, stream: boolean) {
  const { steps } = stream
    ? sdk.streamText(asking(given) as never)
    : await sdk.generateText(asking(given) as never)
  return (await steps).map(({ content }) => content)
}

function observed() {
  const tree = activityTree()
  const dispatcher = new HookDispatcher()
  dispatcher.use(tree.plugin)
  return { sdk: observeAISDK(ai, { dispatcher, agentName: 'coder' }), dispatcher, tree }
}

describe.each([false, true])('a tool that calls others (stream: %s)', (stream) => {
  it.each([true, false])(
    'gives what it gives without hookspan (with a body of its own: %s)',
    async (hasOwn) => {
      const bare = tools({ hasOwn })
      const was = await run(ai, bare.tools, stream)
      const ours = tools({ hasOwn })
      const { sdk, tree, dispatcher } = observed()

      expect(await run(sdk, ours.tools, stream)).toEqual(was)
      expect(ours.ran).toEqual(bare.ran)
      expect(ours.ran).toEqual(['code x', 'search a', 'search b'])
      await settled(dispatcher)
      expect(tree.lines()).toEqual([
        'invoke_agent coder',
        '  step 0',
        '    chat contract',
        '    execute_tool code',
        '      execute_tool search',
        '      execute_tool search',
        '  step 1',
        '    chat contract',
      ])
    },
  )

  it('runs neither where it is denied', async () => {
    for (const [deny, ran] of [
      ['code', []],
      ['search', ['code x']],
    ] as const) {
      const ours = tools()
      const { sdk, dispatcher } = observed()
      dispatcher.use({ name: 'careful', gates: [toolPolicy({ deny: [deny] })] })
      await run(sdk, ours.tools, stream)
      expect(ours.ran).toEqual(ran)
    }
  })

  it('waits for the human who is asked about what it calls', async () => {
    const ours = tools()
    const { sdk, dispatcher } = observed()
    const approvals = createApprovals({ store: memoryStore() })
    dispatcher.use(approvals)
    dispatcher.use({ name: 'careful', gates: [requireHuman({ match: 'search' })] })
    const content = run(sdk, ours.tools, stream)
    for (const decision of ['approve', 'reject'] as const) {
      await expect.poll(() => approvals.list({ status: 'pending' })).toHaveLength(1)
      const [asked] = await approvals.list({ status: 'pending' })
      await approvals.respond(asked?.request.id as string, { decision, approver: 'ines' })
    }

    expect(JSON.stringify(await content)).toMatch(/found a, Error: .*rejected/)
    expect(ours.ran).toEqual(['code x', 'search a'])
  })

  it('says that what it calls cannot be parked for a human, and leaves no question and no call open', async () => {
    const ours = tools()
    const { sdk, dispatcher } = observed()
    const events = eventsOf(dispatcher)
    const store = memoryStore()
    dispatcher.use(createApprovals({ store, mode: 'park' }))
    dispatcher.use({ name: 'careful', gates: [requireHuman({ match: 'search' })] })

    const content = JSON.stringify(await run(sdk, ours.tools, stream))
    expect(content.match(/let it wait in the process/g)).toHaveLength(2)
    expect(ours.ran).toEqual(['code x'])
    await settled(dispatcher)
    const ended = events.flatMap((event) => (event.hookType === 'afterToolCall' ? [event.apiName] : []))
    expect(ended).toEqual(['search', 'search', 'code'])
    expect((await store.list()).map(({ status }) => status)).toEqual(['cancelled', 'cancelled'])
  })

  it('is given what a gate and a mock make of the calls', async () => {
    const ours = tools()
    const { sdk, dispatcher } = observed()
    using _mocks = mockTools(dispatcher, [mock('search').when({ q: 'b' }).returns('a mock')], {
      onUnmocked: 'passthrough',
    })
    const decide = ({ payload }: { payload: unknown }) =>
      (payload as { q?: string }).q === 'a' ? mutate({ q: 'other' }) : undefined
    dispatcher.use({ name: 'careful', gates: [{ id: 'other', point: 'beforeToolCall', decide }] })

    expect(JSON.stringify(await run(sdk, ours.tools, stream))).toContain('found other, a mock')
    expect(ours.ran).toEqual(['code x', 'search other'])
  })
})

it('what a tool calls that keeps the functions of others is held where they are wrapped', async () => {
  const { sdk, dispatcher, tree } = observed()
  dispatcher.use({ name: 'careful', gates: [toolPolicy({ deny: ['search'] })] })
  const all = tools()
  const search = all.tools.search as unknown as Nested
  const wrapped = wrapTools({ search }, { dispatcher }) as { search: Nested }
  const code = ai.tool({
    inputSchema: z.object({ code: z.string() }),
    execute: (_, options) => wrapped.search.execute({ q: 'a' }, options).catch(String),
  })
  const prompt = { model: scripted([CALL, { content: 'done' }]), prompt: 'hi', stopWhen: ai.isStepCount(5) }
  const { steps } = await sdk.generateText({ ...prompt, tools: { code } })
  await settled(dispatcher)

  expect(JSON.stringify(steps[0]?.content)).toContain('tool_not_allowed')
  expect(all.ran).toEqual([])
  expect(tree.lines().filter((line) => line.includes('execute_tool'))).toEqual([
    '    execute_tool code',
    '      execute_tool search',
  ])
})
