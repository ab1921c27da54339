/** Gates of a run whose process died while they decided. */
import { HookDispatcher } from 'hookspan'
import { type Agent, execAgent, resumeAgent } from 'hookspan/agent'
import { createApprovals, memoryStore } from 'hookspan/approval'
import { gateAt, mutate, requireApproval } from 'hookspan/gates'
import { expect, it, vi } from 'vitest'
import { statelessModel } from '../support/stateless-model.ts'
import { KeptRuns } from './kept-runs.ts'

it('asks a sub-agent for what an `onStart` gate made of it', async () => {
  const instructions: unknown[] = []
  const client = statelessModel((messages, { tools }) => {
    const asked = String(messages[0]?.content)
    if (tools === undefined) {
      instructions.push(asked)
      return { content: 'found' }
    }
    if (messages.some(({ role }) => role === 'tool')) return { content: 'done' }
    return {
      calls: [
        { id: 'c1', name: 'expert', args: { instruction: 'look into secret' } },
        { id: 'c2', name: 'note', args: {} },
      ],
    }
  })
  const expert: Agent = { name: 'expert', model: 'm' }
  const deciding = Promise.withResolvers<void>()
  // So that it is saved while the gates on the sub-agent's input decide.
  const note = { name: 'note', parameters: { type: 'object' }, execute: () => deciding.promise }
  const agent: Agent = { name: 'root', model: 'm', tools: [note], subAgents: [expert] }
  const dispatcherThat = (decides: () => Promise<void>) => {
    const dispatcher = new HookDispatcher()
    const decide = async ({ payload, agentName }: { payload: unknown; agentName?: string }) => {
      if (agentName === 'root') return undefined
      await decides()
      return mutate(String(payload).replace('secret', '***'))
    }
    dispatcher.use({ name: 'guards', gates: [gateAt('onStart', { id: 'guard', decide })] })
    return dispatcher
  }
  const store = new KeptRuns()
  const saved = Promise.withResolvers<string[]>()
  store.onAppend = ({ record }) => {
    if (!record.includes('unadmitted')) return
    const before = [...(store.runs.get('run-1')?.records ?? []), record]
    saved.resolve(before)
  }
  const dying = new AbortController()
  const first = execAgent({
    agent,
    client,
    dispatcher: dispatcherThat(async () => {
      deciding.resolve()
      await saved.promise
      await new Promise(() => {})
    }),
    checkpoint: store,
    operationId: 'run-1',
    prompt: 'go',
    signal: dying.signal,
  })
  const records = await saved.promise
  dying.abort()
  await first
  const run = await resumeAgent({
    agent,
    client,
    dispatcher: dispatcherThat(async () => {}),
    checkpoint: KeptRuns.after(records, 'run-1'),
    operationId: 'run-1',
  })
  expect(run).toMatchObject({ status: 'done', content: 'done' })
  expect(instructions).toEqual(['look into ***'])
})

it.each(['afterLlmCall', 'afterToolCall'] as const)(
  'asks anew about what is made anew where its process died while a human was asked at %s',
  async (point) => {
    const store = memoryStore()
    const kept = new KeptRuns()
    const asked: unknown[] = []
    const agentOf = (life: number): Agent => ({
      name: 'root',
      model: 'm',
      tools: [
        {
          name: 'look',
          parameters: { type: 'object' },
          idempotent: true,
          execute: () => `found in life ${life}`,
        },
      ],
    })
    const processOf = (life: number) => {
      const dispatcher = new HookDispatcher()
      const approvals = createApprovals({ store })
      dispatcher.use(approvals)
      const decide = ({ payload }: { payload: unknown }) => {
        const isReply = point === 'afterLlmCall' && (payload as { content?: string }).content === undefined
        return isReply ? undefined : requireApproval()
      }
      dispatcher.use({ name: 'guards', gates: [gateAt(point, { id: 'guard', decide })] })
      const client = statelessModel((messages) => {
        if (messages.some(({ role }) => role === 'tool')) return { content: `said in life ${life}` }
        return { calls: [{ id: 'c1', name: 'look', args: {} }] }
      })
      return { approvals, given: { agent: agentOf(life), client, dispatcher, priceOf: () => 0 } }
    }
    const pending = async ({ approvals }: ReturnType<typeof processOf>) => {
      const open = async () =>
        (await approvals.list({ status: 'pending' })).find(({ request }) => !asked.includes(request.id))
      await vi.waitFor(async () => expect(await open()).toBeDefined())
      const { request } = (await open()) as { request: { id: string } }
      return request
    }
    const first = processOf(1)
    const options = { checkpoint: kept, operationId: 'run-1' }
    void execAgent({ ...first.given, ...options, prompt: 'go' })
    const question = await pending(first)
    asked.push(question.id)
    const records = [...(kept.runs.get('run-1')?.records ?? [])]

    const second = processOf(2)
    const run = resumeAgent({ ...second.given, ...options, checkpoint: KeptRuns.after(records, 'run-1') })
    const { id } = await pending(second)
    await second.approvals.respond(id, { decision: 'approve', approver: 'ines' })
    expect(await run).toMatchObject({ status: 'done', content: 'said in life 2' })
    expect((await store.list()).map(({ status }) => status).toSorted()).toEqual(['answered', 'cancelled'])
  },
)
