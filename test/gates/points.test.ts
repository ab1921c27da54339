import { type HookEvent, HookspanError } from 'hookspan'
import { deny, GATE_POINTS, type Gate, gateAt, mutate, proceed, requireApproval, skip } from 'hookspan/gates'
import { describe, expect, it } from 'vitest'
import { callTool, gate, spy, start } from './support.ts'

const reply = (content: string) => ({
  id: 'r1',
  model: 'm',
  choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content } }],
  usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
})
const standIn = (message: { content?: string }) => ({
  ...reply(message.content ?? ''),
  usage: undefined as never,
})

describe('beforeToolCall', () => {
  it('lets the call through when the gate answers nothing or proceed', async () => {
    const { op } = start([
      gate('beforeToolCall', () => {}),
      gate('beforeToolCall', () => proceed(), { id: 'h' }),
    ])
    const { outcome, ran } = await callTool(op)
    expect(outcome.state).toBe('completed')
    expect(ran).toEqual([{ q: 1 }])
  })

  it('replaces the arguments', async () => {
    const { op } = start([gate('beforeToolCall', () => mutate({ q: 2 }))])
    expect((await callTool(op)).ran).toEqual([{ q: 2 }])
  })

  it('answers in place of the tool', async () => {
    const { op } = start([gate('beforeToolCall', () => skip({ cached: true }))])
    const { outcome, ran } = await callTool(op)
    expect(outcome).toMatchObject({ state: 'skipped', result: { cached: true } })
    expect(ran).toEqual([])
  })

  it('tells the model what was denied and why, and the run goes on', async () => {
    const { op } = start([gate('beforeToolCall', () => deny('not on sundays', { code: 'weekend' }))])
    const { outcome, ran } = await callTool(op)
    expect(ran).toEqual([])
    expect(outcome).toMatchObject({ state: 'denied', code: 'weekend', reason: 'not on sundays' })
    expect(JSON.parse(outcome.toToolMessage().content)).toEqual({
      denied: true,
      code: 'weekend',
      reason: 'not on sundays',
    })
    expect(op.stopRequested).toBeUndefined()
  })

  it('ends the run with a stopping denial', async () => {
    const { op } = start([gate('beforeToolCall', () => deny('enough', { stop: true }))])
    expect((await callTool(op)).outcome).toMatchObject({ state: 'denied', stop: true })
    expect(op.stopRequested).toMatchObject({ code: 'policy_denied', reason: 'enough' })
  })

  it('asks about matching tools only', async () => {
    const { op } = start([gate('beforeToolCall', () => deny('no'), { match: ['delete_*', 'mail/*'] })])
    expect((await callTool(op)).outcome.state).toBe('completed')
    expect((await callTool(op, {}, 'delete_order')).outcome.state).toBe('denied')
    const mail = await op.toolCall({ apiName: 'send', identifier: 'mail', args: {} }, () => 'sent')
    expect(mail.state).toBe('denied')
  })

  it('denies with no_approver where nobody can be asked', async () => {
    const { op } = start([gate('beforeToolCall', () => requireApproval())])
    expect((await callTool(op)).outcome).toMatchObject({ state: 'denied', code: 'no_approver' })
  })
})

describe('afterToolCall', () => {
  it('replaces, withholds or stands in for the result, and knows the arguments', async () => {
    const seen: unknown[] = []
    const decide: Gate['decide'] = ({ apiName, args, payload }) => {
      seen.push([args, payload])
      if (apiName === 'a') return mutate('masked')
      return apiName === 'b' ? deny('secret', { code: 'leak' }) : skip('nothing')
    }
    const { op } = start([gate('afterToolCall', decide)])
    expect((await callTool(op, 1, 'a')).outcome).toMatchObject({ state: 'completed', result: 'masked' })
    expect((await callTool(op, 2, 'b')).outcome).toMatchObject({ state: 'denied', code: 'leak' })
    expect((await callTool(op, 3, 'c')).outcome).toMatchObject({ state: 'completed', result: 'nothing' })
    expect(seen).toEqual([
      [1, { found: 1 }],
      [2, { found: 2 }],
      [3, { found: 3 }],
    ])
  })

  it('decides on what a gate answered in the place of the tool, too', async () => {
    const after = spy('afterToolCall')
    const { op } = start([gate('beforeToolCall', () => skip('canned')), after])
    await callTool(op)
    expect(after.seen[0]?.payload).toBe('canned')
  })
})

