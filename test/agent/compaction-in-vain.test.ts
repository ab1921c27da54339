import { HookDispatcher } from 'hookspan'
import { type Agent, execAgent, resumeAgent } from 'hookspan/agent'
import { createApprovals, memoryStore } from 'hookspan/approval'
import { type ApprovalAnswer, type ApprovalOptions, requireApproval, skip } from 'hookspan/gates'
import { describe, expect, it } from 'vitest'
import { recorded, scripted, usage } from '../support/scripted-client.ts'
import { compacting, look, looks } from './compacting.ts'

const summarises = (request: { messages: unknown; body: unknown }) =>
  JSON.stringify(request.body).includes('You are given the older part')

describe.each(['chat', 'responses'] as const)('a summary that is none, over %s', (api) => {
  it.each(['length', 'content_filter'])('replaces nothing when it was cut: %s', async (finishReason) => {
    const { client, fetch } = scripted([
      looks('door', 'window'),
      looks('roof'),
      { content: 'The user wants', finishReason, usage },
      looks('cellar'),
      { content: 'ok', usage },
    ])
    const { dispatcher, of } = recorded()
    const run = await execAgent({ agent: compacting(api), prompt: 'Look.', client, dispatcher })
    expect(run).toMatchObject({ status: 'done', content: 'ok' })
    expect(JSON.stringify(fetch.requests.at(-1)?.messages)).toContain('door: lorem')
    expect(of('onCompactError')).toMatchObject([
      { errorMessage: `Model "gpt-4o" gave no whole summary (${finishReason}).` },
    ])
  })

  it('replaces nothing when the model refuses', async () => {
    const refusal = 'I cannot help with that.'
    const body =
      api === 'chat'
        ? {
            choices: [
              { index: 0, finish_reason: 'stop', message: { role: 'assistant', content: null, refusal } },
            ],
          }
        : {
            object: 'response',
            status: 'completed',
            output: [{ type: 'message', role: 'assistant', content: [{ type: 'refusal', refusal }] }],
          }
    const { client, fetch } = scripted([
      looks('door', 'window'),
      looks('roof'),
      { raw: { body: JSON.stringify({ id: 'r', model: 'gpt-4o', ...body }) } },
      { content: 'ok', usage },
    ])
    const { dispatcher, of } = recorded()
    await execAgent({ agent: compacting(api), prompt: 'Look.', client, dispatcher })
    expect(JSON.stringify(fetch.requests.at(-1)?.messages)).toContain('door: lorem')
    expect(of('onCompactError')).toMatchObject([{ errorMessage: expect.stringContaining('(refusal)') }])
  })

  it('of a gate is counted as it is, and is an error where it is no text under `summary`', async () => {
    for (const [given, told] of [
      [{ summary: 'A house.', by: 'g' }, 'afterCompact'],
      ['A house.', 'onCompactError'],
      [{ summary: 5 }, 'onCompactError'],
    ] as const) {
      const { client, fetch } = scripted([looks('door', 'window'), looks('roof'), { content: 'ok', usage }])
      const { dispatcher, of } = recorded()
      dispatcher.use({ name: 'g', gates: [{ id: 'g', point: 'beforeCompact', decide: () => skip(given) }] })
      await execAgent({ agent: compacting(api), prompt: 'Look.', client, dispatcher })
      const sent = fetch.requests.at(-1)?.messages ?? []
      expect(JSON.stringify(sent).includes('door: lorem')).toBe(told === 'onCompactError')
      expect([of('afterCompact').length, of('onCompactError').length]).toEqual(
        told === 'afterCompact' ? [1, 0] : [0, 1],
      )
      for (const { tokensBefore, tokensAfter, messagesAfter, summary } of of('afterCompact')) {
        expect(summary).toBe('A house.')
        expect(tokensAfter).toBeLessThan(tokensBefore)
        expect(messagesAfter).toBe(sent.length)
      }
      for (const { errorMessage } of of('onCompactError'))
        expect(errorMessage).toContain('{ summary: "..." }')
    }
  })
})

