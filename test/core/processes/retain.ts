// Run with --expose-gc: prints what stays alive after operations of every kind have ended.
import { HookDispatcher } from 'hookspan'
import { everything, hooksOfEveryType, turn } from '../support.ts'

const gc = globalThis.gc as () => void
const watched = new Map<string, WeakRef<object>>()
const watch = <T extends object>(name: string, value: T): T => {
  watched.set(name, new WeakRef(value))
  return value
}

const dispatcher = new HookDispatcher({ onHookError: () => {} })
const controller = new AbortController()

async function lowLevel(): Promise<void> {
  const handler = watch('handler', () => turn())
  const event = watch('event', { args: watch('args', { city: 'Berlin' }) })
  const hooks = watch('hooks', hooksOfEveryType(handler, { id: 'low' }))
  const undo = dispatcher.register('low', hooks)
  dispatcher.dispatch('low', 'afterToolCall', event)
  await dispatcher.dispatchBeforeToolCall('low', event)
  undo()
  dispatcher.unregister('low')
}

async function highLevel(): Promise<void> {
  const hooks = hooksOfEveryType(
    watch('handler of an Operation', (event) => void watch('delivered event', event)),
  )
  const op = watch('operation', dispatcher.startOperation({ hooks, signal: controller.signal }))
  await op.step(async (step) => {
    const args = watch('tool arguments', { q: 1 })
    await step.toolCall({ apiName: 'search', args }, () => watch('tool result', { found: [] }))
    await step.toolCall({ apiName: 'slow', args }, () => turn())
    await step.llmCall({ model: 'm', request: watch('request', {}) }, async () =>
      watch('reply', { content: 'x' }),
    )
  })
  await op.complete()
}

async function many(count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    const op = dispatcher.startOperation({
      signal: controller.signal,
      hooks: hooksOfEveryType(() => {}),
      gates: [{ id: 'g', point: 'beforeToolCall', decide: async () => undefined }],
    })
    await op.step((step) => step.toolCall({ apiName: 'search', args: { i } }, async () => ({ i })))
    await op.complete()
  }
}

async function collect(): Promise<number> {
  for (let i = 0; i < 6; i++) {
    gc()
    await new Promise((resolve) => setImmediate(resolve))
  }
  return process.memoryUsage().heapUsed
}

await lowLevel()
await highLevel()
await everything(dispatcher, { signal: controller.signal })
await dispatcher.drain()
// What the compiler and the inline caches keep comes with the first ten thousand.
await many(15_000)
const before = await collect()
await many(5_000)
await dispatcher.drain()
const bytesPerOperation = ((await collect()) - before) / 5_000
const alive = [...watched].filter(([, ref]) => ref.deref() !== undefined).map(([name]) => name)
console.log(JSON.stringify({ alive, bytesPerOperation, stats: dispatcher.stats() }))
