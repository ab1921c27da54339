import type { HookDispatcher, HookEvent } from 'hookspan'
import { recordEvents } from 'hookspan/mock'
import { TraceTree } from '../../src/vitest/trace-tree.ts'
import { traced } from '../support/span-tree.ts'

/** Does something in a dispatcher, and gives its spans from each source: a real tracer, the trace of a test, events. */
export async function spansFrom(work: (dispatcher: HookDispatcher) => Promise<unknown>) {
  using setup = traced(
    { captureContent: true, maxContentBytes: 1_000_000 },
    { onHookError: () => {}, priceOf: ({ usage }) => usage.inputTokens / 1_000 },
  )
  const { dispatcher } = setup
  const vitest = new TraceTree()
  dispatcher.use({ name: 'vitest', instrument: vitest })
  using log = recordEvents(dispatcher)
  await work(dispatcher)
  const events: readonly HookEvent[] = [...log.events]
  return {
    tracer: [...setup.spans()],
    vitest,
    events,
    saved: JSON.parse(JSON.stringify(events)) as HookEvent[],
  }
}
