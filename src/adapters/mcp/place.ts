import type { HookDispatcher, Operation } from '../../dispatcher/index.ts'
import { defined } from '../../internal/objects.ts'
import { currentCalls, type SafeCalls } from '../safe/calls.ts'
import { SafeOperation, startOperation } from '../safe/operation.ts'

export interface PlaceOptions {
  readonly dispatcher: HookDispatcher
  readonly operation?: Operation
  readonly agentName?: string
}

/** Makes calls from where the code runs, else in the operation that was given, else in one of their own. */
export async function within<R>(
  { dispatcher, operation, agentName }: PlaceOptions,
  more: { readonly traceparent?: string; readonly signal?: AbortSignal },
  make: (calls: SafeCalls) => Promise<R>,
): Promise<R> {
  const calls = currentCalls() ?? (operation?.ended === false ? new SafeOperation(operation) : undefined)
  if (calls !== undefined) return make(calls)
  const own = startOperation(dispatcher, { ...defined({ agentName }), ...more })
  try {
    const result = await own.run(() => make(own))
    await own.complete()
    return result
  } catch (error) {
    if (own.signal?.aborted) await own.complete({ reason: 'interrupted' })
    else await own.fail(error)
    throw error
  }
}
