/**
 * An agent of the fleet: makes the calls of recorded conversations again, and writes down which spans each run had. What is
 * remarkable in a run is what the recording has (tools that failed), and what its number says.
 */
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ReadableSpan } from '@opentelemetry/sdk-trace'
import type { HookDispatcher as Dispatcher, Operation } from 'hookspan'
import type { StartTracingOptions } from 'hookspan/tracing'
import { digestOf, ofSdk, type RunTruth } from '../support/span-truth.ts'

export interface AgentOrder {
  readonly name: string
  readonly tracing: StartTracingOptions
  /** A file of tau-bench. */
  readonly recordings: string
  /** Model turns of each run, at most. */
  readonly turns: number
  readonly runs: number
  /** Without regard to `runs`: until this file is there. */
  readonly until?: string
  /** A run begins this long after the one before, at the earliest. */
  readonly everyMs: number
  /** Where it writes `RunTruth`s, a line each. */
  readonly truth: string
  /** Parks its one run after the first turns, and leaves its state here; or goes on from it, where it is there. */
  readonly parked?: { readonly state: string; readonly waitingFor: string }
  /** How far its clock is ahead of the machine's. */
  readonly aheadMs?: number
}

interface Message {
  readonly role: string
  readonly content: string | null
  readonly tool_calls?: readonly {
    readonly id: string
    readonly function: { name: string; arguments: string }
  }[]
  readonly tool_call_id?: string
}

const order = JSON.parse(process.argv[2] ?? '{}') as AgentOrder
if (order.aheadMs !== undefined) {
  const { aheadMs } = order
  const machine = Date.now
  Date.now = () => machine() + aheadMs
}
// Loaded after the clock was set: what reads it when it is loaded has to read this one.
const { HookDispatcher } = await import('hookspan')
const { startTracing } = await import('hookspan/tracing')

const spansOf = new Map<string, ReturnType<typeof ofSdk>[]>()
const witness = {
  onStart: () => {},
  onEnd: (span: ReadableSpan) => {
    const { traceId } = span.spanContext()
    const spans = spansOf.get(traceId) ?? []
    spansOf.set(traceId, spans)
    spans.push(ofSdk(span))
  },
  forceFlush: async () => {},
  shutdown: async () => {},
}
const tracing = startTracing({
  serviceName: order.name,
  keepOverUsd: 1,
  ...order.tracing,
  queue: { onTrouble: (message) => console.error(message), requestTimeoutMs: 30_000 },
  spanProcessors: [witness],
})
const dispatcher: Dispatcher = new HookDispatcher({
  priceOf: ({ model }) => (model === 'dear' ? 2 : 0.001),
})
dispatcher.use(tracing)
dispatcher.use({
  name: 'careful',
  gates: [
    {
      id: 'no-drops',
      point: 'beforeToolCall',
      match: 'drop_*',
      decide: () => ({ decision: 'deny', reason: 'never' }),
    },
    { id: 'ask', point: 'beforeToolCall', match: 'refund', decide: () => ({ decision: 'require_approval' }) },
  ],
  approver: {
    requestApproval: async ({ args }) => {
      const approves = (args as { cents: number }).cents < 100
      return approves ? { decision: 'approve', approver: 'kim' } : { decision: 'reject', reason: 'too much' }
    },
  },
})

const recorded = JSON.parse(readFileSync(order.recordings, 'utf8')) as { traj: Message[] }[]

/** What happens in a run beside what was recorded, by its number: two of fifty each. */
type Extra = (operation: Operation) => Promise<{ reason: string }>
const tool =
  (apiName: string, args: object, reason: string): Extra =>
  async (operation) => {
    await operation.step((step) => step.toolCall({ apiName, args }, () => 'done'))
    return { reason }
  }
const EXTRAS: Readonly<Record<number, Extra>> = {
  0: tool('drop_table', {}, 'denied'),
  1: tool('refund', { cents: 50 }, 'human'),
  2: tool('refund', { cents: 5000 }, 'human'),
  3: async (operation) => {
    await operation.step((step) =>
      step.llmCall({ model: 'dear', provider: 'openai', request: {} }, () => replyOf('Yes.', 'dear')),
    )
    return { reason: 'cost' }
  },
  4: async (operation) => {
    await operation.step((step) =>
      step.callAgent({ agentName: 'researcher', instruction: 'look it up' }, async (parent) => {
        const child = dispatcher.startOperation({ agentName: 'researcher', parent })
        await child.step((inner) =>
          inner.toolCall({ apiName: 'fetch', args: {} }, () => Promise.reject(new TypeError('away'))),
        )
        await child.complete()
        return { content: 'nothing' }
      }),
    )
    return { reason: 'error' }
  },
}

