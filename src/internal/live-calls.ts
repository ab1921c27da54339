import { AsyncLocalStorage } from 'node:async_hooks'

/** Asked before a real tool runs; throws to refuse it. */
export type ToolGuard = (call: { readonly identifier: string; readonly apiName: string }) => void

const toolGuards = new Set<ToolGuard>()

/** @returns takes the guard out again. */
export function addToolGuard(guard: ToolGuard): () => void {
  toolGuards.add(guard)
  return () => toolGuards.delete(guard)
}

/** @throws what a guard throws. */
export function assertToolMayRun(call: { readonly identifier: string; readonly apiName: string }): void {
  for (const guard of toolGuards) guard(call)
}

/** One model call while it is made, so that whoever answers it in this process can say that it did. */
export interface ModelCallMark {
  readonly model: string
  scripted: boolean
}

const modelCalls = new AsyncLocalStorage<ModelCallMark>()

export function runModelCall<T>(mark: ModelCallMark, fn: () => T): T {
  return modelCalls.run(mark, fn)
}

export function currentModelCall(): ModelCallMark | undefined {
  return modelCalls.getStore()
}
