/** What gates make of the input of a sub-agent whose process died while they decided. */
import { HookDispatcher } from 'hookspan'
import { type Agent, execAgent, resumeAgent } from 'hookspan/agent'
import { gateAt, mutate } from 'hookspan/gates'
import { expect, it } from 'vitest'
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
