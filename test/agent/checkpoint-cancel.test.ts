import { HookDispatcher } from 'hookspan'
import { execAgent, resumeAgent } from 'hookspan/agent'
import { traceHooks } from 'hookspan/tracing'
import { expect, it } from 'vitest'
import type { SpanLine } from '../kill/trace.ts'
import { shopAgent } from '../support/shop-agent.ts'
import { eventsOf } from '../support/told-events.ts'
import { tracerTelling } from '../support/told-spans.ts'
import { KeptRuns } from './kept-runs.ts'

const ID = 'run-1'

function process(spans: SpanLine[], act: () => void = () => {}) {
  const dispatcher = new HookDispatcher()
  dispatcher.use(traceHooks({ tracer: tracerTelling((line) => spans.push(line)) }))
  const shop = shopAgent(async () => {
    act()
    await new Promise((resolve) => setImmediate(resolve))
  })
  return { ...shop, dispatcher }
}

/** A run that nothing interrupts: its records, and what had been exported of it when each of them was to be written. */
async function whole() {
  const spans: SpanLine[] = []
  const store = new KeptRuns()
  const records: string[] = []
  const exported: SpanLine[][] = []
  store.onAppend = ({ record }) => {
    records.push(record)
    exported.push(spans.filter(({ at }) => at === 'end'))
  }
  await execAgent({ ...process(spans), prompt: 'go', checkpoint: store, operationId: ID })
  exported.push(spans.filter(({ at }) => at === 'end'))
  return { records, exported }
}

it('leaves no span below one that nobody ends when it is cancelled after its process died, also in a sub-agent', async () => {
  const { records, exported } = await whole()
  let inSubAgent = 0
  // With the last one it has ended.
  for (let at = 1; at < records.length; at++) {
    const before = exported[at] as SpanLine[]
    const spans: SpanLine[] = []
    let ran = 0
    const next = process(spans, () => ran++)
    const events = eventsOf(next.dispatcher)
    const checkpoint = KeptRuns.after(records.slice(0, at), ID)
    const run = await resumeAgent({ ...next, checkpoint, operationId: ID, signal: AbortSignal.abort() })
    const where = `after record ${at} of ${records.length}`
    expect([where, run.reason, ran]).toEqual([where, 'interrupted', 0])
    const ended = [...before, ...spans.filter(({ at }) => at === 'end')]
    const ids = new Set(ended.map(({ spanId }) => spanId))
    const orphans = ended.filter(({ parentId }) => parentId !== undefined && !ids.has(parentId))
    expect([where, orphans.map(({ name }) => name)]).toEqual([where, []])
    // Each span once in the process that ends it, and each that it began.
    const here = spans.filter(({ at }) => at === 'end').map(({ spanId }) => spanId)
    expect([where, here.length]).toEqual([where, new Set(here).size])
    expect([where, spans.filter(({ at, spanId }) => at === 'start' && !here.includes(spanId))]).toEqual([
      where,
      [],
    ])
    const ends = events.filter(({ hookType }) => hookType === 'onComplete')
    expect([where, ends.filter(({ operationId }) => operationId === ID).length]).toEqual([where, 1])
    inSubAgent += ends.length - 1
    for (const id of new Set(ends.map(({ operationId }) => operationId))) {
      const sequence = events.filter(({ operationId }) => operationId === id).map((event) => event.sequence)
      expect([
        where,
        sequence.every((one, index) => index === 0 || one === (sequence[index - 1] as number) + 1),
      ]).toEqual([where, true])
    }
  }
  expect(inSubAgent).toBeGreaterThan(0)
})
