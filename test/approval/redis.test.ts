import { readFileSync } from 'node:fs'
import { HookDispatcher, type ParkedOperation } from 'hookspan'
import { execAgent, redisCheckpoints, resumeAgent, type SavedRun, unfinishedRuns } from 'hookspan/agent'
import {
  auditLog,
  createApprovals,
  type RedisClient,
  readMessage,
  redisChannel,
  redisStore,
  signedMessage,
} from 'hookspan/approval'
import { callTools, scriptedModel } from 'hookspan/mock'
import { requireHuman } from 'hookspan/policies'
import { createClient, createCluster } from 'redis'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { statelessModel } from '../support/stateless-model.ts'
import { desk, folder, pending, redisClusterUrl, redisUrl, request, wayTo } from './support.ts'

const SECRET = 'a secret of some length'
const url = await redisUrl()
const clusterUrl = await redisClusterUrl()

it.skipIf(url === undefined)(
  'a run in one process goes on when another answers, without polling',
  async () => {
    const prefix = `${crypto.randomUUID()}:`
    const { approvals, call } = desk({ store: redisStore({ url: url as string, prefix }), pollMs: 60_000 })
    onTestFinished(() => approvals.close())
    const outcome = call()
    const { id } = await pending(approvals)
    const other = redisStore({ url: url as string, prefix })
    onTestFinished(() => other.dispose?.())
    await other.answer(id, { decision: 'approve' }, Date.now())
    expect((await outcome).state).toBe('completed')
  },
)

describe.skipIf(clusterUrl === undefined)('a cluster', () => {
  const client = () => {
    const cluster = createCluster({ rootNodes: [{ url: clusterUrl as string }] })
    onTestFinished(() => cluster.destroy())
    cluster.on('error', () => {})
    return cluster as unknown as RedisClient
  }

  it.each([
    ['by the URL of a node', () => ({ url: clusterUrl as string })],
    ['by a client of the cluster', () => ({ client: client() })],
  ])('keeps approvals and checkpoints where the prefix has a hash tag (%s)', async (_, place) => {
    const prefix = `{${crypto.randomUUID()}}:`
    const store = redisStore({ ...place(), prefix })
    const checkpoint = redisCheckpoints({ ...place(), prefix })
    const approvals = createApprovals({ store, pollMs: 60_000 })
    onTestFinished(async () => {
      await approvals.close()
      await checkpoint.dispose?.()
    })
    const dispatcher = new HookDispatcher()
    dispatcher.use(approvals)
    const agent = {
      name: 'a',
      model: 'm',
      tools: [{ name: 'refund', needsApproval: true, execute: () => 'refunded' }],
    }
    const run = execAgent({
      agent,
      client: scriptedModel([callTools(['refund', {}]), 'done']),
      prompt: 'go',
      dispatcher,
      checkpoint,
    })
    await approvals.respond((await pending(approvals)).id, { decision: 'approve' })
    expect(await run).toMatchObject({ status: 'done' })
    expect(await unfinishedRuns(checkpoint)).toEqual([])
  })

  it('is asked where what was written is, and not a replica that is behind', async () => {
    const cluster = client()
    const { approvals, call } = desk({
      store: redisStore({
        client: new Proxy(cluster, {
          // What a client of a cluster sends to replicas with `useReplicas`.
          get: (own, name) =>
            ['hGetAll', 'zRange', 'hGet'].includes(String(name))
              ? async () => []
              : Reflect.get(own, name, own),
        }),
        prefix: `{${crypto.randomUUID()}}:`,
      }),
    })
    onTestFinished(() => approvals.close())
    const outcome = call()
    await approvals.respond((await pending(approvals)).id, { decision: 'approve' })
    expect(await outcome).toMatchObject({ state: 'completed' })
  })

  it('without one is told what is missing', async () => {
    const { approvals, call } = desk({ store: redisStore({ url: clusterUrl as string }) })
    onTestFinished(() => approvals.close())
    const reason = expect.stringContaining('give a `prefix` with a hash tag, such as "{hookspan}:"')
    expect(await call()).toMatchObject({ state: 'denied', code: 'approval_error', reason })
  })
})

