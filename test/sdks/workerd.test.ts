/** hookspan in the runtime of Cloudflare's Workers, where nothing lies in a file and each request has what it began to itself. */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { freePort } from '../support/free-port.ts'
import { SDKS_FOLDER } from './support/sdks.ts'

const WORKERD = join(SDKS_FOLDER, 'node_modules/.bin/workerd')
const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** What is made once, of all requests, and what each of them does. */
const WORKER = `
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { HookDispatcher } from 'hookspan'
import { execAgent } from 'hookspan/agent'
import { createApprovals, memoryStore } from 'hookspan/approval'
import { callTool, scriptedFetch, scriptedModel } from 'hookspan/mock'
import { observeOpenAI } from 'hookspan/openai'
import { toolPolicy } from 'hookspan/policies'
import { startTracing, traceHooks } from 'hookspan/tracing'
import OpenAI from 'openai'

const dispatcher = new HookDispatcher()
dispatcher.use({ name: 'careful', gates: [toolPolicy({ deny: ['wipe'] })] })
const exporter = new InMemorySpanExporter()
const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })
dispatcher.use(traceHooks({ tracer: provider.getTracer('worker') }))
const handler = (event) => event.mock({ content: 'mocked' })
dispatcher.use({ name: 'mocks', hooks: [{ id: 'mocks', type: 'beforeToolCall', match: 'find', handler }] })

async function observed() {
  const fetch = scriptedFetch({ steps: [{ content: 'It is on its way.' }] })
  const client = observeOpenAI(new OpenAI({ apiKey: 'none', fetch }), { dispatcher })
  const op = dispatcher.startOperation({ agentName: 'observed' })
  const said = await op.step(async (step) => {
    const found = await step.toolCall({ apiName: 'find', args: { id: 7 } }, () => 'live')
    const wiped = await step.toolCall({ apiName: 'wipe', args: {} }, () => 'wiped')
    const reply = await client.chat.completions.create({ model: 'm', messages: [{ role: 'user', content: 'Where?' }] })
    return [found.state, wiped.state, reply.choices[0].message.content]
  })
  await op.complete()
  return said
}

async function asked() {
  const approvals = createApprovals({ store: memoryStore() })
  const own = new HookDispatcher()
  own.use(approvals)
  const run = execAgent({
    agent: { name: 'asks', model: 'm', tools: [{ name: 'pay', needsApproval: true, execute: (_args, { signal }) => 'paid ' + signal.aborted }] },
    prompt: 'Pay.',
    dispatcher: own,
    client: scriptedModel([callTool('pay', {}), 'Paid.']),
  })
  for (;;) {
    const [request] = await approvals.list({ status: 'pending' })
    if (request === undefined) await new Promise((resolve) => setTimeout(resolve, 5))
    else {
      await approvals.respond(request.request.id, { decision: 'approve' })
      return [(await run).status, (await run).messages.find(({ role }) => role === 'tool').content]
    }
  }
}

function refused() {
  try {
    return startTracing()
  } catch ({ code, message }) {
    return [code, message]
  }
}

export default {
  async fetch(request) {
    try {
      if (request.url.endsWith('/spans')) {
        await dispatcher.drain()
        await provider.forceFlush()
        return Response.json(exporter.getFinishedSpans().map(({ name }) => name))
      }
      return Response.json({ observed: await observed(), asked: await asked(), refused: refused() })
    } catch (error) {
      return new Response(String(error?.stack ?? error), { status: 500 })
    }
  },
}
`

const CONFIG = `
using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .worker)],
  sockets = [(name = "http", http = (), service = "main")],
);
const worker :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "worker.mjs")],
  compatibilityDate = "2026-07-01",
  compatibilityFlags = ["nodejs_compat"],
);
`

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'hookspan-workerd-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

it('observes, decides, mocks, asks people and tells spans, in several requests at once', async () => {
  await build({
    stdin: { contents: WORKER, resolveDir: ROOT, loader: 'js' },
    bundle: true,
    format: 'esm',
    platform: 'browser',
    conditions: ['workerd', 'worker', 'browser'],
    external: ['node:*'],
    outfile: join(folder, 'worker.mjs'),
    logLevel: 'error',
  })
  writeFileSync(join(folder, 'config.capnp'), CONFIG)
  const port = await freePort()
  const worker = spawn(
    WORKERD,
    ['serve', join(folder, 'config.capnp'), `--socket-addr=http=127.0.0.1:${port}`],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  )
  let said = ''
  for (const stream of [worker.stdout, worker.stderr]) stream.on('data', (chunk) => (said += chunk))
  const ask = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`)
    const text = await response.text()
    expect(response.status, text).toBe(200)
    return JSON.parse(text)
  }
  try {
    await expect
      .poll(() => fetch(`http://127.0.0.1:${port}/spans`).then(({ status }) => status), { timeout: 30_000 })
      .toBe(200)
      .catch((error) => Promise.reject(new Error(`workerd said: ${said}`, { cause: error })))
    const answers = await Promise.all(Array.from({ length: 4 }, () => ask('/')))
    const answer = {
      observed: ['mocked', 'denied', 'It is on its way.'],
      asked: ['done', 'paid false'],
      refused: ['MISSING_DEPENDENCY', expect.stringContaining('@opentelemetry/sdk-node')],
    }
    expect(answers).toEqual(answers.map(() => answer))
    const spans = ['execute_tool find', 'execute_tool wipe', 'chat m', 'step', 'invoke_agent observed']
    expect((await ask('/spans')).toSorted()).toEqual(answers.flatMap(() => spans).toSorted())
  } finally {
    worker.kill()
  }
})
