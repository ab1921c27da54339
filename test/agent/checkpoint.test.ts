import { HookDispatcher } from 'hookspan'
import {
  type Agent,
  type AgentRun,
  discardRun,
  type ExecAgentOptions,
  execAgent,
  resumeAgent,
  unfinishedRuns,
} from 'hookspan/agent'
import { createApprovals, memoryStore } from 'hookspan/approval'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { shopAgent } from '../support/shop-agent.ts'
import { statelessModel } from '../support/stateless-model.ts'
import { eventsOf } from '../support/told-events.ts'
import { KeptRuns } from './kept-runs.ts'

const ID = 'run-1'

/** What tools did, over all processes: the name and the key of each call. */
interface Ran {
  readonly name: string
  readonly key: string
}

const shop = (ran: Ran[]) =>
  shopAgent(async (name, key) => {
    ran.push({ name, key })
    await new Promise((resolve) => setImmediate(resolve))
  })

/** A run that nothing interrupts: its records, and what tools had done when each of them was to be written. */
async function whole() {
  const ran: Ran[] = []
  const store = new KeptRuns()
  const records: string[] = []
  const ranBefore: Ran[][] = []
  store.onAppend = ({ record }) => {
    records.push(record)
    ranBefore.push([...ran])
  }
  const run = await execAgent({ ...shop(ran), prompt: 'go', checkpoint: store, operationId: ID })
  ranBefore.push([...ran])
  return { run, ran, store, records, ranBefore }
}

const died = 'process ended while the tool was running'

/** A model that wants to pay once, and then says what it was told. */
const payingOnce = () =>
  statelessModel((messages) => {
    const told = messages.find(({ role }) => role === 'tool')
    return told === undefined
      ? { calls: [{ id: 'c', name: 'pay', args: {} }] }
      : { content: `${told.content}` }
  })