it('at a node of a cluster that has not all slots, says what to give', async () => {
  const moved = async () => {
    throw new Error('MOVED 6257 127.0.0.1:7001')
  }
  const client = {
    isOpen: true,
    connect() {},
    duplicate: () => ({ isOpen: false, on() {}, async connect() {}, async subscribe() {} }),
    eval: moved,
    destroy() {},
  }
  const { approvals, call } = desk({ store: redisStore({ client: client as never }) })
  onTestFinished(() => approvals.close())
  const reason = expect.stringMatching(/MOVED 6257.*`client` of `createCluster\(\)`/)
  expect(await call()).toMatchObject({ state: 'denied', code: 'approval_error', reason })
})

it.each([redisStore, redisCheckpoints])('refuses a client of another package (%o)', (make) => {
  const ioredis = { connect() {}, duplicate() {}, eval() {}, hgetall() {}, zrange() {} }
  expect(() => make({ client: ioredis as never })).toThrow(/`client`.*destroy/)
})

it.skipIf(url === undefined)(
  'a Redis that lets nobody in denies the call soon, and says why',
  async () => {
    const { host } = new URL(url as string)
    const { approvals, call } = desk({ store: redisStore({ url: `redis://nobody:wrong@${host}` }) })
    onTestFinished(() => approvals.close())
    const reason = expect.stringMatching(/Redis cannot be reached: WRONGPASS/)
    expect(await call()).toMatchObject({ state: 'denied', code: 'approval_error', reason })
  },
  20_000,
)

describe.skipIf(url === undefined)('while Redis is away', () => {
  const prefix = () => `${crypto.randomUUID()}:`

  it('an answer is none, its giver is told, and it may be given again', async () => {
    const redis = await wayTo(url as string)
    const log = auditLog({ path: `${folder()}/audit.jsonl` })
    const { approvals, call, ran } = desk({
      store: redisStore({ url: redis.url, prefix: prefix() }),
      audit: log,
    })
    onTestFinished(() => approvals.close())
    const outcome = call()
    const { id } = await pending(approvals)
    redis.close()
    const away = { code: 'APPROVAL_UNREACHABLE' }
    await expect(approvals.respond(id, { decision: 'approve' })).rejects.toMatchObject(away)
    await expect(approvals.list()).rejects.toMatchObject(away)
    await expect(approvals.get(id)).rejects.toMatchObject(away)
    await redis.open()
    await expect.poll(async () => (await approvals.get(id).catch(() => undefined))?.status).toBe('pending')
    await approvals.respond(id, { decision: 'approve' })
    expect((await outcome).state).toBe('completed')
    expect(ran).toHaveLength(1)
  })

  it('one that was written down is refused after it, and not taken when Redis is back', async () => {
    const redis = await wayTo(url as string)
    const events: string[] = []
    const { approvals, call, op } = desk({
      store: redisStore({ url: redis.url, prefix: prefix() }),
      audit: {
        append: async ({ event }) => {
          events.push(event)
          if (event === 'answered') redis.close()
        },
      },
    })
    onTestFinished(() => approvals.close())
    const outcome = call()
    const { id } = await pending(approvals)
    await expect(approvals.respond(id, { decision: 'approve' })).rejects.toThrow()
    expect(events).toEqual(['requested', 'answered', 'refused'])
    await redis.open()
    await expect.poll(async () => (await approvals.get(id).catch(() => undefined))?.status).toBe('pending')
    await op.complete()
    expect((await outcome).state).not.toBe('completed')
  })

  it('one that Redis took, whose reply was lost, is not told, or written down, as refused', async () => {
    const redis = await wayTo(url as string)
    const there = prefix()
    const events: string[] = []
    const { approvals, call, ran } = desk({ store: redisStore({ url: url as string, prefix: there }) })
    const elsewhere = createApprovals({
      store: redisStore({ url: redis.url, prefix: there }),
      audit: {
        append: async ({ event }) => {
          events.push(event)
          // The first one says what time it is there.
          if (event === 'answered') redis.loseReply(1)
        },
      },
    })
    onTestFinished(async () => {
      await elsewhere.close()
      await approvals.close()
    })
    const outcome = call()
    const { id } = await pending(elsewhere)
    const taken = await elsewhere.respond(id, { decision: 'approve', approver: 'ann' })
    expect(taken).toMatchObject({ status: 'answered', answer: { approver: 'ann' } })
    expect(events).toEqual(['answered'])
    expect((await outcome).state).toBe('completed')
    expect(ran).toHaveLength(1)
  })

  it('a claim that Redis took, whose reply was lost, is had by who made it', async () => {
    const redis = await wayTo(url as string)
    const there = { prefix: prefix() }
    const store = redisStore({ ...there, url: redis.url })
    const other = redisStore({ ...there, url: url as string })
    onTestFinished(async () => {
      await store.dispose?.()
      await other.dispose?.()
    })
    await store.add(request('lost'))
    await store.answer('lost', { decision: 'approve' }, Date.now())
    // The first one says what time it is there.
    redis.loseReply(1)
    expect(await store.claim('lost')).toEqual({ state: 'run' })
    expect(await store.claim('lost')).toEqual({ state: 'unknown' })
    expect(await other.claim('lost')).toEqual({ state: 'unknown' })
  })
})

