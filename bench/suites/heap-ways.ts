import { EventEmitter } from 'node:events'
import { type AgentHook, HookDispatcher } from 'hookspan'
import { traceHooks } from 'hookspan/tracing'
import { setUpTelemetry } from '../harness/telemetry.ts'
import type { Measurement, Proof } from '../harness/types.ts'

const COUNT = 100_000
const WARM_UP = 20_000

async function heapUsed(): Promise<number> {
  for (let i = 0; i < 4; i++) {
    globalThis.gc?.()
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return process.memoryUsage().heapUsed
}

async function growth(work: (count: number) => void | Promise<void>): Promise<number> {
  const before = await heapUsed()
  await work(COUNT)
  return ((await heapUsed()) - before) / COUNT
}

/** Counts what it hears, so that a run that did nothing is noticed. */
function twoHooks(heard: { count: number }): AgentHook[] {
  return [
    { id: 'tools', type: 'afterToolCall', handler: () => void heard.count++ },
    { id: 'models', type: 'afterLlmCall', handler: () => void heard.count++ },
  ]
}

async function finish(dispatcher: HookDispatcher, proof: (heard: number) => Proof): ReturnType<Measurement> {
  const heard = { count: 0 }
  const work = async (count: number) => {
    for (let i = 0; i < count; i++) {
      const operation = dispatcher.startOperation({ agentName: 'support', hooks: twoHooks(heard) })
      await operation.step(async (step) => {
        await step.llmCall(
          { model: 'm', request: { messages: [{ role: 'user', content: `${i}` }] } },
          async () => ({
            content: `answer ${i}`,
          }),
        )
        await step.toolCall({ apiName: 'search', args: { query: `${i}` } }, async () => ({ found: i }))
      })
      await operation.complete({ reason: 'done' })
    }
  }
  await work(WARM_UP)
  const retained = await growth(work)
  await dispatcher.drain()
  const { operations } = dispatcher.stats()
  if (operations !== 0) throw new Error(`${operations} operations are left.`)
  if (heard.count !== 2 * (WARM_UP + COUNT)) throw new Error(`${heard.count} events were heard.`)
  return { values: { 'bytes per operation': retained }, proof: proof(heard.count) }
}

export const finished: Measurement = () => finish(new HookDispatcher(), (eventsHeard) => ({ eventsHeard }))

export const finishedTraced: Measurement = () => {
  const { tracer, spans } = setUpTelemetry()
  const dispatcher = new HookDispatcher()
  dispatcher.use(traceHooks({ tracer, captureContent: true }))
  return finish(dispatcher, (eventsHeard) => {
    const wanted = 4 * (WARM_UP + COUNT)
    if (spans.count !== wanted) throw new Error(`${spans.count} spans were made instead of ${wanted}.`)
    return { eventsHeard, spansMade: spans.count }
  })
}

export const unregistered: Measurement = async () => {
  const dispatcher = new HookDispatcher()
  const heard = { count: 0 }
  const call = {
    identifier: 'local',
    source: 'local',
    apiName: 'search',
    args: {},
    callIndex: 0,
    toolCallId: 'c',
  }
  const work = (count: number) => {
    for (let i = 0; i < count; i++) {
      const id = `op-${i}`
      dispatcher.register(id, twoHooks(heard))
      dispatcher.dispatch(id, 'beforeStep', { stepIndex: 0 })
      dispatcher.dispatch(id, 'afterToolCall', {
        ...call,
        content: '',
        success: true,
        mocked: false,
        executionTimeMs: 1,
      })
      dispatcher.dispatch(id, 'onComplete', { reason: 'done' })
      dispatcher.unregister(id)
    }
  }
  work(WARM_UP)
  const retained = await growth(work)
  if (heard.count !== WARM_UP + COUNT) throw new Error(`${heard.count} events were heard.`)
  return { values: { 'bytes per operation': retained }, proof: { eventsHeard: heard.count } }
}

/** Keeps what was opened until it was measured. */
async function open(make: (index: number) => unknown, verify?: () => void): ReturnType<Measurement> {
  const opened: unknown[] = new Array(COUNT)
  for (let i = 0; i < 1_000; i++) make(-1 - i)
  const bytes = await growth((count) => {
    for (let i = 0; i < count; i++) opened[i] = make(i)
  })
  verify?.()
  return {
    values: { 'bytes each': bytes },
    proof: { open: opened.filter((item) => item !== undefined).length },
  }
}

function openOperations(dispatcher: HookDispatcher, hooks?: AgentHook[]): ReturnType<Measurement> {
  const init = { agentName: 'support', ...(hooks && { hooks }) }
  return open(
    (index) => dispatcher.startOperation({ ...init, operationId: `op-${index}` }),
    () => {
      const { operations } = dispatcher.stats()
      if (operations !== COUNT + 1_000) throw new Error(`${operations} operations are open.`)
    },
  )
}

export const openPlain: Measurement = () => openOperations(new HookDispatcher())
export const openWithHooks: Measurement = () => openOperations(new HookDispatcher(), twoHooks({ count: 0 }))

export const openInStep: Measurement = () => {
  const dispatcher = new HookDispatcher()
  const forever = new Promise<never>(() => {})
  return open((index) => {
    const operation = dispatcher.startOperation({ agentName: 'support', operationId: `op-${index}` })
    void operation.step((step) => step.toolCall({ apiName: 'search', args: { index } }, () => forever))
    return operation
  })
}

export const openTraced: Measurement = () => {
  const { tracer } = setUpTelemetry()
  const dispatcher = new HookDispatcher()
  dispatcher.use(traceHooks({ tracer }))
  return openOperations(dispatcher)
}

export const openSpan: Measurement = () => {
  const { tracer } = setUpTelemetry()
  return open((index) =>
    tracer.startSpan('invoke_agent support', {
      attributes: {
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.agent.name': 'support',
        'hookspan.operation.id': `op-${index}`,
        'hookspan.operation.root_id': `op-${index}`,
      },
    }),
  )
}

export const openEmitter: Measurement = () =>
  open(() => new EventEmitter().on('afterToolCall', () => {}).on('afterLlmCall', () => {}))
