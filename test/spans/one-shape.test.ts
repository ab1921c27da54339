import fc from 'fast-check'
import type { HookEvent, OperationInit, ParentOperation } from 'hookspan'
import { type Gate, mutate } from 'hookspan/gates'
import { describe, expect, it } from 'vitest'
import { tellEvents } from '../../src/spans/event-activities.ts'
import { SpanTree } from '../../src/spans/span-tree.ts'
import { Driver } from './drive.ts'
import { runPlan } from './plans.ts'
import { spansFrom } from './sources.ts'
import { known, shapesOfSdk, shapesOfTree } from './span-shape.ts'

/** A machine that is busy with something else makes fewer. */
const LIMITS = {
  numRuns: Number(process.env.HOOKSPAN_RUNS ?? 100),
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

  it('keep what gates decided about a run, and about the call of an agent, before it was parked', async () => {
    const gates = (['onStart', 'beforeCallAgent'] as const).map((point) => ({
      id: point,
      point,
      decide: () => undefined,
    }))
    const spans = await spansFrom(async (dispatcher) => {
      const start = (more: OperationInit) => dispatcher.startOperation({ agentName: 'a', gates, ...more })
      const instruction = 'look it up'
      let operation = start({})
      const saved: string[] = []
      const parks = async (parent: ParentOperation) => {
        const child = dispatcher.startOperation({ agentName: 'b', parent })
        await child.step(() => {})
        saved.push(JSON.stringify(child.park({ waitingFor: 'human' })))
        return { status: 'waiting_for_human', operationId: child.operationId }
      }
      await operation.step((step) => step.callAgent({ agentName: 'b', instruction }, parks))
      saved.push(JSON.stringify(operation.park({ waitingFor: 'human' })))

      const [childs = '', own = ''] = saved
      operation = start({ resume: JSON.parse(own) })
      await operation.step((step) =>
        step.callAgent({ agentName: 'b', instruction }, async (parent) => {
          const resumed = dispatcher.startOperation({ agentName: 'b', parent, resume: JSON.parse(childs) })
          await resumed.complete({ content: 'found' })
          return { operationId: resumed.operationId, content: 'found' }
        }),
      )
      await operation.complete()
    })
    const decidedIn = (name: string) =>
      spans.tracer
        .filter((span) => span.name === name)
        .map(({ events }) => events.map(({ attributes }) => attributes?.['hookspan.gate.point']).sort())
    expect(decidedIn('invoke_agent a')).toEqual([['onStart']])
    expect(decidedIn('invoke_agent b')).toEqual([['beforeCallAgent', 'onStart']])
    const points = (type: HookEvent['hookType']) =>
      spans.events
        .filter(({ hookType }) => hookType === type)
        .map((event) => (event as HookEvent<'onComplete'>).gates?.map(({ point }) => point))
    expect(points('onComplete')).toEqual([['onStart'], ['onStart']])
    expect(points('afterCallAgent')).toEqual([['beforeCallAgent']])
  })

  it('are one span for a called agent whose run is parked and goes on while the call waits for it', async () => {
    const spans = await spansFrom(async (dispatcher) => {
      const operation = dispatcher.startOperation({ agentName: 'a' })
      await operation.callAgent({ agentName: 'b', instruction: 'look it up' }, async (parent) => {
        const child = dispatcher.startOperation({ agentName: 'b', parent })
        await child.step(() => {})
        const resume = JSON.parse(JSON.stringify(child.park({ waitingFor: 'human' })))
        const again = dispatcher.startOperation({ agentName: 'b', parent, resume })
        await again.step(() => {})
        await again.complete({ content: 'found' })
        return { operationId: again.operationId, content: 'found' }
      })
      await operation.complete()
    })
    const tracer = shapesOfSdk(spans.tracer)
    expect(spans.tracer.map(({ name }) => name).sort()).toEqual([
      'invoke_agent a',
      'invoke_agent b',
      'step',
      'step',
    ])
    expect(tracer).toMatchObject([
      { name: 'invoke_agent a', children: [{ name: 'invoke_agent b', children: [{}, {}] }] },
    ])
    expect(shapesOfTree(spans.vitest.roots)).toEqual(tracer)
  })

  it('say nothing of texts to embed, also where a gate changed the request', async () => {
    const gate: Gate = { id: 'cut', point: 'beforeLlmCall', decide: () => mutate({ input: ['short'] }) }
    const spans = await spansFrom(async (dispatcher) => {
      const operation = dispatcher.startOperation({ gates: [gate] })
      const init = { model: 'm', operationName: 'embeddings', request: { input: ['a long text'] } }
      await operation.llmCall(init, async () => ({ object: 'list', data: [] }))
      await operation.complete()
    })
    const said = (attributes: object) => Object.keys(attributes).filter((name) => name.endsWith('messages'))
    expect(spans.tracer.flatMap(({ attributes }) => said(attributes))).toEqual([])
    const tree = new SpanTree()
    tellEvents(spans.saved, tree)
    expect(tree.spans.flatMap(({ attributes }) => said(attributes))).toEqual([])
  })
})