describe.skipIf(url === undefined)('while Redis stands still', () => {
  /** Its connections are open, and nothing comes of them. */
  const standingStill = async () => {
    const admin = await createClient({ url: url as string }).connect()
    const pid = Number(/process_id:(\d+)/.exec(await admin.info('server'))?.[1])
    admin.destroy()
    const goOn = () => void process.kill(pid, 'SIGCONT')
    onTestFinished(goOn)
    return { stop: () => void process.kill(pid, 'SIGSTOP'), goOn }
  }

  it('an answer is refused within some seconds, and not taken later', async () => {
    const redis = await standingStill()
    const events: string[] = []
    const { approvals, call, ran, op } = desk({
      store: redisStore({ url: url as string, prefix: `${crypto.randomUUID()}:` }),
      audit: {
        append: async ({ event }) => {
          events.push(event)
          if (event === 'answered' && events.length === 2) redis.stop()
        },
      },
    })
    onTestFinished(() => approvals.close())
    const outcome = call()
    const { id } = await pending(approvals)
    await expect(approvals.respond(id, { decision: 'approve' })).rejects.toThrow(
      /did not answer within 5000 ms/,
    )
    expect(events).toEqual(['requested', 'answered', 'refused'])
    redis.goOn()
    expect((await approvals.get(id))?.status).toBe('pending')
    await approvals.respond(id, { decision: 'approve' })
    expect((await outcome).state).toBe('completed')
    expect(ran).toHaveLength(1)
    await op.complete()
  })

  it('a claim of an approved call is none, and the yes holds', async () => {
    const redis = await standingStill()
    const client = createClient({ url: url as string }) as unknown as RedisClient
    onTestFinished(() => client.destroy())
    const asked = client.eval.bind(client)
    Object.assign(client, {
      withAbortSignal: undefined,
      eval: (...given: Parameters<RedisClient['eval']>) => {
        if (given[0].includes("'claimed'")) redis.stop()
        return asked(...given)
      },
    })
    const there = { prefix: `${crypto.randomUUID()}:` }
    const store = redisStore({ ...there, client })
    const { approvals, call, ran } = desk({ store })
    const later = redisStore({ ...there, url: url as string })
    onTestFinished(async () => {
      await later.dispose?.()
      await approvals.close()
    })
    const outcome = call()
    const { id } = await pending(approvals)
    await approvals.respond(id, { decision: 'approve' })
    const reason = expect.stringContaining('Redis did not answer within')
    expect(await outcome).toMatchObject({ state: 'denied', code: 'approval_error', reason })
    redis.goOn()
    expect(await later.claim(id)).toEqual({ state: 'run' })
    expect(await later.claim(id)).toEqual({ state: 'unknown' })
    expect(ran).toEqual([])
  })

  it('nobody waits for it: who asks is denied, and what has run is over', async () => {
    const redis = await standingStill()
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    onTestFinished(() => warn.mockRestore())
    const { approvals, dispatcher, call } = desk({
      store: redisStore({ url: url as string, prefix: `${crypto.randomUUID()}:` }),
    })
    onTestFinished(() => approvals.close())
    const outcome = call()
    const { id } = await pending(approvals)
    const other = dispatcher.startOperation()
    const settled = new Promise<unknown>((resolve) => {
      dispatcher.use({
        name: 'stops',
        gates: [
          {
            id: 'stops',
            point: 'afterToolCall',
            decide: () => {
              redis.stop()
              resolve(other.toolCall({ apiName: 'delete_order', args: { id: 2 } }, () => 'deleted'))
            },
          },
        ],
      })
    })
    await approvals.respond(id, { decision: 'approve' })
    expect((await outcome).state).toBe('completed')
    const reason = expect.stringContaining('Redis did not answer within 5000 ms')
    expect(await settled).toMatchObject({ state: 'denied', code: 'approval_error', reason })
  })
})