describe('beforeLlmCall', () => {
  it('merges the fields of a mutation into the request', async () => {
    const { op } = start([gate('beforeLlmCall', () => mutate({ temperature: 0 }))])
    const sent: unknown[] = []
    await op.llmCall({ model: 'm', request: { messages: ['hi'], temperature: 1 } }, (request) => {
      sent.push(request)
      return reply('x')
    })
    expect(sent).toEqual([{ messages: ['hi'], temperature: 0 }])
  })

  it('of another model that a gate chose, hooks and later gates are told', async () => {
    const models: unknown[] = []
    const after = { ...gate('afterLlmCall', ({ model }) => void models.push(model)), id: 'after' }
    const { op, dispatcher } = start([gate('beforeLlmCall', () => mutate({ model: 'small' })), after])
    const handler = ({ model }: { model: string }) => void models.push(model)
    for (const type of ['beforeLlmCall', 'afterLlmCall', 'onLlmCallError'] as const) {
      dispatcher.use({ name: type, hooks: [{ id: type, type, handler }] })
    }
    const usage = { prompt_tokens: 1, completion_tokens: 1 }
    const request = { model: 'large' }
    await op.llmCall({ model: 'large', request }, () => ({ choices: [{ message: { content: 'x' } }], usage }))
    await op.llmCall({ model: 'large', request }, () => Promise.reject(new Error('no'))).catch(() => {})
    await dispatcher.drain()
    expect(models).toEqual(['small', 'small', 'small', 'small', 'small'])
  })

  it.each([
    ['skip', skip('a canned reply'), 'a canned reply'],
    ['deny', deny('too dear'), 'too dear'],
  ])('puts an assistant message in the place of the model on %s', async (_name, decision, content) => {
    const { op } = start([gate('beforeLlmCall', () => decision)])
    let called = false
    const got = await op.llmCall({ model: 'm', request: {}, standIn }, () => {
      called = true
      return reply('real')
    })
    expect(called).toBe(false)
    expect(got.choices[0]?.message.content).toBe(content)
  })

  it('throws CALL_DENIED where nothing can stand in', async () => {
    const { op } = start([gate('beforeLlmCall', () => deny('no'))])
    await expect(op.llmCall({ model: 'm', request: {} }, () => reply('x'))).rejects.toMatchObject({
      code: 'CALL_DENIED',
      message: expect.stringMatching(/denied \(policy_denied\): no, .*Give llmCall a `standIn` function/),
      cause: { code: 'policy_denied', reason: 'no' },
    })
  })

  it.each(['embeddings', 'rerank'])(
    'says of %s that no message can stand in, and no more',
    async (operationName) => {
      const { op } = start([gate('beforeLlmCall', () => deny('no'))])
      const asked = op.llmCall({ model: 'm', request: {}, operationName }, () => reply('x'))
      await expect(asked).rejects.toMatchObject({
        code: 'CALL_DENIED',
        message: `Model call "m": denied (policy_denied): no, and no message can stand in for what \`${operationName}\` gives.`,
      })
    },
  )
})

