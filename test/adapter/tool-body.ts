import { AsyncLocalStorage } from 'node:async_hooks'
import { context, propagation, trace } from '@opentelemetry/api'
import type { ContractSubject } from 'hookspan/adapter/contract'
import { describe, expect, it } from 'vitest'
import { type traced, treeOf } from '../support/span-tree.ts'

const PARAMETERS = {
  type: 'object',
  properties: { q: { type: 'string' } },
  required: ['q'],
  additionalProperties: false,
}
const REPLIES = [
  { toolCalls: [{ id: 'call_1', name: 'look', args: { q: 'a' } }] },
  { content: 'done' },
] as const

const OURS = ['invoke_agent support', 'step 0', 'chat', 'execute_tool look', 'database', 'step 1', 'chat']

/** What is different on some. */
export interface ToolBody {
  /** Those whose streamed runs are one reply. */
  readonly toolsInStreams?: (name: string) => boolean
  /** Spans of the SDK's own that stay, around ours. */
  readonly around?: (name: string) => readonly string[]
  /** Those whose SDK aborts a run without a reason. */
  readonly hasReason?: (name: string) => boolean
}

/**
 * On every SDK: what the user has around a run is there in the body of its tools, and each call is one span, in a process that has an
 * OpenTelemetry SDK of its own.
 */
export function tellToolBody(
  tracing: ReturnType<typeof traced>,
  subjects: readonly ContractSubject[],
  { toolsInStreams = () => true, around = () => [], hasReason = () => true }: ToolBody = {},
): void {
  const { dispatcher, tracer } = tracing
  const tenant = new AsyncLocalStorage<string>()

  /** In a request, as a server has one. */
  const run = async (
    subject: ContractSubject,
    look: (signal?: AbortSignal) => Promise<string>,
    more = {},
  ) => {
    const before = tracing.spans().length
    const execute = (_args: object, { signal }: { signal?: AbortSignal }) => look(signal)
    const tool = { name: 'look', description: 'Looks.', parameters: PARAMETERS, execute }
    const given = { dispatcher, agentName: 'support', prompt: 'Look.', tools: [tool], replies: REPLIES }
    const baggage = propagation.createBaggage({ tenant: { value: 'acme' } })
    const outcome = await context.with(propagation.setBaggage(context.active(), baggage), () =>
      tracer.startActiveSpan('request', (span) =>
        tenant.run('mine', () => subject.run({ ...given, ...more })).finally(() => span.end()),
      ),
    )
    await dispatcher.drain()
    return { outcome, spans: tracing.spans().slice(before) }
  }

  describe.each(subjects)('with $name', (subject) => {
    const ways =
      subject.capabilities.streams && toolsInStreams(subject.name) ? [undefined, 'read'] : [undefined]

    it.each(ways)(
      "a tool's body is in the user's storage, baggage and trace (stream: %s)",
      async (stream) => {
        const seen: unknown[] = []
        const look = async () => {
          await new Promise((resolve) => setImmediate(resolve))
          const baggage = propagation.getBaggage(context.active())?.getEntry('tenant')?.value
          trace.getActiveSpan()?.setAttribute('orders.found', 1)
          tracer.startActiveSpan('database', (span) => span.end())
          seen.push(tenant.getStore(), baggage)
          return 'found'
        }
        const { outcome, spans } = await run(subject, look, stream && { stream })

        expect(outcome.status).toBe('done')
        expect(seen).toEqual(['mine', 'acme'])
        const called = spans.find(({ name }) => name === 'execute_tool look')
        expect(called?.attributes['orders.found']).toBe(1)
        const database = spans.find(({ name }) => name === 'database')
        expect(database?.parentSpanContext?.spanId).toBe(called?.spanContext().spanId)
        const lines = treeOf(spans)
          .split('\n')
          .map((line) => line.trim().replace(/^(chat|generate_content) .*/, 'chat'))
        expect(lines).toEqual(['request', ...around(subject.name), ...OURS])
      },
    )

    it("the user's signal reaches a tool at work, with its reason", async () => {
      const controller = new AbortController()
      const reason = new Error('enough')
      let given: AbortSignal | undefined
      const look = async (signal?: AbortSignal) => {
        given = signal
        controller.abort(reason)
        return signal?.aborted ? 'too late' : aborted(signal)
      }
      const { outcome } = await run(subject, look, { signal: controller.signal })

      expect(outcome.status).toBe('interrupted')
      await expect.poll(() => given?.aborted).toBe(true)
      if (hasReason(subject.name)) expect(given?.reason).toBe(reason)
    })
  })
}

const aborted = (signal: AbortSignal | undefined) =>
  new Promise<string>((resolve) => signal?.addEventListener('abort', () => resolve('too late')))
