import fc from 'fast-check'
import type { HookEvent } from 'hookspan'
import type { Gate } from 'hookspan/gates'
import { describe, expect, it } from 'vitest'
import { tellEvents } from '../../src/spans/event-activities.ts'
import { SpanTree } from '../../src/spans/span-tree.ts'
import { Driver } from './drive.ts'
import { runPlan } from './plans.ts'
import { spansFrom } from './sources.ts'
import { known, shapesOfSdk, shapesOfTree } from './span-shape.ts'

/** A machine that is busy with something else makes fewer. */
const LIMITS = {
  numRuns: Number(process.env.HOOKSPAN_RUNS ?? 300),
  interruptAfterTimeLimit: Number(process.env.HOOKSPAN_RUNS_MS ?? 15_000),
  markInterruptAsFailure: false,
}

function shapesOfEvents(events: readonly HookEvent[]) {
  const tree = new SpanTree()
  tellEvents(events, tree)
  return shapesOfTree(tree.roots)
}

describe('the spans of any run', () => {
  it('are the same from the tracer, in the trace of a test, and out of its events, also of saved ones', async () => {
    await fc.assert(
      fc.asyncProperty(runPlan(2), async (plan) => {
        const spans = await spansFrom((dispatcher) => new Driver(dispatcher).finish(plan))
        const tracer = shapesOfSdk(spans.tracer)
        expect(tracer).not.toEqual([])
        expect(shapesOfTree(spans.vitest.roots)).toEqual(tracer)
        expect(shapesOfEvents(spans.events).map(known)).toEqual(tracer.map(known))
        expect(shapesOfEvents(spans.saved).map(known)).toEqual(tracer.map(known))
      }),
      LIMITS,
    )
  }, 120_000)

  it.each([
    ['the run', 'beforeComplete'],
    ['a tool call', 'beforeToolCall'],
  ] as const)('are the same where %s ends while a gate in another process decides', async (_what, point) => {
    const asked = Promise.withResolvers<void>()
    const answer = Promise.withResolvers<void>()
    const gate: Gate = {
      id: 'slow',
      point,
      runtime: 'http',
      decide: () => {
        asked.resolve()
        return answer.promise
      },
    }
    const spans = await spansFrom(async (dispatcher) => {
      const operation = dispatcher.startOperation({ agentName: 'support', gates: [gate] })
      const step = await operation.openStep()
      const call = step.openToolCall({ apiName: 'search', args: {} })
      if (point === 'beforeComplete') {
        await call.settle('found')
        await step.end()
        const ended = operation.complete()
        await asked.promise
        operation.interrupt()
        answer.resolve()
        await ended
      } else {
        await asked.promise
        const failed = call.fail(new Error('given up'))
        answer.resolve()
        await failed
        await step.end()
        await operation.complete()
      }
    })
    const tracer = shapesOfSdk(spans.tracer)
    expect(JSON.stringify(tracer)).toContain('"hookspan.gate.code":"gate_error"')
    expect(shapesOfTree(spans.vitest.roots)).toEqual(tracer)
    expect(shapesOfEvents(spans.events).map(known)).toEqual(tracer.map(known))
  })
})
