import { HookDispatcher, type ParkedOperation } from 'hookspan'
import { createApprovals, readMessage, redisChannel, redisStore, signedMessage } from 'hookspan/approval'
import { requireHuman } from 'hookspan/policies'
import { createClient } from 'redis'
import { expect, it, onTestFinished } from 'vitest'
import { desk, pending, redisUrl } from './support.ts'

const SECRET = 'a secret of some length'
const url = await redisUrl()

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
