/** A durable run whose human answers elsewhere: in another process than the one that asked, through each channel. */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import {
  type ApprovalRecord,
  type Approvals,
  createApprovals,
  redisStore,
  serveApprovals,
  sqliteStore,
} from 'hookspan/approval'
import { startViewer } from 'hookspan/viewer'
import { Webhook } from 'standardwebhooks'
import { expect, it } from 'vitest'
import { redisUrl } from '../approval/support.ts'
import { expectHeld } from './support/held.ts'
import { RestateScene, restateOfSuite } from './support/restate-scene.ts'
import { until } from './support/wait.ts'

const url = await redisUrl()
const restate = restateOfSuite()

const SECRET = 'a secret of some length'
const BIN = fileURLToPath(new URL('../../dist/cli/bin.js', import.meta.url))

interface Asked {
  /** The file of the approvals. */
  readonly db: string
  readonly approvals: Approvals
  readonly record: ApprovalRecord
}

async function post(url: string, body: object, headers: Record<string, string>): Promise<void> {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  expect(answer.status).toBe(200)
  await answer.body?.cancel()
}

const CHANNELS: Record<string, (asked: Asked) => Promise<void>> = {
  async 'the command line'({ db, record }) {
    const args = [BIN, 'approvals', 'approve', record.request.id, '--db', db, '--as', 'ann']
    await promisify(execFile)(process.execPath, args)
  },
  async HTTP({ approvals, record }) {
    const { id, argsDigest } = record.request
    const routes = await serveApprovals({ approvals, token: SECRET, port: 0 })
    const body = { decision: 'approve', approver: 'ann', argsDigest }
    await post(`${routes.url}/hitl/approvals/${id}/respond`, body, { authorization: `Bearer ${SECRET}` })
    await routes.close()
  },
  async 'the page'({ approvals, record }) {
    const { id, argsDigest } = record.request
    const viewer = await startViewer({ db: ':memory:', port: 0, approvals })
    const headers = { authorization: `Bearer ${viewer.token}` }
    await post(`${viewer.url}/api/approvals/${id}/respond`, { decision: 'approve', argsDigest }, headers)
    await viewer.close()
  },
}

async function endsWell(scene: RestateScene, key: string): Promise<void> {
  const { reason, content = '' } = await scene.output<{ reason: string; content?: string }>(key)
  expect([reason, content]).toEqual(['done', expect.stringContaining('delete done')])
  expectHeld(expect, { lines: scene.lines, operationId: key, told: content, kills: 0 })
}

it.each(Object.entries(CHANNELS))('is answered through %s', async (_name, answer) => {
  const scene = await RestateScene.open(restate.server)
  await scene.start()
  await scene.parked(await scene.begin('run-1'))
  const db = `${scene.folder}/approvals.db`
  const approvals = createApprovals({ store: sqliteStore({ path: db }) })
  const [record] = await approvals.list({ status: 'pending' })
  await answer({ db, approvals, record: record as ApprovalRecord })
  await endsWell(scene, 'run-1')
  await approvals.close()
  await scene.close()
})

it('is asked through a webhook, and answered by who got it', async () => {
  const heard: { type: string; request: { id: string; argsDigest: string } }[] = []
  const endpoint = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    heard.push(JSON.parse(Buffer.concat(chunks).toString()))
    response.end()
  }).listen(0, '127.0.0.1')
  await once(endpoint, 'listening')
  const { port } = endpoint.address() as { port: number }
  const scene = await RestateScene.open(restate.server)
  await scene.start({ WEBHOOK: `http://127.0.0.1:${port}/` })
  await scene.parked(await scene.begin('run-2'))
  const told = await until('the request', async () => heard.find(({ type }) => type === 'approval.requested'))
  const approvals = createApprovals({ store: sqliteStore({ path: `${scene.folder}/approvals.db` }) })
  const routes = await serveApprovals({ approvals, token: 'nobody has it', webhookSecret: SECRET, port: 0 })
  const { id, argsDigest } = told.request
  const answer = { decision: 'approve', approver: 'ann', argsDigest }
  const now = new Date()
  await post(`${routes.url}/hitl/approvals/${id}/respond`, answer, {
    'webhook-id': 'msg_1',
    'webhook-timestamp': String(Math.floor(now.getTime() / 1_000)),
    'webhook-signature': new Webhook(SECRET, { format: 'raw' }).sign('msg_1', now, JSON.stringify(answer)),
  })
  await endsWell(scene, 'run-2')
  await routes.close()
  await approvals.close()
  await scene.close()
  endpoint.close()
})

it('is answered through Redis', async ({ skip }) => {
  if (url === undefined) return skip('There is no redis-server.')
  const prefix = `${crypto.randomUUID()}:`
  const scene = await RestateScene.open(restate.server)
  await scene.start({ REDIS: url, REDIS_PREFIX: prefix })
  await scene.parked(await scene.begin('run-3'))
  const approvals = createApprovals({ store: redisStore({ url, prefix }) })
  const [record] = await approvals.list({ status: 'pending' })
  await approvals.respond((record as ApprovalRecord).request.id, { decision: 'approve', approver: 'ann' })
  await endsWell(scene, 'run-3')
  await approvals.close()
  await scene.close()
})
