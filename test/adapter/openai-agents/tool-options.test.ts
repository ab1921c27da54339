import { RunState, tool } from '@openai/agents'
import { HookDispatcher } from 'hookspan'
import { deny, type Gate, mutate, requireApproval } from 'hookspan/gates'
import { mock, mockTools } from 'hookspan/mock'
import { afterEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { dispatcherWith, find, findAll } from '../../support/told-events.ts'
import { agentOf, bareRunner, letAllGo, looking, observed, scripted } from './support.ts'

afterEach(letAllGo)

const toolResult = (model: ReturnType<typeof scripted>) =>
  (model.calls.at(-1)?.request.input as undefined | { type?: string; output?: { text: string } }[])?.find(
    ({ type }) => type === 'function_call_result',
  )?.output?.text

describe('the guardrails of a tool', () => {
  const watching = () => {
    const shown: unknown[] = []
    const run = async ({ toolCall }: { toolCall: { arguments: string } }) => {
      shown.push(JSON.parse(toolCall.arguments).q)
      return { behavior: { type: 'allow' } }
    }
    const guardrails = { inputGuardrails: [{ name: 'in', run }], outputGuardrails: [{ name: 'out', run }] }
    return { guardrails, shown }
  }

  it.each<[string, object, unknown[]]>([
    ['in the process', { decision: 'approve', approver: 'ines' }, ['changed', 'changed']],
    ['by a human', { decision: 'edit', approver: 'ines', args: { q: 'edited' } }, ['edited', 'edited']],
  ])('are shown what the tool is run with, changed %s', async (_by, answer, expected) => {
    const { guardrails, shown } = watching()
    const dispatcher = new HookDispatcher()
    const gates: Gate[] = [
      { id: 'changes', point: 'beforeToolCall', decide: () => mutate({ q: 'changed' }) },
      { id: 'asks', point: 'beforeToolCall', decide: () => requireApproval({ allow: ['approve', 'edit'] }) },
    ]
    dispatcher.use({ name: 'guard', gates, approver: { requestApproval: async () => answer as never } })
    const bodies: string[] = []
    const tools = [looking(bodies, guardrails)]
    const agent = agentOf({ model: scripted([['look', { q: 'a' }]], 'done'), tools })

    await observed(bareRunner(), { dispatcher }).run(agent, 'hi')

    expect(bodies).toEqual(expected.slice(0, 1))
    expect(shown).toEqual(expected)
  })

  it('are shown it where the run was parked in between, and the call as it was where nobody changed it', async () => {
    for (const edited of [true, false]) {
      const { guardrails, shown } = watching()
      const agent = agentOf({
        model: scripted([['look', { q: 'a' }]], 'done'),
        tools: [looking([], guardrails)],
      })
      let saved: string | undefined
      for (const answer of [
        { decision: 'park' },
        edited
          ? { decision: 'edit', approver: 'ines', args: { q: 'edited' } }
          : { decision: 'approve', approver: 'ines' },
      ]) {
        const dispatcher = new HookDispatcher()
        const asks: Gate = {
          id: 'asks',
          point: 'beforeToolCall',
          decide: () => requireApproval({ allow: ['approve', 'edit'] }),
        }
        dispatcher.use({
          name: 'guard',
          gates: [asks],
          approver: { requestApproval: async () => answer as never },
        })
        const input = saved === undefined ? 'hi' : await RunState.fromString(agent, saved)
        saved = (await observed(bareRunner(), { dispatcher }).run(agent, input as never)).state.toString()
        letAllGo()
      }
      expect(shown).toEqual(edited ? ['edited', 'edited'] : ['a', 'a'])
    }
  })
})

describe('guardrails that the SDK asks before a human', () => {
  const toolExecution = { preApprovalInputGuardrails: true }
  const play = async (says: 'allow' | 'rejectContent' | 'throwException', gated: boolean, config: object) => {
    const asked: string[] = []
    const gates: Gate[] = gated
      ? [{ id: 'asks', point: 'beforeToolCall', decide: () => requireApproval() }]
      : []
    const { dispatcher, events } = dispatcherWith(...gates)
    const requestApproval = async () => {
      asked.push('human')
      return { decision: 'park' } as const
    }
    dispatcher.use({ name: 'humans', approver: { requestApproval } })
    const run = async () => {
      asked.push('guardrail')
      return { behavior: { type: says, message: 'not that' } }
    }
    const model = scripted([['look', { q: 'a' }]], 'done')
    const look = looking([], { inputGuardrails: [{ name: 'in', run }], needsApproval: !gated })
    const runner = observed(bareRunner(config), { dispatcher })
    const result = await runner.run(agentOf({ model, tools: [look] }), 'hi').catch(() => undefined)
    return { asked, events, told: toolResult(model), waits: result?.interruptions.length }
  }

  it.each([true, false])('keep a call that they refuse from a human (of a gate: %s)', async (gated) => {
    const { asked, events, told } = await play('rejectContent', gated, { toolExecution })

    expect(asked).toEqual(['guardrail'])
    expect(told).toBe('not that')
    expect(findAll(events, 'beforeHumanIntervention')).toEqual([])
    expect(findAll(events, 'onToolCallError')).toMatchObject([
      { stepIndex: 0, errorMessage: expect.stringContaining('guardrail') },
    ])
    expect(findAll(events, 'onComplete')).toMatchObject([{ totals: { steps: 2, toolCalls: 1 } }])
  })

  it.each([true, false])('keep one from a human that ends the run (of a gate: %s)', async (gated) => {
    const { asked, events, waits } = await play('throwException', gated, { toolExecution })

    expect([asked, waits]).toEqual([['guardrail'], undefined])
    expect(findAll(events, 'onToolCallError')).toHaveLength(1)
    expect(findAll(events, 'onComplete')).toMatchObject([{ reason: 'error' }])
  })

  it.each([
    [true, ['guardrail', 'human']],
    [false, ['guardrail']],
  ])('are asked once, and then the human (of a gate: %s)', async (gated, expected) => {
    const { asked, waits } = await play('allow', gated, { toolExecution })
    expect([asked, waits]).toEqual([expected, 1])
  })

  it('are not asked before where the SDK does not', async () => {
    const { asked, waits } = await play('rejectContent', true, {})
    expect([asked, waits]).toEqual([['human'], 1])
  })
})

it('what a guardrail puts in the place of an output is told to the model alone', async () => {
  const { dispatcher, events } = dispatcherWith()
  const run = async () => ({ behavior: { type: 'rejectContent', message: 'withheld' } })
  const model = scripted([['look', { q: 'a' }]], 'done')
  const look = looking([], { outputGuardrails: [{ name: 'out', run }] })

  await observed(bareRunner(), { dispatcher }).run(agentOf({ model, tools: [look] }), 'hi')

  expect(find(events, 'afterToolCall')).toMatchObject({ content: 'found a' })
  expect(toolResult(model)).toBe('withheld')
})

it('a call that the body of a tool makes is denied where its approver parks runs', async () => {
  const dispatcher = new HookDispatcher()
  const asks: Gate = { id: 'asks', point: 'beforeToolCall', match: 'look', decide: () => requireApproval() }
  dispatcher.use({
    name: 'guard',
    gates: [asks],
    approver: { requestApproval: async () => ({ decision: 'park' }) },
  })
  const bodies: string[] = []
  const look = looking(bodies)
  const outer = tool({
    name: 'outer',
    description: 'Calls the other.',
    parameters: z.object({}),
    execute: (_args, context) => look.invoke(context as never, '{"q":"a"}'),
  })
  const model = scripted([['outer', {}]], 'done')

  await observed(bareRunner(), { dispatcher }).run(agentOf({ model, tools: [outer, look] }), 'hi')

  expect(bodies).toEqual([])
  expect(toolResult(model)).toContain('not possible')
})

describe('a tool that declares what it gives', () => {
  const found = () =>
    tool({
      name: 'look',
      description: 'Looks something up.',
      parameters: z.object({ q: z.string() }),
      outputSchema: z.object({ found: z.string() }),
      execute: async ({ q }) => ({ found: q }),
    })

  it('is refused in JSON, not in a text that holds it', async () => {
    const dispatcher = new HookDispatcher()
    dispatcher.use({
      name: 'guard',
      gates: [{ id: 'no', point: 'beforeToolCall', decide: () => deny('not today') }],
    })
    const model = scripted([['look', { q: 'a' }]], 'done')

    await observed(bareRunner(), { dispatcher }).run(agentOf({ model, tools: [found()] }), 'hi')

    expect(JSON.parse(toolResult(model) ?? '')).toMatchObject({ denied: true, reason: 'not today' })
  })

  it.each([
    [{ found: 'it' }, undefined],
    [{ lost: 'it' }, 'MOCK_RESULT'],
  ])('is mocked by what its schema takes: %j', async (result, code) => {
    const dispatcher = new HookDispatcher()
    const mocks = mockTools(dispatcher, [mock('look').returns(result)])
    const model = scripted([['look', { q: 'a' }]], 'done')

    const run = observed(bareRunner(), { dispatcher }).run(agentOf({ model, tools: [found()] }), 'hi')

    if (code === undefined) {
      await run
      expect(JSON.parse(toolResult(model) ?? '')).toEqual(result)
    } else {
      await run.catch(() => {})
      expect(() => mocks.assertUsed()).toThrow(expect.objectContaining({ code }))
    }
  })
})
