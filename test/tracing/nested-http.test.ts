import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { context, propagation, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { UndiciInstrumentation } from '@opentelemetry/instrumentation-undici'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { HookDispatcher } from 'hookspan'
import { operationIdGenerator, parseTraceparent, traceHooks } from 'hookspan/tracing'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { find } from '../support/span-tree.ts'

let server: Server
let url: string
beforeAll(async () => {
  server = createServer((_request, response) => response.end('{"ok":true}'))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
  for (const api of [trace, context, propagation]) api.disable()
})

it("puts a tool's own HTTP requests under the tool's span, in parallel and inside sub-agents", async () => {
  const exporter = new InMemorySpanExporter()
  const provider = new TracerProvider({
    spanProcessors: [new SimpleSpanProcessor({ exporter })],
    idGenerator: operationIdGenerator(),
  })
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  trace.setGlobalTracerProvider(provider)
  const instrumentation = new UndiciInstrumentation()
  instrumentation.setTracerProvider(provider)
  instrumentation.enable()

  const dispatcher = new HookDispatcher()
  dispatcher.use(traceHooks({ tracer: provider.getTracer('test') }))
  const load = (args: { n: number }) => fetch(`${url}/item/${args.n}`).then((answer) => answer.json())
  const op = dispatcher.startOperation({ agentName: 'parent' })
  await op.step((step) =>
    Promise.all([
      step.toolCall({ apiName: 'one', args: { n: 1 } }, load),
      step.toolCall({ apiName: 'two', args: { n: 2 } }, load),
      step.callAgent({ agentName: 'child', instruction: 'go' }, async (parent) => {
        const child = dispatcher.startOperation({ agentName: 'child', parent })
        await child.step((inner) => inner.toolCall({ apiName: 'three', args: { n: 3 } }, load))
        await child.complete()
      }),
    ]),
  )
  await op.complete()
  instrumentation.disable()

  const spans = exporter.getFinishedSpans()
  const requests = spans.filter((span) => span.name.startsWith('GET'))
  expect(requests).toHaveLength(3)
  const parents = Object.fromEntries(
    requests.map((request) => [
      String(request.attributes['url.full']).slice(-1),
      spans.find((span) => span.spanContext().spanId === request.parentSpanContext?.spanId)?.name,
    ]),
  )
  expect(parents).toEqual({ 1: 'execute_tool one', 2: 'execute_tool two', 3: 'execute_tool three' })
  expect(find(spans, 'execute_tool three').spanContext().traceId).toBe(op.traceparent?.slice(3, 35))
})

it('tells a tool the trace context to pass on', async () => {
  const exporter = new InMemorySpanExporter()
  const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })
  const dispatcher = new HookDispatcher()
  dispatcher.use(traceHooks({ tracer: provider.getTracer('test') }))
  const op = dispatcher.startOperation({ agentName: 'a' })
  let given: string | undefined
  await op.step((step) =>
    step.toolCall({ apiName: 't', args: {} }, (_args, { traceparent }) => {
      given = traceparent
    }),
  )
  await op.complete()
  expect(parseTraceparent(given)?.spanId).toBe(
    find(exporter.getFinishedSpans(), 'execute_tool t').spanContext().spanId,
  )
})
