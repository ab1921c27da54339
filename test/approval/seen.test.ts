import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { trace } from '@opentelemetry/api'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { type ApprovalMessage, HOOK_CHANNEL, HookDispatcher, type HookEvent } from 'hookspan'
import { createApprovals } from 'hookspan/approval'
import { type ApprovalAnswer, type Approver, deny } from 'hookspan/gates'
import { commandGate, requireHuman, webhookHook } from 'hookspan/policies'
import { traceHooks } from 'hookspan/tracing'
import { afterEach, describe, expect, it, onTestFinished } from 'vitest'

afterEach(() => trace.disable())

function traced() {
  const exporter = new InMemorySpanExporter()
  const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })
  trace.setGlobalTracerProvider(provider)
  const dispatcher = new HookDispatcher()
  dispatcher.use(traceHooks({ tracer: provider.getTracer('t'), meter: false }))
  return { dispatcher, spans: () => exporter.getFinishedSpans() }
}

function listen(): { status: string }[] {
  const seen: { status: string }[] = []
  const onMessage = (message: unknown) => void seen.push(message as { status: string })
  subscribe(HOOK_CHANNEL, onMessage)
  onTestFinished(() => void unsubscribe(HOOK_CHANNEL, onMessage))
  return seen
}

const says = (answer: () => Promise<ApprovalAnswer>): Approver => ({ requestApproval: answer })
const never = () => new Promise<ApprovalAnswer>(() => {})

describe('the five outcomes', () => {
  const cases: [string, Approver, string, string | undefined, string, string][] = [
    [
      'a human said yes',
      says(async () => ({ decision: 'approve', approver: 'ann' })),
      'completed',
      undefined,
      'approved',
      'approve',
    ],
    [
      'a human said no',
      says(async () => ({ decision: 'reject', reason: 'no' })),
      'rejected',
      'rejected',
      'rejected',
      'rejectAndContinue',
    ],
    ['nobody answered', says(never), 'denied', 'approval_timeout', 'timed_out', 'timeout'],
    [
      'asking failed',
      says(async () => Promise.reject(new Error('down'))),
      'denied',
      'approval_error',
      'failed',
      'rejectAndContinue',
    ],
  ]
  it.each(cases)(
    '%s: told apart in the result, the event, the span and on the channel',
    async (_name, approver, state, code, outcome, action) => {
      const seen = listen()
      const { dispatcher, spans } = traced()
      dispatcher.use({ name: 'a', approver, gates: [requireHuman({ timeoutMs: 30 })] })
      const events: HookEvent<'afterHumanIntervention'>[] = []
      const hook = {
        id: 'h',
        type: 'afterHumanIntervention' as const,
        handler: (event: HookEvent<'afterHumanIntervention'>) => void events.push(event),
      }
      const op = dispatcher.startOperation({ operationId: 'op', hooks: [hook] })
      const result = await op.toolCall({ apiName: 't', args: {} }, () => 1)
      await op.complete()
      expect([result.state, 'code' in result ? result.code : undefined]).toEqual([state, code])
      expect(events).toMatchObject([{ outcome, action }])
      const span = spans().find(({ name }) => name === 'human_intervention')
      expect(span?.attributes).toMatchObject({
        'hookspan.human.outcome': outcome,
        'hookspan.human.action': action,
      })
      const tool = spans().find(({ name }) => name.startsWith('execute_tool'))
      expect(tool?.attributes['hookspan.tool.outcome']).toBe(state)
      const message = seen.find((one) => one.status === 'approval') as ApprovalMessage | undefined
      expect(message).toMatchObject({
        outcome,
        gateId: 'require-human',
        operationId: 'op',
        requestId: expect.any(String),
      })
    },
  )

  it('a policy said no: no human was asked', async () => {
    const seen = listen()
    const { dispatcher, spans } = traced()
    dispatcher.use({ name: 'p', gates: [{ id: 'p', point: 'beforeToolCall', decide: () => deny('no') }] })
    const op = dispatcher.startOperation()
    expect(await op.toolCall({ apiName: 't', args: {} }, () => 1)).toMatchObject({
      state: 'denied',
      code: 'policy_denied',
    })
    await op.complete()
    expect(spans().some(({ name }) => name === 'human_intervention')).toBe(false)
    expect(seen.map((one) => one.status)).toContain('decided')
    const tool = spans().find(({ name }) => name.startsWith('execute_tool'))
    expect(tool?.events).toMatchObject([
      {
        name: 'hookspan.gate',
        attributes: {
          'hookspan.gate.id': 'p',
          'hookspan.gate.decision': 'deny',
          'hookspan.gate.enforced': true,
          'hookspan.gate.code': 'policy_denied',
        },
      },
    ])
  })
})

