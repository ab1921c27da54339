import { context, createContextKey, propagation, trace } from '@opentelemetry/api'
import { HookDispatcher } from 'hookspan'
import { startTracing } from 'hookspan/tracing'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startCollector } from '../support/collector.ts'

type Collector = Awaited<ReturnType<typeof startCollector>>

const API = Symbol.for('opentelemetry.js.api.1')
const global = globalThis as { [API]?: object }

describe('startTracing, where somebody else has OpenTelemetry', () => {
  let collector: Collector
  let troubles: string[]
  let before: object | undefined
  beforeEach(async () => {
    collector = await startCollector()
    troubles = []
    before = global[API]
  })
  afterEach(async () => {
    Object.assign(global, { [API]: before })
    await collector.stop()
  })

  async function run(name: string) {
    const queue = { onTrouble: (message: string) => troubles.push(message) }
    const tracing = startTracing({ serviceName: name, endpoint: collector.url, queue })
    const dispatcher = new HookDispatcher()
    dispatcher.use(tracing)
    const op = dispatcher.startOperation({ agentName: name })
    await op.step((step) => step.toolCall({ apiName: 't', args: {} }, () => 'fine'))
    await op.complete()
    return tracing
  }

  it('sends its spans, in another version of the API, and leaves the other its own', async () => {
    const others = { trace: {}, context: {}, propagation: {} }
    global[API] = { version: '1.9.1', ...others }

    const tracing = await run('beside')
    await tracing.shutdown()

    expect(collector.names().sort()).toEqual(['execute_tool t', 'invoke_agent beside', 'step 0'])
    expect(new Set(collector.spans.map(({ traceId }) => traceId)).size).toBe(1)
    expect(troubles).toEqual([expect.stringContaining('another one (1.9.1) is the first in this process')])
    expect(global[API]).toEqual({ version: '1.9.1', ...others })
  })

  it('leaves a context manager and a propagator that were there before', async () => {
    delete global[API]
    const { LocalContexts } = await import('../../src/tracing/sdk/local-contexts.ts')
    context.setGlobalContextManager(new LocalContexts())
    propagation.setGlobalPropagator({ inject() {}, extract: (within) => within, fields: () => ['x-theirs'] })
    const tracing = await run('second')
    await tracing.shutdown()

    const key = createContextKey('theirs')
    expect(context.with(context.active().setValue(key, 1), () => context.active().getValue(key))).toBe(1)
    expect(propagation.fields()).toEqual(['x-theirs'])
    expect(trace.getTracer('x').startSpan('y').isRecording()).toBe(false)
    expect(troubles).toEqual([])
  })
})