describe('afterLlmCall', () => {
  it('replaces the reply and still counts the tokens that were spent', async () => {
    const { op } = start([gate('afterLlmCall', () => mutate({ content: '[redacted]' }))])
    const got = await op.llmCall({ model: 'm', request: {}, standIn }, () => reply('secret'))
    expect(got.choices[0]?.message.content).toBe('[redacted]')
    expect(op.totals.usage).toMatchObject({ inputTokens: 10, outputTokens: 5 })
  })

  it('tells the tokens of the reply, and what a gate makes of them is not counted', async () => {
    const seen: unknown[] = []
    const spendthrift = gate('afterLlmCall', ({ usage }) => {
      seen.push({ ...usage })
      ;(usage as { inputTokens: number }).inputTokens = 0
      return proceed()
    })
    const { op } = start([spendthrift])
    await op.llmCall({ model: 'm', request: {} }, () => reply('x'))
    expect(seen).toEqual([{ inputTokens: 10, outputTokens: 5 }])
    expect(op.totals.usage).toMatchObject({ inputTokens: 10, outputTokens: 5 })
  })

  it('shows nothing of a streamed reply before the decision', async () => {
    const { op } = start([
      gate('afterLlmCall', ({ payload }) =>
        (payload as { content: string }).content.includes('secret') ? deny('withheld') : proceed(),
      ),
    ])
    const chunks = (text: string) =>
      text.split(' ').map((word, i, all) => ({
        id: 'c',
        model: 'm',
        choices: [
          { index: 0, delta: { content: word }, finish_reason: i + 1 === all.length ? 'stop' : null },
        ],
      }))
    const streamOf = (text: string) =>
      (async function* () {
        yield* chunks(text)
      })()
    const stand = () => streamOf('withheld') as AsyncGenerator<ReturnType<typeof chunks>[number]>
    const read = async (text: string) => {
      const got: string[] = []
      const init = { model: 'm', request: {}, standIn: stand }
      for await (const chunk of await op.llmCall(init, () => streamOf(text))) {
        got.push(chunk.choices[0]?.delta.content ?? '')
      }
      return got
    }
    expect(await read('all is well')).toEqual(['all', 'is', 'well'])
    expect(await read('the secret word')).toEqual(['withheld'])
  })
})

describe('beforeCallAgent', () => {
  it('rewrites the instruction, answers for the agent, or refuses', async () => {
    const decide: Gate['decide'] = ({ apiName }) => {
      if (apiName === 'writer') return mutate('write politely')
      return apiName === 'oracle' ? skip({ content: '42' }) : deny('no such agent')
    }
    const { op } = start([gate('beforeCallAgent', decide)])
    const call = (agentName: string) =>
      op.callAgent({ agentName, instruction: 'write' }, (_parent, { instruction }) => ({
        content: instruction,
      }))
    expect(await call('writer')).toEqual({ content: 'write politely' })
    expect(await call('oracle')).toEqual({ content: '42' })
    await expect(call('other')).rejects.toMatchObject({ code: 'CALL_DENIED' })
  })
})

describe('the other points', () => {
  it('onStart changes the input or refuses the run before its first step', async () => {
    const changed = start([gate('onStart', () => mutate('cleaned'))], { init: { input: 'raw' } })
    expect(await changed.op.admit()).toBe('cleaned')
    const refused = start([gate('onStart', () => deny('closed'))], { init: { input: 'raw' } })
    await expect(refused.op.step(() => 1)).rejects.toMatchObject({ code: 'RUN_DENIED' })
    expect(refused.op.stopRequested).toMatchObject({ reason: 'closed' })
  })

  it('beforeCompact refuses or stands in', async () => {
    const refused = start([gate('beforeCompact', () => deny('keep it'))])
    const counts = { messageCount: 3, tokenCount: 30 }
    await expect(refused.op.compact(counts, () => ({ summary: 's' }))).rejects.toThrow('keep it')
    const skipped = start([gate('beforeCompact', () => skip({ summary: 'given' }))])
    expect(await skipped.op.compact(counts, () => ({ summary: 'own' }))).toEqual({ summary: 'given' })
  })

  it('afterStep ends the run', async () => {
    const { op } = start([gate('afterStep', () => deny('enough steps'))])
    expect(await op.step(() => 'done')).toBe('done')
    expect(op.stopRequested).toMatchObject({ reason: 'enough steps' })
  })

  it.each<[string, Gate['decide'], object]>([
    ['mutate', () => mutate({ content: 'short' }), { reason: 'done', content: 'short' }],
    ['skip', () => skip('other'), { reason: 'done', content: 'other' }],
    [
      'deny',
      () => deny('not fit to show', { code: 'unfit' }),
      { reason: 'denied', refusal: { code: 'unfit', reason: 'not fit to show' } },
    ],
  ])('beforeComplete gives the outcome its last form: %s', async (_name, decide, expected) => {
    const completions: HookEvent<'onComplete'>[] = []
    const { dispatcher, op } = start([gate('beforeComplete', decide)])
    dispatcher.register('op', [
      { id: 'c', type: 'onComplete', handler: (e) => void completions.push(e as never) },
    ])
    expect(await op.complete({ content: 'long' })).toEqual(expected)
    expect(completions).toHaveLength(1)
    expect(completions[0]).toMatchObject({ reason: (expected as { reason: string }).reason })
  })
})