it('shows a parked question as parked', async () => {
  const seen = listen()
  const { dispatcher } = traced()
  dispatcher.use(createApprovals({ mode: 'park' }))
  dispatcher.use({ name: 'g', gates: [requireHuman()] })
  const op = dispatcher.startOperation()
  await op.step((step) => step.toolCall({ apiName: 't', args: {} }, () => 1))
  op.park({ waitingFor: 'human' })
  expect(seen.filter((one) => one.status === 'approval')).toMatchObject([{ outcome: 'parked' }])
})

it('shows a command gate as a span of its own, whose context the command gets', async () => {
  const { dispatcher, spans } = traced()
  const script = `console.log(JSON.stringify({ decision: 'mutate', payload: { traceparent: process.env.TRACEPARENT } }))`
  const gate = commandGate({
    id: 'guard',
    point: 'beforeToolCall',
    command: process.execPath,
    args: ['-e', script],
  })
  dispatcher.use({ name: 'g', gates: [gate] })
  const op = dispatcher.startOperation()
  const outcome = await op.toolCall({ apiName: 't', args: {} }, (args) => args)
  await op.complete()
  const span = spans().find(({ name }) => name === 'gate guard')
  const tool = spans().find(({ name }) => name === 'execute_tool t')
  expect(span?.parentSpanContext?.spanId).toBe(tool?.spanContext().spanId)
  expect(span?.attributes).toMatchObject({
    'hookspan.gate.decision': 'mutate',
    'hookspan.gate.changed_keys': ['traceparent'],
  })
  const { traceId, spanId } = span?.spanContext() ?? {}
  expect(outcome).toMatchObject({ result: { traceparent: `00-${traceId}-${spanId}-01` } })
})

it('shows the delivery of a webhook in the trace of its run, and hands the trace on', async () => {
  const got: string[] = []
  const server = createServer((request, response) => {
    got.push(String(request.headers.traceparent))
    response.writeHead(got.length === 1 ? 503 : 204).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { dispatcher, spans } = traced()
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/done?key=hidden`
  const hook = webhookHook({
    id: 'billing',
    type: 'onComplete',
    url,
    allowPrivateAddresses: true,
    baseDelayMs: 5,
  })
  const op = dispatcher.startOperation({ hooks: [hook] })
  await op.complete()
  await hook.flush()
  const run = spans().find(({ name }) => name.startsWith('invoke_agent'))
  const delivery = spans().find(({ name }) => name === 'webhook billing')
  expect(delivery?.spanContext().traceId).toBe(run?.spanContext().traceId)
  expect(delivery?.parentSpanContext?.spanId).toBe(run?.spanContext().spanId)
  expect(delivery?.attributes).toMatchObject({
    'hookspan.webhook.attempts': 2,
    'hookspan.webhook.outcome': 'delivered',
  })
  expect(JSON.stringify(delivery?.attributes)).not.toContain('hidden')
  expect(got).toEqual(
    Array(2).fill(`00-${delivery?.spanContext().traceId}-${delivery?.spanContext().spanId}-01`),
  )
})
