import type { HookDispatcher, HookEvent } from 'hookspan'
import { adapterContract } from 'hookspan/adapter/contract'
import { recordEvents } from 'hookspan/mock'
import { traceHooks } from 'hookspan/tracing'
import { describe, expect, it } from 'vitest'
import { tellEvents } from '../../src/spans/event-activities.ts'
import { SpanTree } from '../../src/spans/span-tree.ts'
import { TraceTree } from '../../src/vitest/trace-tree.ts'
import { known, shapesOfSdk, shapesOfTree } from '../spans/span-shape.ts'
import { traced } from '../support/span-tree.ts'
import { SUBJECTS } from './subjects/index.ts'

function shapesOfEvents(events: readonly HookEvent[]) {
  const tree = new SpanTree()
  tellEvents(events, tree)
  return shapesOfTree(tree.roots)
}

/** Whoever parks a run leaves its span to the process that goes on. */
const IN_ONE_PROCESS = /^(?!parks for a human)/

describe.each(SUBJECTS)('the spans of $name', (subject) => {
  for (const { name } of adapterContract(subject).filter(({ name }) => IN_ONE_PROCESS.test(name))) {
    it(`are the same from the tracer, in the trace of a test, and out of its events, where it ${name}`, async () => {
      const sources = new Map<HookDispatcher, Disposable & { compare(): void }>()
      const told = adapterContract({
        ...subject,
        run: (run) => {
          if (!sources.has(run.dispatcher)) sources.set(run.dispatcher, watch(run.dispatcher))
          return subject.run(run)
        },
      })
      try {
        await told.find((scenario) => scenario.name === name)?.run()
        for (const [dispatcher, source] of sources) {
          await dispatcher.shutdown()
          source.compare()
        }
      } finally {
        for (const source of sources.values()) source[Symbol.dispose]()
      }
    })
  }
})

function watch(dispatcher: HookDispatcher) {
  const setup = traced()
  dispatcher.use(
    traceHooks({ tracer: setup.tracer, meter: false, captureContent: true, maxContentBytes: 1_000_000 }),
  )
  const vitest = new TraceTree()
  dispatcher.use({ name: 'vitest', instrument: vitest })
  const log = recordEvents(dispatcher)
  return {
    compare() {
      const tracer = shapesOfSdk(setup.spans())
      expect(tracer).not.toEqual([])
      expect(shapesOfTree(vitest.roots)).toEqual(tracer)
      expect(shapesOfEvents([...log.events]).map(known)).toEqual(tracer.map(known))
    },
    [Symbol.dispose]: () => setup[Symbol.dispose](),
  }
}