it.skipIf(url === undefined)(
  'an answer counts whose giver may not publish, and nobody says that it failed',
  async () => {
    const admin = createClient({ url: url as string })
    await admin.connect()
    onTestFinished(() => admin.destroy())
    const prefix = `${crypto.randomUUID()}:`
    // Redis gives a new user no channels.
    await admin.sendCommand(['ACL', 'SETUSER', 'clerk', 'on', '>secret', `~${prefix}*`, '+@all'])
    const { approvals, call } = desk({ store: redisStore({ url: url as string, prefix }) })
    const events: string[] = []
    const clerk = createApprovals({
      store: redisStore({ url: `redis://clerk:secret@${new URL(url as string).host}`, prefix }),
      audit: { append: async ({ event }) => void events.push(event) },
    })
    onTestFinished(async () => {
      await clerk.close()
      await approvals.close()
    })
    const outcome = call()
    const { id } = await pending(clerk)
    expect(await clerk.respond(id, { decision: 'approve' })).toMatchObject({ status: 'answered' })
    expect(events).toEqual(['answered'])
    expect((await outcome).state).toBe('completed')
  },
)

it.skipIf(url === undefined)(
  'publishes requests and takes signed answers from the broker, once',
  async () => {
    const topics = { requestTopic: crypto.randomUUID(), responseTopic: crypto.randomUUID() }
    const refused: string[] = []
    const channel = redisChannel({
      url: url as string,
      secret: SECRET,
      ...topics,
      onRefused: (error) => void refused.push((error as Error).message),
    })
    const { approvals, call, events } = desk({ channels: [channel] })
    await approvals.ready()
    onTestFinished(() => approvals.close())
    const client = createClient({ url: url as string })
    const subscriber = client.duplicate()
    await client.connect()
    await subscriber.connect()
    onTestFinished(() => {
      client.destroy()
      subscriber.destroy()
    })
    const heard: { type: string }[] = []
    await subscriber.subscribe(topics.requestTopic, (message) => {
      heard.push(readMessage(SECRET, message) as { type: string })
    })
    const outcome = call()
    await expect.poll(() => heard).toMatchObject([{ type: 'approval.requested' }])
    const { request } = heard[0] as unknown as { request: { id: string; argsDigest: string } }
    const answer = {
      id: request.id,
      answer: { decision: 'approve', approver: 'ann', argsDigest: request.argsDigest },
    }
    await client.publish(topics.responseTopic, JSON.stringify(answer))
    await client.publish(topics.responseTopic, signedMessage('another secret', answer))
    await expect
      .poll(() => refused)
      .toEqual(['it is not a signed message', expect.stringContaining('does not match')])
    const good = signedMessage(SECRET, answer)
    await client.publish(topics.responseTopic, good)
    expect((await outcome).state).toBe('completed')
    expect(events[1]).toMatchObject({ approver: 'ann' })
    await client.publish(topics.responseTopic, good)
    await expect.poll(() => refused[2]).toContain('came before')
    await expect.poll(() => heard).toHaveLength(2)
  },
)

