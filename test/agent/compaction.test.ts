import { type Agent, type AgentMessage, execAgent } from 'hookspan/agent'
import { deny, skip } from 'hookspan/gates'
import { describe, expect, it, vi } from 'vitest'
import { cpuMs } from '../support/cpu.ts'
import { recorded, scripted, usage } from '../support/scripted-client.ts'
import { compacting, look, looks } from './compacting.ts'

/** Ids of calls without a result, and of results without a call. */
function unpaired(messages: readonly unknown[]): string[] {
  const calls: string[] = []
  const results: string[] = []
  for (const message of messages as Record<string, never>[]) {
    for (const call of (message.tool_calls ?? []) as { id: string }[]) calls.push(call.id)
    if (message.type === 'function_call') calls.push(message.call_id ?? '')
    if (message.role === 'tool') results.push(message.tool_call_id ?? '')
    if (message.type === 'function_call_output') results.push(message.call_id ?? '')
  }
  return [...calls.filter((id) => !results.includes(id)), ...results.filter((id) => !calls.includes(id))]
}

describe.each(['chat', 'responses'] as const)('compaction over %s', (api) => {
  it('replaces the older part by a summary of the model, and never parts a call from its result', async () => {
    const { client, fetch } = scripted([
      looks('door', 'window'),
      looks('roof', 'cellar'),
      { content: 'They saw a door, a window and a roof.', usage },
      { content: 'All seen.', usage },
    ])
    const { dispatcher, tree, of } = recorded()
    const run = await execAgent({ agent: compacting(api), prompt: 'Look at the house.', client, dispatcher })

    fetch.assertDone()
    const [, , summarising, last] = fetch.requests
    expect(JSON.stringify(summarising?.body)).toContain('Look at the house.')
    expect(JSON.stringify(summarising?.body)).toContain('door: lorem')
    expect(summarising?.body.tools).toBeUndefined()
    const context = last?.messages ?? []
    expect(JSON.stringify(context)).toContain('They saw a door, a window and a roof.')
    expect(JSON.stringify(context)).not.toContain('door: lorem')
    expect(JSON.stringify(context)).toContain('roof: lorem')
    expect(unpaired(context)).toEqual([])
    const shape = context.map((message) => (message as AgentMessage).type ?? (message as AgentMessage).role)
    expect(shape).toEqual(
      api === 'chat'
        ? ['system', 'user', 'assistant', 'tool', 'tool']
        : ['user', 'function_call', 'function_call', 'function_call_output', 'function_call_output'],
    )
    expect(tree.lines()).toEqual([
      'invoke_agent a',
      '  step 0',
      '    chat gpt-4o',
      '    execute_tool look',
      '    execute_tool look',
      '  step 1',
      '    chat gpt-4o',
      '    execute_tool look',
      '    execute_tool look',
      '  compact',
      '    chat gpt-4o',
      '  step 2',
      '    chat gpt-4o',
    ])
    const [after] = of('afterCompact')
    expect(of('beforeCompact')).toMatchObject([
      { messageCount: after?.messagesBefore, tokenCount: after?.tokensBefore },
    ])
    expect(after?.summary).toBe('They saw a door, a window and a roof.')
    expect(after?.tokensAfter).toBeLessThan(after?.tokensBefore ?? 0)
    expect(after?.messagesAfter).toBe(context.length)
    expect(after?.groupId).toMatch(/^cmp_/)
    // What the caller gets is the conversation, not what was sent of it.
    expect(JSON.stringify(run.messages)).toContain('door: lorem')
    expect(JSON.stringify(run.messages)).not.toContain('They saw')
    expect(run).toMatchObject({ content: 'All seen.', steps: 3, usage: { inputTokens: 400 } })
  })

  it('takes the summary of a gate in the place of the model, and leaves all where a gate gives none', async () => {
    for (const result of [{ summary: 'A house was seen.' }, undefined]) {
      const { client, fetch } = scripted([looks('door', 'window'), looks('roof'), { content: 'ok', usage }])
      const { dispatcher } = recorded()
      dispatcher.use({ name: 'g', gates: [{ id: 'g', point: 'beforeCompact', decide: () => skip(result) }] })
      const run = await execAgent({ agent: compacting(api), prompt: 'Look.', client, dispatcher })
      expect(run).toMatchObject({ status: 'done', content: 'ok' })
      const sent = JSON.stringify(fetch.requests.at(-1)?.messages)
      expect([sent.includes('A house was seen.'), sent.includes('door: lorem')]).toEqual([!!result, !result])
    }
  })

  it('changes nothing when the summary fails, is empty or is denied', async () => {
    const failing = [{ error: { status: 500, message: 'no' } }, { content: '  ', usage }]
    for (const summary of [...failing, undefined]) {
      const steps = [looks('door', 'window'), looks('roof')]
      const { client, fetch } = scripted([
        ...steps,
        ...(summary ? [summary] : []),
        { content: 'All seen.', usage },
      ])
      const { dispatcher, of } = recorded()
      if (summary === undefined) {
        dispatcher.use({
          name: 'g',
          gates: [{ id: 'g', point: 'beforeCompact', decide: () => deny('keep all') }],
        })
      }
      const run = await execAgent({ agent: compacting(api), prompt: 'Look.', client, dispatcher })
      expect(run).toMatchObject({ status: 'done', content: 'All seen.' })
      expect(of('onCompactError')).toHaveLength(1)
      expect(JSON.stringify(fetch.requests.at(-1)?.messages)).toContain('door: lorem')
    }
  })
})

