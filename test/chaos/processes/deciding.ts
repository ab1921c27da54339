/**
 * One of several processes over one store of approvals: makes runs, goes on from them, answers, and serves answers by HTTP.
 * Whatever it is told it does at once, and says what came of it.
 */
import { appendFileSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { type MessagePort, parentPort, Worker, workerData } from 'node:worker_threads'
import { HookDispatcher, type Operation } from 'hookspan'
import { auditLog, createApprovals, redisStore, serveApprovals, sqliteStore } from 'hookspan/approval'
import type { ApprovalAnswer } from 'hookspan/gates'
import { requireHuman } from 'hookspan/policies'

export type Order =
  | { readonly do: 'start' | 'resume'; readonly run: string }
  | { readonly do: 'answer'; readonly id: string; readonly answer: ApprovalAnswer }
  | { readonly do: 'exit' }

export interface Place {
  readonly folder: string
  readonly redis?: string
  readonly tokens: Readonly<Record<string, string>>
  readonly mode: 'wait' | 'park'
  readonly toolMs: number
  /** The work is done in a thread, which is terminated where the process is to exit. */
  readonly thread?: boolean
}

const place = (workerData ?? JSON.parse(process.argv[2] ?? '{}')) as Place

if (place.thread && parentPort === null) inThread()
else await work()

function inThread(): void {
  const worker = new Worker(new URL(import.meta.url), { workerData: place })
  worker.on('message', (said) => void process.send?.(said))
  process.on('message', (order: Order & { n: number }) => {
    if (order.do !== 'exit') return worker.postMessage(order)
    void worker.terminate().then(() => process.exit(0))
  })
  process.on('SIGTERM', () => worker.postMessage({ do: 'shut down' }))
  worker.on('exit', () => process.disconnect())
}

async function work(): Promise<void> {
  const { folder, redis, tokens, mode, toolMs } = place
  const store =
    redis === undefined
      ? sqliteStore({ path: `${folder}/approvals.db` })
      : redisStore({ url: redis, prefix: folder })
  const audit = auditLog({ path: `${folder}/audit.jsonl` })
  const approvals = createApprovals({ store, audit, mode, pollMs: 20 })
  const server = await serveApprovals({ approvals, tokens, perMinute: 100_000 })
  const dispatcher = new HookDispatcher()
  dispatcher.use(approvals)
  dispatcher.use({ name: 'careful', gates: [requireHuman()] })
  const statePath = (run: string) => `${folder}/${run}.state`

  async function call(op: Operation, run: string): Promise<object> {
    const outcome = await op.toolCall({ apiName: 'refund', args: { run }, toolCallId: 't' }, async (args) => {
      appendFileSync(`${folder}/ran.log`, `${JSON.stringify({ run, args })}\n`)
      await new Promise((resolve) => setTimeout(resolve, toolMs))
      return 'ran'
    })
    if (outcome.state === 'waiting') {
      const saved = JSON.stringify(op.park({ waitingFor: 'human' }))
      writeFileSync(`${statePath(run)}.new`, saved)
      renameSync(`${statePath(run)}.new`, statePath(run))
    } else await op.complete()
    return { state: outcome.state, ...('code' in outcome && { code: outcome.code }) }
  }

  async function done(order: Order): Promise<object> {
    if (order.do === 'answer') {
      await approvals.respond(order.id, order.answer)
      return { taken: true }
    }
    if (order.do === 'exit') process.exit(0)
    if (order.do === 'start') return call(dispatcher.startOperation({ operationId: order.run }), order.run)
    const resume = JSON.parse(readFileSync(statePath(order.run), 'utf8'))
    return call(dispatcher.startOperation({ resume }), order.run)
  }

  const port: Pick<MessagePort, 'postMessage'> = parentPort ?? {
    postMessage: (said) => void (process.connected && process.send?.(said)),
  }
  const shutDown = async () => {
    await server.close()
    await approvals.close()
    if (parentPort !== null) parentPort.close()
    else process.disconnect()
  }
  const on = async ({ n, ...order }: (Order | { readonly do: 'shut down' }) & { readonly n: number }) => {
    if (order.do === 'shut down') return shutDown()
    const said = await done(order).catch(({ code, message }) => ({ code, message }))
    port.postMessage({ n, ...said })
  }
  if (parentPort !== null) parentPort.on('message', on)
  else {
    process.on('message', on)
    process.on('SIGTERM', shutDown)
  }
  port.postMessage({ url: server.url })
}