it.skipIf(url === undefined)(
  'an answer from the broker that another process takes is no refused attempt in those that hear it, too',
  async () => {
    const topics = { requestTopic: crypto.randomUUID(), responseTopic: crypto.randomUUID() }
    const refused: unknown[] = []
    const onRefused = (error: unknown) => void refused.push(error)
    const shared = { url: url as string, prefix: `${crypto.randomUUID()}:` }
    const channels = () => [redisChannel({ url: url as string, secret: SECRET, ...topics, onRefused })]
    const path = `${folder()}/audit.jsonl`
    const desks = [
      desk({ store: redisStore(shared), channels: channels(), audit: auditLog({ path }) }),
      desk({ store: redisStore(shared), channels: channels(), audit: auditLog({ path }) }),
      desk({ channels: channels(), audit: auditLog({ path }) }),
    ] as const
    for (const { approvals } of desks) {
      await approvals.ready()
      onTestFinished(() => approvals.close())
    }
    const client = createClient({ url: url as string })
    await client.connect()
    onTestFinished(() => client.destroy())
    const outcome = desks[0].call()
    const { id, argsDigest } = await pending(desks[0].approvals)
    const publish = (answer: object) =>
      client.publish(topics.responseTopic, signedMessage(SECRET, { id, answer }))
    await publish({ decision: 'approve', approver: 'ann', argsDigest })
    expect((await outcome).state).toBe('completed')
    // Another answer is an attempt.
    await publish({ decision: 'reject', approver: 'bob', argsDigest })
    await expect.poll(() => refused).toHaveLength(2)
    const log = readFileSync(path, 'utf8')
    expect(log.match(/"event":"(answered|refused)"/g)).toEqual([
      '"event":"answered"',
      '"event":"refused"',
      '"event":"refused"',
    ])
    expect(refused.map((error) => (error as { code: string }).code)).toEqual(
      Array(2).fill('APPROVAL_ANSWERED'),
    )
  },
)

it.skipIf(url === undefined)(
  'a desk that is closed lets go of Redis for good, also where a run waits',
  async () => {
    const client = createClient({ url: url as string })
    await client.connect()
    onTestFinished(() => client.destroy())
    const connections = async () =>
      String(await client.sendCommand(['CLIENT', 'LIST']))
        .trim()
        .split('\n').length
    const before = await connections()
    const prefix = `${crypto.randomUUID()}:`
    const { approvals, call, op } = desk({ store: redisStore({ url: url as string, prefix }), pollMs: 5 })
    const outcome = call()
    await pending(approvals)
    await approvals.close()
    expect(await outcome).toMatchObject({ state: 'denied', code: 'approval_error' })
    await op.complete()
    await expect(approvals.list()).rejects.toMatchObject({ code: 'INVALID_STATE' })
    await expect.poll(connections, { timeout: 5_000 }).toBe(before)
  },
)

it.skipIf(url === undefined)(
  'a run that is parked once more may be resumed as soon as its desk is closed',
  async () => {
    const prefix = `${crypto.randomUUID()}:`
    let saved: ParkedOperation | undefined
    for (let times = 0; times < 4; times++) {
      const approvals = createApprovals({ store: redisStore({ url: url as string, prefix }), mode: 'park' })
      const dispatcher = new HookDispatcher()
      dispatcher.use(approvals)
      dispatcher.use({ name: 'human', gates: [requireHuman()] })
      const op = dispatcher.startOperation(saved === undefined ? { operationId: 'op' } : { resume: saved })
      const outcome = await op.toolCall({ apiName: 'delete_order', args: {}, toolCallId: 't1' }, () => 1)
      expect(outcome.state).toBe('waiting')
      saved = op.park({ waitingFor: 'human' })
      await approvals.close()
    }
  },
)