describe('what a compaction costs', () => {
  it('counts before the next turn: a limit that it reaches ends the run', async () => {
    const { client, fetch } = scripted([
      looks('door', 'window'),
      looks('roof'),
      { content: 'A house.', usage },
      { content: 'not asked for' },
    ])
    const agent = { ...compacting('chat'), maxCostUsd: 0.75 }
    const run = await execAgent({ agent, prompt: 'Look.', client, priceOf: () => 0.25 })
    expect(run).toMatchObject({ reason: 'cost_limit', costUsd: 0.75 })
    expect(fetch.requests).toHaveLength(3)
  })

  it('is not paid anew by a run that parks at each turn, where it brought nothing', async () => {
    let turn = 0
    const { client, fetch } = scripted((request) => {
      if (summarises(request)) return { content: 'A door.', usage }
      return turn++ < 5 ? looks(`${turn}`) : { content: 'All seen.', usage }
    })
    const dispatcher = new HookDispatcher()
    const store = memoryStore()
    dispatcher.use(createApprovals({ store, mode: 'park' }))
    const agent: Agent = {
      ...compacting('chat', { thresholdTokens: 2_000 }),
      instructions: 'Look around you. '.repeat(500),
      tools: [{ ...look, execute: () => 'a door', needsApproval: true }],
    }
    let run = await execAgent({ agent, prompt: 'Look.', client, dispatcher })
    while (run.status === 'waiting_for_human') {
      for (const { request } of await store.list({ status: 'pending' })) {
        const { argsDigest } = request
        await store.answer(request.id, { decision: 'approve', argsDigest }, Date.now())
      }
      run = await resumeAgent({ agent, state: JSON.stringify(run.state), client, dispatcher })
    }
    expect(run).toMatchObject({ status: 'done', steps: 6 })
    expect(fetch.requests.filter(summarises)).toHaveLength(1)
  })

  it.each<[string, ApprovalOptions, ApprovalAnswer | undefined]>([
    ['said no', {}, { decision: 'reject', reason: 'keep it all' }],
    ['did not answer', { timeoutMs: 5 }, undefined],
  ])('is not asked for at each turn of a human who %s', async (_name, asking, answer) => {
    let turn = 0
    const { client } = scripted(() => (turn++ < 5 ? looks(`${turn}`) : { content: 'All seen.', usage }))
    const { dispatcher, of } = recorded()
    const asked: string[] = []
    dispatcher.use({
      name: 'careful',
      gates: [{ id: 'ask', point: 'beforeCompact', decide: () => requireApproval(asking) }],
      approver: {
        async requestApproval({ point }) {
          asked.push(point)
          return answer ?? new Promise<never>(() => {})
        },
      },
    })
    const agent: Agent = {
      ...compacting('chat', { thresholdTokens: 2_000 }),
      instructions: 'Look around you. '.repeat(500),
      tools: [{ ...look, execute: () => 'a door' }],
    }
    const run = await execAgent({ agent, prompt: 'Look.', client, dispatcher })
    expect(run).toMatchObject({ status: 'done', steps: 6 })
    expect(asked).toEqual(['beforeCompact'])
    expect(of('onCompactError')).toHaveLength(1)
  })

  it('begins when instructions that are no message are over the threshold, too', async () => {
    for (const api of ['chat', 'responses'] as const) {
      const { client } = scripted([
        looks('door'),
        looks('window'),
        { content: 's', usage },
        { content: 'ok', usage },
      ])
      const { dispatcher, of } = recorded()
      const agent = {
        ...compacting(api, { thresholdTokens: 2_000 }),
        instructions: 'Look around. '.repeat(500),
      }
      await execAgent({ agent, prompt: 'Look.', client, dispatcher })
      expect(of('beforeCompact')).toHaveLength(1)
    }
  })

  it.each([NaN, undefined, '7', -1, Number.POSITIVE_INFINITY, Promise.resolve(7)])(
    'is refused to be counted by a counter that gives %s',
    async (tokens) => {
      const { client, fetch } = scripted([])
      const agent = compacting('chat', { countTokens: () => tokens as number })
      await expect(execAgent({ agent, prompt: 'Look.', client })).rejects.toMatchObject({
        code: 'INVALID_OPTION',
        message: expect.stringContaining(
          '`compaction.countTokens` of agent "a" to give a finite number >= 0',
        ),
      })
      expect(fetch.requests).toHaveLength(0)
    },
  )
})
