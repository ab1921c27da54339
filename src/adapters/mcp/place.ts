import { guardsRun } from '../../dispatcher/guards-of.ts'
import type { HookDispatcher, Operation } from '../../dispatcher/index.ts'
import { currentPlace } from '../../dispatcher/run/current.ts'
import { isGuarded } from '../../dispatcher/run/guarded.ts'
import type { PendingTool } from '../../hooks/index.ts'
import { toContent } from '../../internal/json.ts'
import { defined } from '../../internal/objects.ts'
import { asObject } from '../../wire/reading.ts'
import { currentCalls, type SafeCalls } from '../safe/calls.ts'
import { SafeOperation, startOperation } from '../safe/operation.ts'

export interface PlaceOptions {
  readonly dispatcher: HookDispatcher
  readonly operation?: Operation
  readonly agentName?: string
}

/**
 * Makes calls from where the code runs, else in the operation that was given, else in one of their own.
 *
 * @param asked the signal of whoever asks, which the SDK itself ends the call by.
 */
export async function within<R>(
  { dispatcher, operation, agentName }: PlaceOptions,
  more: { readonly traceparent?: string; readonly signal?: AbortSignal },
  make: (calls: SafeCalls) => Promise<R>,
  asked?: AbortSignal,
): Promise<R> {
  const calls =
    currentCalls(dispatcher) ?? (operation?.ended === false ? new SafeOperation(operation) : undefined)
  if (calls !== undefined) return make(calls)
  const own = startOperation(dispatcher, { ...defined({ agentName }), ...more })
  try {
    const result = await own.run(() => make(own))
    await own.complete()
    return result
  } catch (error) {
    if (own.signal?.aborted || asked?.aborted) await own.complete({ reason: 'interrupted' })
    else await own.fail(error)
    throw error
  }
}

/** Where the call of a tool is told already. */
export interface Told {
  readonly traceparent: string | undefined
  readonly signal: AbortSignal | undefined
  readonly toolCallId: string
}

/**
 * Whether the adapter of an SDK has told the call that is asked of a server now, as that of an agent's tool, which the SDK may
 * name after its server. By another name it is told once more where anybody decides: on that name, too.
 */
export function toldAlready(
  dispatcher: HookDispatcher,
  { identifier, apiName, args }: Omit<PendingTool, 'toolCallId'>,
): Told | undefined {
  const place = currentPlace(dispatcher) ?? (guardsRun(dispatcher, {}) ? undefined : currentPlace())
  const outer = place?.core.toolCallAt(place.site)
  // A server that asks another one makes a call of its own: that one no model has given an id.
  if (place === undefined || outer?.source !== 'mcp' || outer.toolCallId === outer.callKey) return undefined
  // Strands says in the arguments where in its own trace they are from.
  const { _meta, ...own } = asObject(args) ?? {}
  if (toContent(outer.args) !== toContent(own)) return undefined
  if (outer.identifier !== identifier || outer.apiName !== apiName) {
    if (!outer.apiName.endsWith(apiName)) return undefined
    if (isGuarded(place.core, ['beforeToolCall', 'afterToolCall'])) return undefined
  }
  const { core, site } = place
  return { traceparent: site.traced.traceparent, signal: core.signal, toolCallId: outer.toolCallId }
}
