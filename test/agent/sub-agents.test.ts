import { type Agent, type AgentTool, execAgent } from 'hookspan/agent'
import {
  type Decision,
  deny,
  type Gate,
  type GateContext,
  type GatePoint,
  mutate,
  skip,
} from 'hookspan/gates'
import { describe, expect, it } from 'vitest'
import { recorded, scripted, usage } from '../support/scripted-client.ts'

const search: AgentTool = { name: 'search', execute: () => 'found', needsApproval: true }
const researcher: Agent = {
  name: 'researcher',
  description: 'Finds things out.',
  model: 'gpt-4o-mini',
  tools: [search],
}
const boss: Agent = {
  name: 'boss',
  model: 'gpt-4o',
  tools: [{ name: 'search', execute: () => 'own', needsApproval: true }],
  subAgents: [researcher],
}

const delegate = (...instructions: string[]) => ({
  toolCalls: instructions.map((instruction, i) => ({
    id: `d${i}`,
    name: 'researcher',
    arguments: { instruction },
  })),
  usage,
})
const searches = { toolCalls: [{ id: 's', name: 'search' }], usage }

describe('a sub-agent', () => {
  it('runs below its tool call, with the hooks, the approver and the text listener of its caller', async () => {
    const { client, fetch } = scripted([
      delegate('Find it.'),
      searches,
      { content: 'It is there.', usage },
      { content: 'Done.', usage },
    ])
    const { dispatcher, tree, of } = recorded()
    const asked: unknown[] = []
    const texts: string[] = []
    const run = await execAgent({
      agent: { ...boss, subAgents: [{ ...researcher, stream: true }] },
      prompt: 'go',
      client,
      dispatcher,
      approver: async (request) => {
        asked.push(`${request.agentName} ${request.apiName}`)
        return { decision: 'approve' }
      },
      onText: (text, { agentName }) => void texts.push(`${agentName}: ${text}`),
    })

    fetch.assertDone()
    expect(tree.lines()).toEqual([
      'invoke_agent boss',
      '  step 0',
      '    chat gpt-4o',
      '    execute_tool researcher',
      '      agent',
      '        invoke_agent researcher',
      '          step 0',
      '            chat gpt-4o-mini',
      '            execute_tool search',
      '              human',
      '          step 1',
      '            chat gpt-4o-mini',
      '  step 1',
      '    chat gpt-4o',
    ])
    // Once: the caller's tool of the same name needs an approval, too, but it is not the one that is called.
    expect(asked).toEqual(['researcher search'])
    expect(texts.join('')).toContain('researcher: ')
    expect(of('beforeToolCall')[0]).toMatchObject({
      apiName: 'researcher',
      source: 'agent',
      args: { instruction: 'Find it.' },
    })
    expect(of('beforeCallAgent')).toMatchObject([{ agentName: 'researcher', instruction: 'Find it.' }])
    const [called] = of('afterCallAgent')
    expect(called).toMatchObject({ success: true, content: 'It is there.', usage: { inputTokens: 200 } })
    expect(called?.subOperationId).toBe(of('onComplete')[0]?.operationId)
    expect(of('onStart')[1]).toMatchObject({
      parentOperationId: run.operationId,
      rootOperationId: run.operationId,
    })
    expect(run).toMatchObject({ content: 'Done.', steps: 2, usage: { inputTokens: 400, outputTokens: 40 } })
    expect(run.messages.at(-2)).toMatchObject({ role: 'tool', content: 'It is there.' })
    expect(fetch.requests[1]?.messages).toEqual([{ role: 'user', content: 'Find it.' }])
    expect(fetch.requests[0]?.body.tools).toMatchObject([
      { function: { name: 'search' } },
      { function: { name: 'researcher', description: 'Finds things out.' } },
    ])
  })

  it('runs several times at once', async () => {
    const { client } = scripted((request) => {
      const asked = JSON.stringify(request.messages)
      if (request.body.model === 'gpt-4o-mini')
        return { content: `answer to ${/"content":"(q\d)"/.exec(asked)?.[1]}`, usage }
      return asked.includes('answer to') ? { content: 'all', usage } : delegate('q1', 'q2', 'q3')
    })
    const { dispatcher, tree } = recorded()
    const run = await execAgent({ agent: boss, prompt: 'go', client, dispatcher })
    const told = run.messages.filter((message) => message.role === 'tool').map((message) => message.content)
    expect(told).toEqual(['answer to q1', 'answer to q2', 'answer to q3'])
    expect(tree.lines().filter((line) => line.includes('invoke_agent researcher'))).toHaveLength(3)
    expect(tree.lines().join()).not.toContain('!ended')
  })

  it("is subject to its caller's gates, as a tool and as an agent", async () => {
    const gates = [
      {
        id: 'g',
        point: 'beforeToolCall' as const,
        decide: ({ apiName }: { apiName?: string }) =>
          apiName === 'search' ? deny('no searching') : undefined,
      },
    ]
    const { client, fetch } = scripted([
      delegate('x'),
      searches,
      { content: 'I was not let.' },
      { content: 'ok' },
    ])
    const { dispatcher } = recorded()
    dispatcher.use({ name: 'g', gates })
    await execAgent({ agent: boss, prompt: 'go', client, dispatcher })
    expect(JSON.stringify(fetch.requests[2]?.messages)).toContain('no searching')

    const second = recorded()
    second.dispatcher.use({
      name: 'h',
      gates: [{ id: 'h', point: 'beforeCallAgent', decide: () => mutate('Find it slowly.') }],
    })
    const again = scripted([delegate('Find it.'), { content: 'found' }, { content: 'ok' }])
    await execAgent({ agent: boss, prompt: 'go', client: again.client, dispatcher: second.dispatcher })
    expect(again.fetch.requests[1]?.messages).toEqual([{ role: 'user', content: 'Find it slowly.' }])

    const third = recorded()
    third.dispatcher.use({
      name: 'i',
      gates: [{ id: 'i', point: 'beforeCallAgent', decide: () => deny('alone') }],
    })
    const last = scripted([delegate('Find it.'), { content: 'ok' }])
    const run = await execAgent({
      agent: boss,
      prompt: 'go',
      client: last.client,
      dispatcher: third.dispatcher,
    })
    expect(run.messages.at(-2)).toMatchObject({
      content: '{"denied":true,"code":"policy_denied","reason":"alone"}',
    })
    expect(third.of('afterToolCall')).toMatchObject([{ apiName: 'researcher', outcome: 'denied' }])
    expect(third.of('onCallAgentError')).toHaveLength(1)
    expect(third.of('afterCallAgent')).toHaveLength(0)
  })

  it('is told of in words where a gate answers in its place, or refuses its run', async () => {
    const told = async (point: GatePoint, decision: Decision) => {
      const { client } = scripted([delegate('Find it.'), { content: 'ok' }])
      const { dispatcher } = recorded()
      const decide = (ctx: GateContext) =>
        ctx.agentName === 'boss' && point === 'onStart' ? undefined : decision
      dispatcher.use({ name: 'g', gates: [{ id: 'g', point, decide }] })
      const run = await execAgent({ agent: boss, prompt: 'go', client, dispatcher })
      return (run.messages.at(-2) as { content: string }).content
    }
    expect(await told('beforeCallAgent', skip('It is in the drawer.'))).toBe('It is in the drawer.')
    expect(await told('onStart', deny('closed on Sundays'))).toContain('closed on Sundays')
  })

  it('that fails, or has no instruction, is an error of its tool, and the caller goes on', async () => {
    const { client } = scripted([
      { toolCalls: [{ id: 'a', name: 'researcher', arguments: { question: 'x' } }] },
      delegate('x'),
      { error: { status: 500, message: 'broken' } },
      { content: 'went on' },
    ])
    const { dispatcher, of, tree } = recorded()
    const run = await execAgent({ agent: boss, prompt: 'go', client, dispatcher })
    expect(run).toMatchObject({ status: 'done', content: 'went on' })
    const told = run.messages.filter((message) => message.role === 'tool').map((message) => message.content)
    expect(told[0]).toContain('needs an `instruction`')
    expect(told[1]).toMatch(/Error: Agent "researcher" did not finish \(error\): 500 broken/)
    const why = { errorType: '500', errorMessage: expect.stringContaining('broken') }
    expect(of('afterCallAgent')).toMatchObject([
      { success: false, agentName: 'researcher', callerName: 'boss', reason: 'error', ...why },
    ])
    expect(of('onCallAgentError')).toMatchObject([
      { agentName: 'researcher', callerName: 'boss', error: expect.any(Error), ...why },
    ])
    expect(of('onToolCallError')).toHaveLength(2)
    expect(tree.lines().join()).not.toContain('!ended')
  })

  it('that was stopped, or came to a limit, tells its caller which, and what it cost', async () => {
    const cases: [Partial<Agent>, Gate[], object][] = [
      [
        { maxSteps: 1, tools: [search] },
        [],
        {
          reason: 'max_steps',
          errorType: 'max_steps',
          errorMessage: expect.stringContaining('did not finish'),
        },
      ],
      [
        {},
        [
          {
            id: 'g',
            point: 'afterStep',
            decide: ({ agentName }) =>
              agentName === 'researcher' ? deny('enough', { code: 'too_much', stop: true }) : undefined,
          },
        ],
        { reason: 'denied', errorType: 'too_much', errorMessage: 'enough' },
      ],
    ]
    for (const [more, gates, why] of cases) {
      const { client } = scripted([delegate('x'), searches, { content: 'went on', usage }])
      const { dispatcher, of } = recorded()
      const researcher: Agent = { name: 'researcher', model: 'gpt-4o-mini', tools: [search], ...more }
      const agent: Agent = { name: 'boss', model: 'gpt-4o', subAgents: [researcher], gates }
      await execAgent({ agent, prompt: 'go', client, dispatcher, priceOf: () => 0.25 })
      expect(of('afterCallAgent')).toMatchObject([
        { success: false, callerName: 'boss', costUsd: 0.25, ...why },
      ])
      const { reason: _reason, ...failure } = why as { reason: string }
      expect(of('onCallAgentError')).toMatchObject([failure])
      const types = of('onToolCallError').map(({ apiName }) => apiName)
      expect(types).toContain('researcher')
    }
  })

  it('ends with its caller when that is aborted', async () => {
    const { client, fetch } = scripted([delegate('x'), { content: 'late', latencyMs: 10_000 }])
    const { dispatcher, of, tree } = recorded()
    const controller = new AbortController()
    const { signal } = controller
    const running = execAgent({ agent: boss, prompt: 'go', client, dispatcher, signal })
    await expect.poll(() => fetch.requests).toHaveLength(2)
    controller.abort()
    const run = await running
    await expect.poll(() => of('onComplete')).toHaveLength(2)
    expect(run.reason).toBe('interrupted')
    expect(of('onComplete').map((event) => event.reason)).toEqual(['interrupted', 'interrupted'])
    expect(tree.lines().join()).not.toContain('!ended')
  })

  it('that calls itself comes to an end', async () => {
    const self: Agent = { name: 'researcher', model: 'gpt-4o' }
    self.subAgents = [self]
    const { client } = scripted((request) =>
      request.messages.length > 1 ? { content: 'up' } : delegate('deeper'),
    )
    const { dispatcher, of } = recorded()
    const run = await execAgent({ agent: self, prompt: 'go', client, dispatcher })
    expect(run.content).toBe('up')
    expect(of('onStart')).toHaveLength(16)
    expect(of('onCallAgentError')).toMatchObject([{ errorMessage: expect.stringContaining('16 deep') }])
  })
})
