import { context, createContextKey, ROOT_CONTEXT, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { TracerProvider } from '@opentelemetry/sdk-trace'
import { HookDispatcher, type Operation } from 'hookspan'
import { traceHooks } from 'hookspan/tracing'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { currentPlace } from '../../src/dispatcher/run/current.ts'

const here = () => currentPlace()?.core.info.operationId

function start(operationId: string, options: { traced: boolean }): Operation {
  const dispatcher = new HookDispatcher()
  const tracer = new TracerProvider({}).getTracer('test')
  if (options.traced) dispatcher.use(traceHooks({ tracer, meter: false }))
  return dispatcher.startOperation({ operationId })
}

describe.each([
  { contexts: 'with a context manager', manager: true },
  { contexts: 'without a context manager', manager: false },
])('the current place $contexts', ({ manager }) => {
  beforeEach(() => {
    if (manager) context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  })
  afterEach(() => context.disable())

  for (const [outer, inner] of [
    [true, true],
    [true, false],
    [false, true],
    [false, false],
  ] as const) {
    const word = (traced: boolean) => (traced ? 'traced' : 'untraced')
    it(`is that of the innermost operation: ${word(inner)} in ${word(outer)} in traced`, async () => {
      const first = start('first', { traced: true })
      const second = start('second', { traced: outer })
      const third = start('third', { traced: inner })
      const seen: unknown[] = []
      await first.step(async () => {
        seen.push(here())
        await second.step(async (step) => {
          await step.toolCall({ apiName: 'search', args: {} }, async () => {
            seen.push(here())
            await third.step(async () => {
              await Promise.resolve()
              seen.push(here())
            })
            seen.push(here())
          })
        })
        seen.push(here())
      })
      expect(seen).toEqual(['first', 'second', 'third', 'second', 'first'])
      expect(here()).toBeUndefined()
    })
  }

  it('is kept under spans and values of the user, and apart for parallel calls', async () => {
    const op = start('op', { traced: true })
    const tracer = new TracerProvider({}).getTracer('user')
    const tool = async () => {
      const outer = currentPlace()
      await tracer.startActiveSpan('own', async (span) => {
        await context.with(context.active().setValue(createContextKey('own'), 1), async () => {
          await Promise.resolve()
          expect(currentPlace()).toBe(outer)
        })
        span.end()
      })
      return outer
    }
    await op.step(async (step) => {
      const call = () => step.toolCall({ apiName: 'search', args: {} }, tool)
      const [a, b] = await Promise.all([call(), call()])
      expect(a).toMatchObject({ state: 'completed' })
      expect(b).toMatchObject({ state: 'completed' })
      const places = [a, b].map((outcome) => (outcome as { result?: unknown }).result)
      expect(places[0]).not.toBe(places[1])
    })
  })
})

describe('the context inside a span', () => {
  beforeEach(() => context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable()))
  afterEach(() => context.disable())

  it('holds, replaces and deletes values as the contexts of the API do', async () => {
    const key = createContextKey('user value')
    const other = createContextKey('other value')
    const op = start('op', { traced: true })
    await context.with(ROOT_CONTEXT.setValue(key, 'below'), () =>
      op.step(async (step) => {
        // The run's span was opened before this context.
        expect(context.active().getValue(key)).toBeUndefined()
        const active = context.active()
        const span = trace.getSpan(active)
        const changed = active.setValue(key, 'above').setValue(other, 2)
        expect(changed.getValue(key)).toBe('above')
        expect(changed.deleteValue(key).getValue(key)).toBeUndefined()
        expect(changed.deleteValue(key).getValue(other)).toBe(2)
        expect(active.getValue(key)).toBeUndefined()
        expect(trace.getSpan(changed)).toBe(span)
        expect(trace.getSpan(trace.deleteSpan(changed))).toBeUndefined()
        expect(trace.deleteSpan(changed).getValue(key)).toBe('above')
        expect(trace.getSpan(active)).toBe(span)
        await step.toolCall({ apiName: 'search', args: {} }, () => {
          expect(trace.getSpan(context.active())).not.toBe(span)
        })
      }),
    )
  })
})