describe('a run with checkpoints', () => {
  it('is saved on its way, and forgotten when it has ended', async () => {
    const { run, ran, store, records } = await whole()
    expect(run).toMatchObject({ status: 'done', operationId: ID, steps: 3 })
    expect(ran.map(({ name }) => name).sort()).toEqual(['look', 'note', 'pay', 'pay', 'pay'])
    expect(records.length).toBeGreaterThan(6)
    expect(store.runs.size).toBe(0)
  })

  it('goes on from each of its records, whatever its tools did since, and runs none twice that may not be', async () => {
    const { records, ranBefore } = await whole()
    const contents = new Set<string>()
    for (let at = 1; at <= records.length; at++) {
      // The process died before the next record, after all that came before that.
      const ran = [...(ranBefore[at] as Ran[])]
      const store = KeptRuns.after(records.slice(0, at), ID)
      const dispatcher = new HookDispatcher()
      const events = eventsOf(dispatcher)
      const run = await resumeAgent({ ...shop(ran), checkpoint: store, operationId: ID, dispatcher })
      const where = `after record ${at} of ${records.length}`
      expect([where, run.status, run.steps]).toEqual([where, 'done', 3])
      const keys = ran.map(({ name, key }) => `${name} ${key}`)
      const twice = ran.filter(({ name, key }, i) => keys.indexOf(`${name} ${key}`) !== i)
      expect([where, twice.filter(({ name }) => name !== 'look')]).toEqual([where, []])
      expect([where, ran.filter(({ name }) => name === 'pay').length <= 3]).toEqual([where, true])
      const own = events.filter(({ operationId }) => operationId === ID).map(({ sequence }) => sequence)
      expect([where, own.filter((sequence, i) => i > 0 && sequence <= (own[i - 1] as number))]).toEqual([
        where,
        [],
      ])
      expect(
        events.filter(({ hookType, operationId }) => hookType === 'onComplete' && operationId === ID),
      ).toHaveLength(1)
      expect(store.runs.size).toBe(0)
      contents.add(run.content)
    }
    // Where a tool was at work, the model was told so; where it was not, the run came out as ever.
    expect([...contents].some((content) => content.includes(died))).toBe(true)
    expect(contents).toContain('pay done | pay done | look done | noted: note done | pay done')
  })

  it('pays for no summary twice whose process dies while the model is asked what comes next', async () => {
    const looks = (messages: readonly { role: string; content?: unknown }[]) =>
      messages.reduce((sum, { role, content }) => {
        const [, before = 0] = /summed up (\d+)/.exec(String(content)) ?? []
        return sum + Number(before) + (role === 'tool' ? 1 : 0)
      }, 0)
    let summaries = 0
    const says = statelessModel((messages) => {
      // Who summarises is asked about a conversation that is written as one text.
      const tools = String(messages[1]?.content).match(/^tool: /gm)?.length
      if (tools === undefined && looks(messages) === 6) return { content: 'enough' }
      if (tools === undefined) return { calls: [{ id: `l${looks(messages)}`, name: 'look', args: {} }] }
      summaries++
      return { content: `summed up ${tools + looks(messages)}` }
    })
    const compaction = { thresholdTokens: 30, keepMessages: 2, countTokens: () => 1 }
    const tools = [{ name: 'look', execute: () => 'seen' }]
    const agent = { name: 'shop', model: 'stateless', tools, compaction }
    const options = { agent, client: says, priceOf: () => 0, operationId: ID }
    await execAgent({ ...options, prompt: 'go' })
    const whole = summaries
    expect(whole).toBeGreaterThan(0)

    summaries = 0
    const store = new KeptRuns()
    const records: string[] = []
    store.onAppend = ({ record }) => void records.push(record)
    const died = Promise.withResolvers<void>()
    const create = async (body: never) => {
      if (summaries === 0) return says.chat.completions.create(body)
      died.resolve()
      return new Promise(() => {})
    }
    const client = { baseURL: says.baseURL, chat: { completions: { create } } } as unknown as typeof says
    void execAgent({ ...options, client, prompt: 'go', checkpoint: store })
    await died.promise
    await new Promise((resolve) => setImmediate(resolve))
    await resumeAgent({ ...options, checkpoint: KeptRuns.after(records, ID) })

    expect(summaries).toBe(whole)
  })

  it('asks an idempotent tool again with the same key, and says of another that nobody knows', async () => {
    for (const idempotent of [true, false]) {
      const ran: Ran[] = []
      const store = new KeptRuns()
      const { agent, client, priceOf } = shop(ran)
      const stuck: Agent = {
        ...agent,
        subAgents: [],
        tools: [
          {
            name: 'pay',
            idempotent,
            execute: (_args, { idempotencyKey: key }) => {
              ran.push({ name: 'pay', key })
              return ran.length === 1 ? new Promise(() => {}) : 'paid'
            },
          },
        ],
      }
      const one = statelessModel((messages) => {
        const told = messages.filter(({ role }) => role === 'tool').map(({ content }) => String(content))
        return told.length > 0 ? { content: told.join() } : { calls: [{ id: 'p', name: 'pay', args: {} }] }
      })
      void client
      void execAgent({ agent: stuck, client: one, priceOf, prompt: 'go', checkpoint: store, operationId: ID })
      await expect.poll(() => ran.length).toBe(1)
      const other = KeptRuns.after(store.runs.get(ID)?.records ?? [], ID)
      const run = await resumeAgent({
        agent: stuck,
        client: one,
        priceOf,
        checkpoint: other,
        operationId: ID,
      })
      if (idempotent) {
        expect(ran.map(({ key }) => key)).toEqual(['run-1:call-1', 'run-1:call-1'])
        expect(run.content).toBe('paid')
      } else {
        expect(ran).toHaveLength(1)
        expect(run.content).toContain('execution_unknown')
      }
    }
  })

  it('runs no tool again that has become idempotent since: what it did then, it did without the key', async () => {
    const store = new KeptRuns()
    const ran: boolean[] = []
    const options = (idempotent: boolean) => ({
      agent: {
        name: 'shop',
        model: 'stateless',
        tools: [
          { name: 'pay', idempotent, execute: () => ran.push(idempotent) > 1 || new Promise(() => {}) },
        ],
      },
      client: statelessModel((messages) => {
        const told = messages.find(({ role }) => role === 'tool')
        return told ? { content: String(told.content) } : { calls: [{ id: 'p', name: 'pay', args: {} }] }
      }),
      priceOf: () => 0,
      operationId: ID,
    })
    void execAgent({ ...options(false), prompt: 'go', checkpoint: store })
    await expect.poll(() => ran).toEqual([false])
    const checkpoint = KeptRuns.after(store.runs.get(ID)?.records ?? [], ID)
    expect((await resumeAgent({ ...options(true), checkpoint })).content).toContain(died)
    expect(ran).toEqual([false])
  })

  it('writes what is new: as much for the last step as for the first, however long the run is', async () => {
    const store = new KeptRuns()
    const bytes: number[] = []
    store.onAppend = ({ record, about }) => void bytes.push(record.length + about.length)
    const text = 'x'.repeat(2_000)
    const steps = 100
    const agent: Agent = {
      name: 'a',
      model: 'm',
      maxSteps: steps + 1,
      tools: [{ name: 'read', execute: () => text }],
    }
    const client = statelessModel((messages) => {
      const told = messages.filter(({ role }) => role === 'tool').length
      const id = `c${String(told).padStart(3, '0')}`
      return told < steps ? { calls: [{ id, name: 'read', args: {} }] } : { content: 'done' }
    })
    const run = await execAgent({ agent, client, prompt: 'go', checkpoint: store, priceOf: () => 0 })
    expect(run).toMatchObject({ status: 'done', steps: steps + 1 })
    expect(JSON.stringify(run.messages).length).toBeGreaterThan(200_000)
    // The first, then two for each step: before its tool, and when it has ended.
    expect(bytes).toHaveLength(1 + 2 * steps + 1)
    const perStep = Array.from({ length: steps }, (_, i) => (bytes[1 + 2 * i] ?? 0) + (bytes[2 + 2 * i] ?? 0))
    const [first = 0, ...others] = perStep.slice(1)
    // Counts, sums and durations have more digits, and that is all; one more message would be 2,000.
    expect(Math.max(...others)).toBeLessThan(first + 500)
    expect(first).toBeLessThan(text.length + 3_500)
  })

  it('is gone on with by one at a time, and not begun a second time', async () => {
    const { records } = await whole()
    const store = KeptRuns.after(records.slice(0, 1), ID)
    const ran: Ran[] = []
    const again = () => resumeAgent({ ...shop(ran), checkpoint: store, operationId: ID })
    const [one, two] = await Promise.allSettled([again(), again()])
    expect([one, two].map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    const refused = [one, two].find(({ status }) => status === 'rejected') as PromiseRejectedResult
    expect(refused.reason).toMatchObject({ code: 'STATE_CLAIMED' })
    expect(ran.filter(({ name }) => name === 'pay')).toHaveLength(3)
    await expect(again()).rejects.toMatchObject({
      code: 'INVALID_STATE',
      message: /is not in the checkpoints/,
    })

    const unfinished = KeptRuns.after(records.slice(0, 2), ID)
    const anew = execAgent({ ...shop(ran), prompt: 'go', checkpoint: unfinished, operationId: ID })
    await expect(anew).rejects.toMatchObject({ code: 'INVALID_STATE', message: /has not ended/ })
    expect(unfinished.runs.get(ID)).toMatchObject({ records: { length: 2 } })
    await discardRun(unfinished, ID)
    expect(unfinished.runs.size).toBe(0)
    await expect(discardRun(unfinished, ID)).rejects.toMatchObject({ code: 'INVALID_STATE' })
  })

  it('runs no tool of which it could not be written down before, fails, and can be gone on with', async () => {
    const ran: Ran[] = []
    const store = new KeptRuns()
    store.onAppend = (_write, number) => {
      if (number === 1) throw new Error('database or disk is full')
    }
    const run = await execAgent({ ...shop(ran), prompt: 'go', checkpoint: store, operationId: ID })
    expect(ran).toEqual([])
    expect(run).toMatchObject({ status: 'error', error: { code: 'CHECKPOINT_FAILED' } })
    expect(String(run.error)).toContain('disk is full')
    store.onAppend = () => {}
    const rest = await resumeAgent({ ...shop(ran), checkpoint: store, operationId: ID })
    expect(rest.content).toBe('pay done | pay done | look done | noted: note done | pay done')
    expect(ran).toHaveLength(5)
  })

  it.each([false, true])(
    'runs what a human approved once the store is mended that failed before the tool (idempotent: %s)',
    async (idempotent) => {
      const store = new KeptRuns()
      const approvals = createApprovals({ store: memoryStore() })
      onTestFinished(() => approvals.close())
      let ran = 0
      const pay = { name: 'pay', needsApproval: true, idempotent, execute: () => `paid ${++ran}` }
      const client = payingOnce()
      const shared = { agent: { name: 'a', model: 'm', tools: [pay] }, client, priceOf: () => 0 }
      const plugged = () => {
        const dispatcher = new HookDispatcher()
        dispatcher.use(approvals)
        return { ...shared, checkpoint: store, operationId: ID, dispatcher }
      }
      const run = execAgent({ ...plugged(), prompt: 'go' })
      await vi.waitFor(async () => expect(await approvals.list({ status: 'pending' })).toHaveLength(1))
      store.onAppend = () => {
        throw new Error('database or disk is full')
      }
      const [asked] = await approvals.list()
      await approvals.respond(asked?.request.id as string, { decision: 'approve' })
      expect(await run).toMatchObject({ status: 'error', error: { code: 'CHECKPOINT_FAILED' } })
      expect(ran).toBe(0)
      store.onAppend = () => {}
      expect(await resumeAgent(plugged())).toMatchObject({ status: 'done', content: 'paid 1' })
      expect(ran).toBe(1)
      expect(await approvals.list()).toMatchObject([{ status: 'answered', execution: 'settled' }])
    },
  )

  it('claims the answer for a tool that is run again, where its process died before it could', async () => {
    const store = new KeptRuns()
    const memory = memoryStore()
    const approvals = createApprovals({ store: memory })
    onTestFinished(() => approvals.close())
    let ran = 0
    const pay = { name: 'pay', needsApproval: true, idempotent: true, execute: () => `paid ${++ran}` }
    const client = payingOnce()
    const shared = { agent: { name: 'a', model: 'm', tools: [pay] }, client, priceOf: () => 0 }
    const plugged = () => {
      const dispatcher = new HookDispatcher()
      dispatcher.use(approvals)
      return { ...shared, operationId: ID, dispatcher }
    }
    const { claim } = memory
    const reached = Promise.withResolvers<void>()
    const died = Promise.withResolvers<never>()
    memory.claim = () => {
      reached.resolve()
      return died.promise
    }
    void execAgent({ ...plugged(), checkpoint: store, prompt: 'go' })
    await vi.waitFor(async () => expect(await approvals.list({ status: 'pending' })).toHaveLength(1))
    const [asked] = await approvals.list()
    await approvals.respond(asked?.request.id as string, { decision: 'approve' })
    await reached.promise
    memory.claim = claim
    const left = KeptRuns.after(store.runs.get(ID)?.records ?? [], ID)
    const rest = await resumeAgent({ ...plugged(), checkpoint: left })
    expect(rest).toMatchObject({ status: 'done', content: 'paid 1' })
    expect(await approvals.list()).toMatchObject([{ status: 'answered', execution: 'settled' }])
    died.reject(new Error('died'))
  })

  it('gives its result, and says so, when the store fails at its end', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    const store = new KeptRuns()
    store.release = async () => {
      throw new Error('gone')
    }
    const run = await execAgent({ ...shop([]), prompt: 'go', checkpoint: store, operationId: ID })
    expect(run.status).toBe('done')
    expect(warn).toHaveBeenCalledWith(expect.stringContaining('has ended and could not be forgotten'))
    warn.mockRestore()
    // Nothing of it is left to be done.
    const kept = KeptRuns.after(store.runs.get(ID)?.records ?? [], ID)
    const ran: Ran[] = []
    const again = await resumeAgent({ ...shop(ran), checkpoint: kept, operationId: ID })
    expect(again).toMatchObject({ status: 'done', content: run.content, steps: 3 })
    expect(ran).toEqual([])
  })

  it('is kept when it failed or was aborted, and listed with why', async () => {
    const store = new KeptRuns()
    const { agent, priceOf } = shop([])
    let down = true
    const client = statelessModel(() => {
      if (down) throw new Error('model is down')
      return { content: 'here' }
    })
    const asked: ExecAgentOptions = { agent, client, priceOf, prompt: 'go', checkpoint: store }
    expect(await execAgent({ ...asked, operationId: 'failed' })).toMatchObject({ status: 'error' })
    const aborted = { ...asked, operationId: 'aborted', signal: AbortSignal.abort() }
    expect(await execAgent(aborted)).toMatchObject({ status: 'interrupted' })
    expect(await unfinishedRuns(store)).toMatchObject([
      { operationId: 'failed', state: 'failed', agentName: 'shop', steps: 0, error: expect.any(String) },
      { operationId: 'aborted', state: 'interrupted' },
    ])
    down = false
    for (const operationId of ['failed', 'aborted']) {
      const run = await resumeAgent({ agent, client, priceOf, checkpoint: store, operationId })
      expect(run).toMatchObject({ status: 'done', content: 'here', operationId })
    }
    expect(await unfinishedRuns(store)).toEqual([])
  })

  it('that waits for a human goes on from the store, by its id or its state, and not beside it', async () => {
    const store = new KeptRuns()
    const approvals = createApprovals({ store: memoryStore(), mode: 'park' })
    const dispatcher = new HookDispatcher()
    dispatcher.use(approvals)
    const { agent, client, priceOf } = shop([])
    const guarded: Agent = {
      ...agent,
      tools:
        agent.tools?.map((tool) => (tool.name === 'pay' ? { ...tool, needsApproval: true } : tool)) ?? [],
    }
    const asked = { agent: guarded, client, priceOf, dispatcher }
    let run: AgentRun = await execAgent({ ...asked, prompt: 'go', checkpoint: store, operationId: ID })
    expect(run.pendingApprovals).toHaveLength(2)
    expect(await unfinishedRuns(store)).toMatchObject([{ state: 'waiting_for_human', operationId: ID }])
    const state = JSON.stringify(run.state)
    await expect(resumeAgent({ ...asked, state })).rejects.toMatchObject({ code: 'INVALID_OPTION' })
    for (let times = 0; run.status === 'waiting_for_human' && times < 3; times++) {
      for (const { request } of await approvals.list({ status: 'pending' })) {
        await approvals.respond(request.id, { decision: 'approve' })
      }
      const which = times === 0 ? { state } : { operationId: ID }
      run = await resumeAgent({ ...asked, checkpoint: store, ...which })
    }
    expect(run.content).toBe('pay done | pay done | look done | noted: note done | pay done')
    await expect(resumeAgent({ ...asked, checkpoint: store, state })).rejects.toMatchObject({
      code: 'INVALID_STATE',
    })
  })

  it('asks a human the same question again, whoever died while it was open', async () => {
    const approvals = createApprovals({ store: memoryStore(), pollMs: 5 })
    const ran: Ran[] = []
    const { agent, client, priceOf } = shop(ran)
    const guarded: Agent = {
      ...agent,
      tools:
        agent.tools?.map((tool) => (tool.name === 'pay' ? { ...tool, needsApproval: true } : tool)) ?? [],
    }
    const store = new KeptRuns()
    const processOf = () => {
      const dispatcher = new HookDispatcher()
      dispatcher.use(approvals)
      return { agent: guarded, client, priceOf, dispatcher }
    }
    void execAgent({ ...processOf(), prompt: 'go', checkpoint: store, operationId: ID })
    await expect.poll(async () => (await approvals.list({ status: 'pending' })).length).toBe(2)
    await expect.poll(() => ran.map(({ name }) => name).sort()).toEqual(['look', 'note'])
    const ids = (await approvals.list()).map(({ request }) => request.id)
    const other = KeptRuns.after(store.runs.get(ID)?.records ?? [], ID)
    const rest = resumeAgent({ ...processOf(), checkpoint: other, operationId: ID })
    // The answer to what the first process asked is the answer to what the second one asks.
    for (const id of ids) await approvals.respond(id, { decision: 'reject', reason: 'no' })
    await expect.poll(async () => (await approvals.list({ status: 'pending' })).length).toBe(1)
    expect((await approvals.list()).map(({ request }) => request.id).slice(0, 2)).toEqual(ids)
    for (const { request } of await approvals.list({ status: 'pending' })) {
      await approvals.respond(request.id, { decision: 'reject', reason: 'no' })
    }
    expect((await rest).status).toBe('done')
    await approvals.close()
  })

  it('passes on what a tool yields on its way', async () => {
    const agent: Agent = {
      name: 'a',
      model: 'm',
      tools: [
        {
          name: 'count',
          async *execute() {
            yield 1
            yield 2
          },
        },
      ],
    }
    const client = statelessModel((messages) => {
      const told = messages.find(({ role }) => role === 'tool')
      return told ? { content: String(told.content) } : { calls: [{ id: 'c', name: 'count', args: {} }] }
    })
    const run = await execAgent({ agent, client, prompt: 'go', checkpoint: new KeptRuns(), priceOf: () => 0 })
    expect(run.content).toBe('2')
  })
})