describe('compaction of what is over the threshold because of what stays', () => {
  const turns = 6
  /** Instructions of some 2,000 tokens, and a turn of a few for each look. */
  function heavy(name: string): Agent {
    return {
      name,
      model: 'gpt-4o',
      instructions: 'Look around you. '.repeat(500),
      tools: [{ name: 'look', execute: () => 'a door' }],
      compaction: { thresholdTokens: 2_000, keepMessages: 2 },
    }
  }
  /** A model that looks six times, and summarises what it is asked to. */
  function looking(summary: string) {
    let looks = 0
    return scripted((request) => {
      if (JSON.stringify(request.messages).includes('You are given the older part'))
        return { content: summary, usage }
      return looks++ < turns ? looksAt(`place ${looks}`) : { content: 'All seen.', usage }
    })
  }
  const looksAt = (at: string) => ({
    toolCalls: [{ id: `look-${at}`, name: 'look', arguments: { at } }],
    usage,
  })

  it.each([
    ['short', 'A door.', 'afterCompact'],
    ['longer than what it stands for', 'A door. '.repeat(200), 'onCompactError'],
    ['empty', ' ', 'onCompactError'],
  ] as const)('is not paid for turn by turn when the summary is %s', async (name, summary, told) => {
    const { client } = looking(summary)
    const { dispatcher, of } = recorded()
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    const agent = heavy(`heavy, ${name}`)

    for (const run of [1, 2]) {
      const ended = await execAgent({
        agent,
        prompt: 'Look.',
        client: run === 1 ? client : looking(summary).client,
        dispatcher,
      })
      expect(ended).toMatchObject({ status: 'done', content: 'All seen.', steps: turns + 1 })
    }

    expect(of('beforeCompact')).toHaveLength(2)
    expect(of(told)).toHaveLength(2)
    for (const { tokensBefore, tokensAfter } of of('afterCompact')) {
      expect(tokensAfter).toBeLessThan(tokensBefore * 0.99)
    }
    const said = warn.mock.calls.filter(([text]) => String(text).includes('keepMessages'))
    expect(said).toEqual([
      [expect.stringMatching(/"heavy, .*over `compaction.thresholdTokens` \(2000\) by itself/)],
    ])
    warn.mockRestore()
  })

  it('is tried again once the conversation has grown by half', async () => {
    let at = 0
    const { client } = scripted((request) => {
      if (JSON.stringify(request.messages).includes('You are given the older part'))
        return { content: 'Doors.', usage }
      return at++ < 8 ? looksAt(`${at}`) : { content: 'All seen.', usage }
    })
    const { dispatcher, of } = recorded()
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    const agent: Agent = { ...heavy('growing'), tools: [look] }

    await execAgent({ agent, prompt: 'Look.', client, dispatcher })

    const sizes = of('afterCompact').map(
      ({ tokensBefore, tokensAfter }) => [tokensBefore, tokensAfter] as const,
    )
    expect(sizes.length).toBeGreaterThan(1)
    for (const [index, [before]] of sizes.entries()) {
      if (index > 0) expect(before).toBeGreaterThanOrEqual((sizes[index - 1]?.[1] ?? 0) * 1.5)
    }
    warn.mockRestore()
  })

  it('does not hold off a compaction whose model failed: it is tried at the next turn', async () => {
    const { client } = scripted([
      looks('door', 'window'),
      looks('roof', 'cellar'),
      { error: { status: 500, message: 'busy' } },
      looks('attic'),
      { content: 'They saw a house.', usage },
      { content: 'All seen.', usage },
    ])
    const { dispatcher, of } = recorded()
    await execAgent({ agent: compacting('chat'), prompt: 'Look.', client, dispatcher })
    expect([of('onCompactError').length, of('afterCompact').length]).toEqual([1, 1])
  })
})

describe('compaction', () => {
  it('is not due below the threshold, nor where there is nothing to summarise', async () => {
    for (const compaction of [{ thresholdTokens: 100_000 }, { thresholdTokens: 10, keepMessages: 50 }]) {
      const { client } = scripted([looks('door'), { content: 'ok', usage }])
      const { dispatcher, of } = recorded()
      await execAgent({ agent: compacting('chat', compaction), prompt: 'Look.', client, dispatcher })
      expect(of('beforeCompact')).toHaveLength(0)
    }
  })

  it('counts texts that look like special tokens, and endless words, with little work', async () => {
    const text = `<|endoftext|> ${'a'.repeat(300_000)}`
    const { client } = scripted([{ content: 'ok', usage }])
    const spent = await cpuMs(async () => {
      const run = await execAgent({ agent: compacting('chat', { keepMessages: 9 }), prompt: text, client })
      expect(run.status).toBe('done')
    })
    expect(spent).toBeLessThan(20_000)
  })

  it('takes a counter, instructions and a model of the user', async () => {
    const { client, fetch } = scripted([
      looks('door', 'window'),
      looks('roof'),
      { content: 'short', usage },
      { content: 'ok', usage },
    ])
    const compaction = {
      countTokens: (text: string) => text.length,
      instructions: 'Be short.',
      model: 'gpt-4o-mini',
      thresholdTokens: 3_000,
    }
    await execAgent({ agent: compacting('chat', compaction), prompt: 'Look.', client })
    expect(fetch.requests[2]?.body).toMatchObject({
      model: 'gpt-4o-mini',
      messages: [{ role: 'system', content: 'Be short.' }, { role: 'user' }],
    })
  })

  it('counts as gpt-tokenizer does', async () => {
    const { countTokens } = await import('gpt-tokenizer')
    const { client } = scripted([looks('door'), { content: 'sum', usage }, { content: 'ok', usage }])
    const { dispatcher, of } = recorded()
    const agent = {
      ...compacting('chat', { thresholdTokens: 1, keepMessages: 1 }),
      tools: [],
      instructions: undefined as never,
    }
    const messages = [
      { role: 'user', content: 'first' },
      { role: 'assistant', content: 'second' },
      { role: 'user', content: 'third' },
    ]
    await execAgent({ agent, messages, client, dispatcher }).catch(() => {})
    const counted = messages.map(({ role, content }) => countTokens(`${role}: ${content}`) + 4)
    expect(of('beforeCompact')[0]).toMatchObject({
      messageCount: 3,
      tokenCount: counted.reduce((a, b) => a + b),
    })
  })
})