it('decides with the payload of its point, where its type is of one', async () => {
  const told: unknown[] = []
  const { op } = start([
    gateAt('beforeCallAgent', { id: 'agent', decide: ({ payload }) => mutate(payload.toUpperCase()) }),
    gateAt('beforeCompact', { id: 'compact', decide: ({ payload }) => void told.push(payload) }),
    gateAt('afterStep', { id: 'step', decide: ({ payload }) => void told.push(payload.content) }),
    gateAt('beforeComplete', { id: 'end', decide: ({ payload, point }) => void told.push(payload, point) }),
  ])
  await op.step(async (step) => {
    await step.callAgent({ agentName: 'researcher', instruction: 'look' }, (_parent, { instruction }) => {
      told.push(instruction)
      return { content: 'found' }
    })
    await step.compact({ messageCount: 9, tokenCount: 900 }, () => ({ messagesAfter: 2 }))
    step.report({ content: 'said' })
  })
  await op.complete({ content: 'bye' })
  expect(told).toEqual([
    'LOOK',
    { messageCount: 9, tokenCount: 900 },
    'said',
    { reason: 'done', content: 'bye' },
    'beforeComplete',
  ])
})

it('knows nine points, and a gate may decide at several', async () => {
  const everywhere = spy([...GATE_POINTS])
  const { op } = start([everywhere], { init: { input: 'hi' } })
  await op.step(async (step) => {
    await step.llmCall({ model: 'm', request: {} }, () => reply('x'))
    await step.toolCall({ apiName: 't', args: {} }, () => 1)
    await step.callAgent({ agentName: 'a', instruction: 'i' }, () => 1)
    await step.compact({ messageCount: 1, tokenCount: 1 }, () => ({}))
  })
  await op.complete()
  expect(everywhere.seen.map((ctx) => ctx.point)).toEqual([
    'onStart',
    'beforeLlmCall',
    'afterLlmCall',
    'beforeToolCall',
    'afterToolCall',
    'beforeCallAgent',
    'beforeCompact',
    'afterStep',
    'beforeComplete',
  ])
  expect(everywhere.seen.at(-1)?.totals).toMatchObject({
    steps: 1,
    llmCalls: 1,
    toolCalls: 1,
    inputTokens: 10,
  })
})

it.each([
  ['skip', 'onStart'],
  ['mutate', 'afterStep'],
  ['skip', 'afterStep'],
  ['mutate', 'beforeCompact'],
] as const)(
  'takes %s at %s as a gate that failed, because it has no meaning there',
  async (decision, point) => {
    const answer = decision === 'skip' ? skip(1) : mutate({})
    const { op } = start([gate(point, () => answer)], { init: { input: 'i' } })
    const run = async () => {
      await op.step((step) => step.compact({ messageCount: 1, tokenCount: 1 }, () => ({})))
      if (op.stopRequested) throw new HookspanError('RUN_DENIED', op.stopRequested.reason)
    }
    await expect(run()).rejects.toThrow('has no meaning at')
  },
)

it.each([
  ['beforeLlmCall', skip(5), 'a model reply is an object of its fields'],
  ['afterLlmCall', skip(['hi']), 'a model reply is an object of its fields'],
  ['beforeLlmCall', skip({ content: 5 }), 'Expected `content` of a model reply to be a string'],
  ['afterLlmCall', mutate({ toolCalls: 'search' }), 'Expected `toolCalls` of a model reply'],
  ['afterLlmCall', mutate({ contnt: 'hi' }), 'Did you mean `content`?'],
  ['beforeLlmCall', skip({}), 'a model reply has one of'],
  ['beforeComplete', mutate({ reason: 'donee' }), "Expected `reason` of a run's outcome"],
  ['beforeComplete', mutate({ contnt: 'hi' }), 'Did you mean `content`?'],
] as const)('takes what cannot stand at %s as a gate that failed: %j', async (point, decision, why) => {
  const ends: unknown[] = []
  const { op } = start([gate(point, () => decision)])
  const standsIn = (message: { content?: string }) => {
    ends.push(message.content)
    return standIn(message)
  }
  await op.llmCall({ model: 'm', request: {}, standIn: standsIn }, () => reply('real'))
  const { refusal } = await op.complete()
  expect(String(refusal?.reason ?? ends[0])).toContain(why)
})
