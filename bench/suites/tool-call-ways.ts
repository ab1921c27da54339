import { type Attributes, type Span, SpanKind, SpanStatusCode, type Tracer } from '@opentelemetry/api'
import { HookDispatcher, type Step } from 'hookspan'
import { traceHooks } from 'hookspan/tracing'
import { setUpTelemetry, shapeOf, type Telemetry } from '../harness/telemetry.ts'
import type { Proof, Workload } from '../harness/types.ts'

interface Order {
  readonly id: string
  readonly lines: readonly { readonly sku: string; readonly name: string; readonly count: number }[]
}

const ORDERS: readonly Order[] = Array.from({ length: 16 }, (_, order) => ({
  id: `order-${order}`,
  lines: Array.from({ length: 14 }, (_, line) => ({
    sku: `sku-${order}-${line}`,
    name: 'Wool socks, grey, long',
    count: line + 1,
  })),
}))

let served = 0

async function findOrder(args: { order: number }): Promise<Order> {
  served++
  return ORDERS[args.order % ORDERS.length] as Order
}

/** Adds up what came back, so that no call is made for nobody. */
class Sum {
  items = 0

  add(order: Order): void {
    this.items += order.lines.length
  }

  verify(total: number, more: Proof = {}): Proof {
    if (this.items !== total * 14 || served !== total)
      throw new Error(`${served} of ${total} calls were served.`)
    return { callsServed: served, ...more }
  }
}

export function bare(): Workload {
  const sum = new Sum()
  return {
    async run(count) {
      for (let i = 0; i < count; i++) sum.add(await findOrder({ order: i }))
    },
    verify: (total) => sum.verify(total),
  }
}

/** What a careful user writes once and calls for each tool. */
async function tracedByHand<A, R>(
  tracer: Tracer,
  call: { apiName: string; toolCallId: string; callKey: string; agentName: string; args: A },
  tool: (args: A) => Promise<R>,
  content: boolean,
): Promise<R> {
  const attributes: Attributes = {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': call.apiName,
    'gen_ai.tool.type': 'function',
    'gen_ai.tool.call.id': call.toolCallId,
    'gen_ai.agent.name': call.agentName,
    'hookspan.tool.identifier': 'local',
    'hookspan.tool.source': 'local',
    'hookspan.call.key': call.callKey,
  }
  if (content) attributes['gen_ai.tool.call.arguments'] = JSON.stringify(call.args)
  return tracer.startActiveSpan(
    `execute_tool ${call.apiName}`,
    { kind: SpanKind.INTERNAL, attributes },
    async (span: Span) => {
      try {
        const result = await tool(call.args)
        span.setAttributes({
          'hookspan.tool.outcome': 'completed',
          'hookspan.tool.success': true,
          'hookspan.tool.mocked': false,
        })
        if (content) span.setAttribute('gen_ai.tool.call.result', JSON.stringify(result))
        return result
      } catch (error) {
        span.setAttribute('error.type', error instanceof Error ? error.name : 'unknown')
        span.setStatus({ code: SpanStatusCode.ERROR, message: String(error) })
        throw error
      } finally {
        span.end()
      }
    },
  )
}

function byHand(content: boolean): Workload {
  const telemetry = setUpTelemetry()
  const { tracer } = telemetry
  const sum = new Sum()
  let calls = 0
  let batches = 0
  return {
    run(count) {
      batches++
      return tracer.startActiveSpan('step 0', async (step) => {
        for (let i = 0; i < count; i++) {
          const callKey = `call-${calls++}`
          const call = {
            apiName: 'find_order',
            toolCallId: callKey,
            callKey,
            agentName: 'support',
            args: { order: i },
          }
          sum.add(await tracedByHand(tracer, call, findOrder, content))
        }
        shape(telemetry)
        step.end()
      })
    },
    verify: (total) => sum.verify(total, spanProof(telemetry, total + batches)),
  }
}

export const hand = () => byHand(false)
export const handWithContent = () => byHand(true)

let lastTool = ''

/** Of the span that ended last, which is a tool's while its step is still open. */
function shape({ spans }: Telemetry): void {
  if (spans.last !== undefined) lastTool = shapeOf(spans.last)
}

function spanProof({ spans }: Telemetry, wanted: number): Proof {
  if (spans.count !== wanted) throw new Error(`${spans.count} spans were made instead of ${wanted}.`)
  return { spansMade: spans.count, span: lastTool }
}

function throughOperation(
  dispatcher: HookDispatcher,
  telemetry: Telemetry | undefined,
  verify: (sum: Sum, total: number, batches: number) => Proof,
): Workload {
  const sum = new Sum()
  const operation = dispatcher.startOperation({ agentName: 'support' })
  let batches = 0
  const call = async (step: Step, order: number) => {
    const outcome = await step.toolCall({ apiName: 'find_order', args: { order } }, findOrder)
    if (outcome.state === 'completed') sum.add(outcome.result)
  }
  return {
    run(count) {
      batches++
      return operation.step(async (step) => {
        for (let i = 0; i < count; i++) await call(step, i)
        if (telemetry !== undefined) shape(telemetry)
      })
    },
    verify: (total) => verify(sum, total, batches),
  }
}

export function untraced(): Workload {
  return throughOperation(new HookDispatcher(), undefined, (sum, total) => sum.verify(total))
}

function tracedOperation(captureContent: boolean, hook: boolean): Workload {
  const telemetry = setUpTelemetry()
  const dispatcher = new HookDispatcher()
  dispatcher.use(traceHooks({ tracer: telemetry.tracer, captureContent }))
  let seen = 0
  if (hook) {
    const handler = () => void seen++
    dispatcher.use({ name: 'counter', hooks: [{ id: 'counter', type: 'afterToolCall', handler }] })
  }
  return throughOperation(dispatcher, telemetry, (sum, total, batches) => {
    if (hook && seen !== total) throw new Error(`The hook saw ${seen} of ${total} calls.`)
    return sum.verify(total, spanProof(telemetry, total + batches))
  })
}

export const hookspan = () => tracedOperation(false, false)
export const hookspanWithHook = () => tracedOperation(false, true)
export const hookspanWithContent = () => tracedOperation(true, false)