describe.skipIf(url === undefined)(
  'a run that goes on in this process, which said so for too long no more',
  () => {
    const agentOf = (name: string, ran: string[], mailing = async () => 'done') => ({
      name: 'shop',
      model: 'stateless',
      tools: ['refund', 'mail', 'ship'].map((tool) => ({
        name: tool,
        needsApproval: tool === 'refund',
        execute: () => {
          ran.push(`${name} ${tool}`)
          return name === 'first' && tool === 'mail' ? mailing() : 'done'
        },
      })),
    })
    const client = statelessModel((messages) => {
      const next = ['refund', 'mail', 'ship'][messages.filter(({ role }) => role === 'tool').length]
      return next === undefined ? { content: 'done' } : { calls: [{ id: next, name: next, args: {} }] }
    })

    /** Parked and approved, and gone on with as far as the mail, over `redis`. */
    async function goingOn(redis: { url: string }) {
      const prefix = `${crypto.randomUUID()}:`
      const deskAt = (at: string) => {
        const approvals = createApprovals({ store: redisStore({ url: at, prefix }), mode: 'park' })
        const dispatcher = new HookDispatcher()
        dispatcher.use(approvals)
        onTestFinished(() => approvals.close())
        return { approvals, dispatcher }
      }
      const ran: string[] = []
      const { approvals, dispatcher } = deskAt(url as string)
      const parked = await execAgent({ agent: agentOf('first', ran), client, dispatcher, prompt: 'go' })
      const { id } = (await approvals.list())[0]?.request ?? { id: '' }
      await approvals.respond(id, { decision: 'approve' })
      const state = parked.state as SavedRun
      const begun = Promise.withResolvers<void>()
      const mailed = Promise.withResolvers<string>()
      const mailing = () => {
        begun.resolve()
        return mailed.promise
      }
      vi.useFakeTimers({ toFake: ['setInterval', 'performance'] })
      onTestFinished(() => void vi.useRealTimers())
      const resume = (name: string, at: string) =>
        resumeAgent({ agent: agentOf(name, ran, mailing), client, dispatcher: deskAt(at).dispatcher, state })
      const first = resume('first', redis.url)
      first.catch(() => {})
      await begun.promise
      return { prefix, ran, first, mailed, second: () => resume('second', url as string) }
    }

    it('is left to the one that has it since', async () => {
      const { prefix, ran, first, mailed, second } = await goingOn({ url: url as string })
      const admin = await createClient({ url: url as string }).connect()
      onTestFinished(() => admin.destroy())
      // As when it stood still for longer than it may.
      for (const key of await admin.keys(`${prefix}run:*`)) await admin.hSet(key, 'until', '0')
      expect((await second()).status).toBe('done')
      vi.advanceTimersByTime(10_000)
      await new Promise((resolve) => setTimeout(resolve, 300))
      mailed.resolve('done')
      await expect(first).rejects.toMatchObject({ code: 'STATE_CLAIMED' })
      expect(ran).toEqual(['first refund', 'first mail', 'second mail', 'second ship'])
    })

    it('goes no further where Redis is away for so long', async () => {
      const redis = await wayTo(url as string)
      const { ran, first, mailed } = await goingOn(redis)
      redis.close()
      vi.advanceTimersByTime(30_000)
      await new Promise((resolve) => setTimeout(resolve, 1_500))
      mailed.resolve('done')
      await expect(first).rejects.toMatchObject({ code: 'STATE_CLAIMED' })
      expect(ran).toEqual(['first refund', 'first mail'])
    })
  },
)
