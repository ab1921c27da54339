import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { HookDispatcher, type HookEvent, type Operation } from 'hookspan'
import {
  type ApprovalRecord,
  type Approvals,
  type ApprovalsOptions,
  createApprovals,
} from 'hookspan/approval'
import type { ApprovalAnswer, ApprovalOptions, ApprovalRequest } from 'hookspan/gates'
import { requireHuman } from 'hookspan/policies'
import { createClient } from 'redis'
import { afterAll, expect, onTestFinished, vi } from 'vitest'
import { freePort } from '../support/free-port.ts'

export function folder(): string {
  const path = mkdtempSync(`${tmpdir()}/hookspan-approval-`)
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

export function request(id: string, more: Partial<ApprovalRequest> = {}): ApprovalRequest {
  return {
    id,
    operationId: 'op',
    rootOperationId: 'op',
    toolCallId: 't',
    callKey: 'call-0',
    gateId: 'human',
    point: 'beforeToolCall',
    identifier: 'local',
    apiName: 'delete_order',
    args: { id: 1 },
    argsDigest: 'd'.repeat(64),
    requestedAt: Date.now(),
    allow: ['approve', 'edit', 'reject'],
    ...more,
  }
}

/** A run whose tool calls need a human. */
export function desk(options: ApprovalsOptions & { ask?: ApprovalOptions } = {}) {
  const { ask, ...rest } = options
  const approvals = createApprovals({ pollMs: 10, ...rest })
  const dispatcher = new HookDispatcher()
  dispatcher.use(approvals)
  dispatcher.use({ name: 'human', gates: [requireHuman(ask ?? {})] })
  const op = dispatcher.startOperation({ operationId: 'op' })
  const events: HookEvent[] = []
  for (const type of [
    'beforeHumanIntervention',
    'afterHumanIntervention',
    'onStopByHumanIntervention',
  ] as const) {
    dispatcher.register('op', [{ id: type, type, handler: (event: HookEvent) => void events.push(event) }])
  }
  const ran: unknown[] = []
  const call = (args: unknown = { id: 1 }, apiName = 'delete_order', toolCallId = 't1') =>
    op.toolCall({ apiName, args, toolCallId }, (given) => {
      ran.push(given)
      return 'deleted'
    })
  return { approvals, dispatcher, op: op as Operation, events, ran, call }
}

/** The request that is pending, as soon as there is one. */
export async function pending(approvals: Approvals): Promise<ApprovalRequest> {
  let found: ApprovalRecord | undefined
  await expect
    .poll(async () => {
      found = (await approvals.list({ status: 'pending' }))[0]
      return found
    })
    .toBeDefined()
  return (found as ApprovalRecord).request
}

export async function answer(approvals: Approvals, given: ApprovalAnswer): Promise<void> {
  await approvals.respond((await pending(approvals)).id, given)
}

let redis: Promise<string | undefined> | undefined

/** A real Redis of this test file's own, asked for outside of tests; undefined, or a failure in CI, where there is no redis-server. */
export function redisUrl(): Promise<string | undefined> {
  redis ??= startRedis()
  return redis
}

/** One that is a cluster, whose keys lie in places. */
export async function redisClusterUrl(): Promise<string | undefined> {
  const url = await startRedis('--cluster-enabled', 'yes')
  if (url === undefined) return undefined
  const client = await createClient({ url }).connect()
  await client.sendCommand(['CLUSTER', 'ADDSLOTSRANGE', '0', '16383'])
  await vi.waitFor(
    async () => expect(await client.sendCommand(['CLUSTER', 'INFO'])).toContain('cluster_state:ok'),
    10_000,
  )
  client.destroy()
  return url
}

/** A way to a Redis that can be closed, as when the network is away. */
export async function wayTo(
  url: string,
): Promise<{ url: string; close(): void; open(): Promise<void>; loseReply(after: number): void }> {
  const { hostname, port } = new URL(url)
  const sockets = new Set<Socket>()
  /** How many more come through before one is lost. */
  let passing: number | undefined
  const server = createServer((socket) => {
    const on = connect(Number(port), hostname)
    for (const one of [socket, on])
      sockets.add(one.on('error', () => {}).on('close', () => sockets.delete(one)))
    socket.pipe(on)
    on.on('data', (reply) => {
      if (passing === undefined || passing-- > 0) return void socket.write(reply)
      passing = undefined
      socket.destroy()
    }).on('end', () => socket.end())
  })
  const open = () => new Promise<void>((done) => server.listen(at, '127.0.0.1', () => done()))
  let at = 0
  await open()
  at = (server.address() as AddressInfo).port
  const close = () => {
    server.close()
    for (const socket of sockets) socket.destroy()
  }
  onTestFinished(close)
  const loseReply = (after: number) => {
    passing = after
  }
  return { url: `redis://127.0.0.1:${at}`, close, open, loseReply }
}

async function startRedis(...more: string[]): Promise<string | undefined> {
  const path = mkdtempSync(`${tmpdir()}/hookspan-redis-`)
  const port = await freePort()
  const flags = [
    '--port',
    String(port),
    '--bind',
    '127.0.0.1',
    '--dir',
    path,
    '--save',
    '',
    '--appendonly',
    'yes',
    ...more,
  ]
  const server = spawn('redis-server', flags, { stdio: ['ignore', 'pipe', 'ignore'] })
  const started = await new Promise<boolean>((resolve) => {
    server.on('error', () => resolve(false))
    server.on('exit', () => resolve(false))
    server.stdout.on('data', (chunk) => String(chunk).includes('Ready to accept') && resolve(true))
  })
  if (!started) {
    const why = 'There is no redis-server. Run: apt-get install redis-server'
    if (process.env.CI === 'true') throw new Error(why)
    console.warn(`Skipped: ${why}`)
    return undefined
  }
  afterAll(() => {
    server.kill('SIGKILL')
    rmSync(path, { recursive: true, force: true })
  })
  return `redis://127.0.0.1:${port}`
}
