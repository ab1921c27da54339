import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { trace } from '@opentelemetry/api'
import { HookDispatcher } from 'hookspan'
import { startTracing } from 'hookspan/tracing'
import { startSink } from '../harness/sink.ts'
import type { Workload } from '../harness/types.ts'

const SPANS_PER_OPERATION = 3
/** The event loop turns after so many, as it does in a process that waits for models. */
const BURST = 100
const TEXT = 'Wool socks, grey, long. '.repeat(20)

const ATTRIBUTES = {
  'http.request.method': 'GET',
  'http.response.status_code': 200,
  'url.full': 'https://orders.example/v1/orders/4711',
  'server.address': 'orders.example',
  'server.port': 443,
  'network.protocol.version': '1.1',
  'user_agent.original': 'node',
  cached: false,
}

/** One burst of spans. Gives how many. */
type Burst = () => Promise<number>

function operations(dispatcher: HookDispatcher): Burst {
  const args = { order: 4711, note: TEXT }
  return async () => {
    const op = dispatcher.startOperation({ agentName: 'support' })
    await op.step((step) => step.toolCall({ apiName: 'find_order', args }, async () => ({ found: TEXT })))
    await op.complete({ reason: 'done' })
    return SPANS_PER_OPERATION
  }
}

function spans(): Burst {
  const tracer = trace.getTracer('bench')
  return async () => {
    tracer.startSpan('GET', { attributes: ATTRIBUTES }).end()
    return 1
  }
}

export async function workload(
  group: 'operations' | 'content' | 'spans',
  way: 'memory' | 'spool',
): Promise<Workload> {
  const sink = await startSink()
  const spoolDir = mkdtempSync(join(tmpdir(), 'hookspan-bench-spool-'))
  process.once('exit', () => rmSync(spoolDir, { recursive: true, force: true }))
  const tracing = startTracing({
    serviceName: 'bench',
    endpoint: sink.url,
    captureContent: group === 'content',
    flushOnExit: false,
    ...(way === 'spool' && { spoolDir }),
  })
  const dispatcher = new HookDispatcher()
  dispatcher.use(tracing)
  const burst = group === 'spans' ? spans() : operations(dispatcher)
  return {
    async run(count) {
      for (let made = 0, turns = 0; made < count; ) {
        made += await burst()
        if (made / BURST >= turns) {
          turns++
          await new Promise<void>((resolve) => setImmediate(resolve))
        }
      }
      await tracing.forceFlush({ timeoutMs: 60_000 })
    },
    async verify(total) {
      const { spans } = await sink.received()
      const { queued, dropped } = tracing.stats()
      if (spans !== total || queued + dropped > 0) throw new Error(`${spans} of ${total} spans came.`)
      return { spans }
    },
  }
}
