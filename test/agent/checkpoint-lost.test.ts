import { HookDispatcher } from 'hookspan'
import { execAgent, resumeAgent } from 'hookspan/agent'
import { createApprovals, memoryStore } from 'hookspan/approval'
import { expect, it } from 'vitest'
import { shopAgent } from '../support/shop-agent.ts'
import { statelessModel } from '../support/stateless-model.ts'
import { eventsOf } from '../support/told-events.ts'
import { KeptRuns } from './kept-runs.ts'

const ID = 'run-1'

/** Takes a run from the process that has it, as a lease that ran out. */
class LeasedRuns extends KeptRuns {
  #lease = new AbortController()

  override async claim(operationId: string) {
    const claim = await super.claim(operationId)
    return { ...claim, lost: this.#lease.signal }
  }

  takeBack(): void {
    this.#lease.abort()
    this.#lease = new AbortController()
    delete this.runs.get(ID)?.token
  }
}

const client = statelessModel((messages) => {
  const told = messages.filter(({ role }) => role === 'tool').map(({ content }) => String(content))
  return told.length > 0 ? { content: told.join(' | ') } : { calls: [{ id: 'd', name: 'delete', args: {} }] }
})

const agent = {
  name: 'shop',
  model: 'stateless',
  tools: [{ name: 'delete', needsApproval: true, execute: () => 'delete done' }],
}

it('that was lost before it began tells nothing', async () => {
  const store = new LeasedRuns()
  const claim = store.claim.bind(store)
  store.claim = async (operationId) => {
    const claimed = await claim(operationId)
    store.takeBack()
    return claimed
  }
  const dispatcher = new HookDispatcher()
  const events = eventsOf(dispatcher)
  const run = execAgent({ agent, client, dispatcher, prompt: 'go', checkpoint: store, operationId: ID })
  await expect(run).rejects.toMatchObject({ code: 'CHECKPOINT_FAILED', cause: { code: 'STATE_CLAIMED' } })
  expect(events).toEqual([])
})

it.each(['begun', 'gone on with'])(
  'that is lost while it asks leaves the question to who has it now, when it was %s there',
  async (how) => {
    const requests = memoryStore()
    const checkpoint = new LeasedRuns()
    const asks = async (begun: boolean) => {
      const dispatcher = new HookDispatcher()
      const approvals = createApprovals({ store: requests })
      dispatcher.use(approvals)
      const before = (await requests.list()).length
      const shared = { agent, client, dispatcher, checkpoint, operationId: ID }
      const run = begun ? execAgent({ ...shared, prompt: 'go' }) : resumeAgent(shared)
      await expect
        .poll(async () => (await requests.list()).length)
        .toBeGreaterThanOrEqual(Math.max(before, 1))
      return { run, approvals }
    }
    const first = await asks(true)
    checkpoint.takeBack()
    await first.run
    let last = await asks(false)
    if (how === 'gone on with') {
      checkpoint.takeBack()
      await last.run
      last = await asks(false)
    }
    const [record] = await requests.list()
    expect(record).toMatchObject({ status: 'pending' })
    await last.approvals.respond(record?.request.id as string, { decision: 'approve' })
    expect(await last.run).toMatchObject({ reason: 'done', content: 'delete done' })
  },
)

it('begins a sub-agent anew, where its beginning is not kept, as the run that hooks know', async () => {
  const started = (dispatcher: HookDispatcher) => {
    const events = eventsOf(dispatcher)
    return () => events.filter(({ hookType }) => hookType === 'onStart').map(({ operationId }) => operationId)
  }
  const dispatcher = new HookDispatcher()
  const known = started(dispatcher)
  const records: string[] = []
  const store = new KeptRuns()
  store.onAppend = ({ record }) => void records.push(record)
  await execAgent({
    ...shopAgent(async () => {}),
    dispatcher,
    prompt: 'go',
    checkpoint: store,
    operationId: ID,
  })
  expect(known().length).toBeGreaterThan(1)
  let anew = 0
  for (let at = 1; at < records.length; at++) {
    const next = new HookDispatcher()
    const begun = started(next)
    const checkpoint = KeptRuns.after(records.slice(0, at), ID)
    await resumeAgent({ ...shopAgent(async () => {}), dispatcher: next, checkpoint, operationId: ID })
    expect(known()).toEqual(expect.arrayContaining(begun()))
    anew += begun().length
  }
  expect(anew).toBeGreaterThan(0)
})
