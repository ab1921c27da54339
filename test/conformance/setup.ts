/** A setup file: the dispatchers of the examples that are tests are watched, and checked when a file is over. */
import { HookDispatcher } from 'hookspan'
import { traceHooks } from 'hookspan/tracing'
import { afterAll, expect } from 'vitest'
import { violationsOf, watchDispatchers } from './watch.ts'

if (expect.getState().testPath?.includes('/examples/')) {
  const seen = watchDispatchers({ HookDispatcher, traceHooks })
  afterAll(() => {
    const told = seen.take()
    expect(told.latest.spans.length).toBeGreaterThan(0)
    expect(violationsOf(told)).toEqual([])
  })
}