function replyOf(content: string | null, model = 'gpt-4o-2024-08-06') {
  return {
    model,
    choices: [{ message: { role: 'assistant', content }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 900, completion_tokens: 60 },
  }
}

/** Makes some model turns of a recorded run, and gives why it is to be kept for what the recording has. */
async function replay(operation: Operation, messages: readonly Message[], from: number, to: number) {
  const results = new Map(
    messages.filter(({ role }) => role === 'tool').map((message) => [message.tool_call_id, message]),
  )
  let turn = -1
  let reason: string | undefined
  for (const [index, message] of messages.entries()) {
    if (message.role !== 'assistant') continue
    turn++
    if (turn < from || turn >= to) continue
    await operation.step(async (step) => {
      const request = { messages: messages.slice(Math.max(0, index - 1), index) }
      await step.llmCall({ model: 'gpt-4o', provider: 'openai', request }, () => replyOf(message.content))
      for (const call of message.tool_calls ?? []) {
        const result = results.get(call.id)?.content ?? ''
        const failed = result.startsWith('Error')
        if (failed) reason = 'error'
        const args = JSON.parse(call.function.arguments || '{}')
        const body = failed ? () => Promise.reject(new Error(result)) : () => result
        await step.toolCall({ apiName: call.function.name, args, toolCallId: call.id }, body)
      }
    })
  }
  return reason
}

function tell(traceId: string, reason: string | undefined): void {
  const spans = spansOf.get(traceId) ?? []
  spansOf.delete(traceId)
  const truth: RunTruth = { traceId, spans: spans.length, digest: digestOf(spans), ...(reason && { reason }) }
  if (process.env.FLEET_DEBUG) appendFileSync(`${order.truth}.spans`, `${JSON.stringify(spans)}\n`)
  appendFileSync(order.truth, `${JSON.stringify(truth)}\n`)
}

const traceIdOf = ({ traceparent }: Operation) => traceparent?.split('-')[1] ?? ''

async function run(number: number): Promise<void> {
  const { traj } = recorded[number % recorded.length] as { traj: Message[] }
  const operation = dispatcher.startOperation({
    operationId: `${order.name}-${number}`,
    agentName: order.name,
  })
  const traceId = traceIdOf(operation)
  let reason = await replay(operation, traj, 0, order.turns)
  const extra = await EXTRAS[number % 50]?.(operation)
  reason ??= extra?.reason
  await operation.complete()
  tell(traceId, reason)
}

async function park({ state, waitingFor }: NonNullable<AgentOrder['parked']>): Promise<void> {
  const { traj } = recorded[0] as { traj: Message[] }
  const operation = dispatcher.startOperation({ operationId: order.name, agentName: order.name })
  const traceId = traceIdOf(operation)
  await replay(operation, traj, 0, 2)
  const parked = operation.park({ waitingFor })
  writeFileSync(state, JSON.stringify({ traceId, parked, spans: spansOf.get(traceId) ?? [] }))
}

async function goOn({ state }: NonNullable<AgentOrder['parked']>): Promise<void> {
  const { traj } = recorded[0] as { traj: Message[] }
  const { traceId, parked, spans } = JSON.parse(readFileSync(state, 'utf8'))
  spansOf.set(traceId, spans)
  const operation = dispatcher.startOperation({ resume: parked, agentName: order.name })
  await replay(operation, traj, 2, 4)
  await operation.complete()
  tell(traceId, 'duration')
}

if (order.parked !== undefined) {
  await (existsSync(order.parked.state) ? goOn : park)(order.parked)
} else {
  const startedAt = performance.now()
  for (let number = 0; order.until === undefined ? number < order.runs : !existsSync(order.until); number++) {
    const due = startedAt + number * order.everyMs
    // Also with nothing to wait for: what sends has to have its turn.
    await sleep(Math.max(due - performance.now(), 0))
    while (tracing.stats().queued > 20_000) await sleep(20)
    await run(number)
  }
}
// Until all is delivered: a collector that is away comes back.
while (tracing.stats().queued > 0) await tracing.forceFlush()
await tracing.shutdown({ timeoutMs: 60_000 })
console.log(JSON.stringify(tracing.stats()))