describe('a checkpoint that cannot be gone on from', () => {
  const change = (record: string, fields: object) => JSON.stringify({ ...JSON.parse(record), ...fields })

  it.each<[string, (records: string[]) => string[], RegExp]>([
    [
      'of a newer hookspan',
      ([one = '', ...more]) => [change(one, { version: 2 }), ...more],
      /version `2`.*newer/,
    ],
    [
      'of an older hookspan',
      ([one = '', ...more]) => [change(one, { version: 0 }), ...more],
      /version `0`.*older/,
    ],
    ['cut short', (records) => [...records.slice(0, -1), (records.at(-1) ?? '').slice(0, -20)], /not whole/],
    ['with a record that is missing', ([one = '', , ...more]) => [one, ...more], /one is missing/],
    ['of something else', () => ['{"a":1}'], /no record of a run/],
    ['without the run', ([one = '']) => [change(one, { runs: {} })], /the run itself is missing/],
    [
      'without a part of it',
      ([one = '']) => [change(one, { runs: { '[]': { set: {} } } })],
      /has no `agentName`/,
    ],
  ])('%s says so, and the run is kept', async (_what, spoil, message) => {
    const { records } = await whole()
    const store = KeptRuns.after(spoil(records.slice(0, 4)), ID)
    const before = store.runs.get(ID)?.records.length
    const ran: Ran[] = []
    const refused = resumeAgent({ ...shop(ran), checkpoint: store, operationId: ID })
    await expect(refused).rejects.toMatchObject({ code: 'INVALID_STATE', message })
    expect(ran).toEqual([])
    expect(store.runs.get(ID)?.records).toHaveLength(before as number)
    expect(store.runs.get(ID)?.token).toBeUndefined()
  })

  it('needs the tool that has a call open, and no other', async () => {
    const { records } = await whole()
    const resume = (store: KeptRuns, without: string) => {
      const { agent, ...rest } = shop([])
      const tools = agent.tools?.filter(({ name }) => name !== without) ?? []
      return resumeAgent({ ...rest, agent: { ...agent, tools }, checkpoint: store, operationId: ID })
    }
    const inTurn = KeptRuns.after(records.slice(0, 2), ID)
    await expect(resume(inTurn, 'pay')).rejects.toMatchObject({ code: 'INVALID_STATE', message: /"pay"/ })
    expect(inTurn.runs.get(ID)?.records).toHaveLength(2)
    const { agent, ...rest } = shop([])
    const gone = resumeAgent({
      ...rest,
      agent: { ...agent, subAgents: [] },
      checkpoint: inTurn,
      operationId: ID,
    })
    await expect(gone).rejects.toMatchObject({ code: 'INVALID_STATE', message: /"researcher"/ })
    const between = KeptRuns.after(records.slice(0, 1), ID)
    expect((await resume(between, 'look')).status).toBe('done')
  })

  it.each([
    [{ checkpoint: {} }, /`checkpoint`/],
    [{ checkpoint: 'a.db' }, /`checkpoint`/],
    [{ operationId: ID }, /no `checkpoint`/],
    [{ checkpoint: new KeptRuns() }, /`operationId`/],
    [{}, /`state`/],
  ])('is asked for with %o: refused', async (options, message) => {
    const refused = resumeAgent({ ...shop([]), ...(options as object) })
    await expect(refused).rejects.toMatchObject({ code: 'INVALID_OPTION', message })
  })
})
