// Checked by `npm run typecheck`; nothing here runs.
import {
  type AfterToolCallEvent,
  type AgentHook,
  type AnyHookType,
  type BeforeToolCallEvent,
  type EXTENDED_HOOK_TYPES,
  HOOK_TYPES,
  HookDispatcher,
  type HookEvent,
  type HookEventMap,
  type HookType,
  isHookType,
  type TokenUsage,
  type ToolMock,
} from 'hookspan'
import { deny } from 'hookspan/gates'
import { expectTypeOf } from 'vitest'

const dispatcher = new HookDispatcher()

// Sixteen and four, and an event for each.
expectTypeOf(HOOK_TYPES).toExtend<readonly HookType[]>()
expectTypeOf<(typeof HOOK_TYPES)['length']>().toEqualTypeOf<16>()
expectTypeOf<(typeof EXTENDED_HOOK_TYPES)['length']>().toEqualTypeOf<4>()
expectTypeOf<keyof HookEventMap>().toEqualTypeOf<AnyHookType>()
declare const text: string
if (isHookType(text)) expectTypeOf(text).toEqualTypeOf<AnyHookType>()

// HookEvent<T> is the event of T, and narrows by hookType.
expectTypeOf<HookEvent<'afterToolCall'>>().toEqualTypeOf<AfterToolCallEvent>()
declare const event: HookEvent
if (event.hookType === 'beforeToolCall') {
  expectTypeOf(event).toEqualTypeOf<BeforeToolCallEvent>()
  expectTypeOf(event.mock).parameters.toEqualTypeOf<[ToolMock]>()
}
if (event.hookType === 'afterLlmCall') expectTypeOf(event.usage).toEqualTypeOf<TokenUsage | undefined>()
if (event.hookType === 'onComplete') {
  expectTypeOf(event.reason).toEqualTypeOf<
    'done' | 'error' | 'interrupted' | 'max_steps' | 'cost_limit' | 'denied'
  >()
}

// @ts-expect-error only beforeToolCall can mock
event.mock({ content: '' })
// @ts-expect-error an event is readonly
event.sequence = 1
// @ts-expect-error no such type
export type Unknown = HookEvent<'beforeToolcall'>

// A handler's event has the type that its hook's `type` says, also in a list of several.
dispatcher.register('op', [
  {
    id: 'a',
    type: 'beforeToolCall',
    handler: (e, { signal }) => {
      expectTypeOf(e).toEqualTypeOf<BeforeToolCallEvent>()
      expectTypeOf(signal).toEqualTypeOf<AbortSignal>()
      e.mock({ content: 'x', data: { a: 1 }, delayMs: 5 })
      e.mock({ error: 'x' })
      // @ts-expect-error neither content nor error
      e.mock({ data: 1 })
      // @ts-expect-error one of the two
      e.mock({ content: 7 })
    },
  },
  {
    id: 'b',
    type: 'afterToolCall',
    match: 'search*',
    handler: (e) => void expectTypeOf(e.success).toEqualTypeOf<boolean>(),
  },
  { id: 'c', type: 'onComplete', match: (e) => e.reason === 'done', handler: async () => {} },
])

const typed: AgentHook<'onError'> = { id: 'e', type: 'onError', handler: (e) => console.error(e.errorType) }
dispatcher.register('op', [typed])
const lists: AgentHook[] = [typed]
dispatcher.use({ name: 'p', hooks: lists })

// What is written at once, and nothing that is meant to decide.
const seen: HookEvent[] = []
export const keeps: AgentHook[] = [
  { id: 's', type: 'afterToolCall', handler: (e) => seen.push(e) },
  { id: 'a', type: 'onError', handler: async (e) => seen.push(e) },
]
// @ts-expect-error a hook decides nothing
export const denies: AgentHook = { id: 'x', type: 'beforeToolCall', handler: () => deny('no') }
// @ts-expect-error a hook decides nothing
export const later: AgentHook = { id: 'x', type: 'beforeToolCall', handler: async () => deny('no') }
// @ts-expect-error a hook decides nothing
export const says: AgentHook = { id: 'x', type: 'beforeToolCall', handler: () => ({ action: 'deny' }) }
// @ts-expect-error a hook lets nothing through, and keeps nothing back
export const keepsBack: AgentHook = { id: 'x', type: 'beforeToolCall', handler: (e) => e.apiName !== 'rm' }

// @ts-expect-error a handler is required
export const noHandler: AgentHook = { id: 'x', type: 'onError' }
// @ts-expect-error an unknown type
export const unknownType: AgentHook = { id: 'x', type: 'onFinish', handler: () => {} }
declare const ofToolCalls: (event: AfterToolCallEvent) => void
// @ts-expect-error the handler is for another event
export const otherEvent: AgentHook<'onError'> = { id: 'x', type: 'onError', handler: ofToolCalls }
// @ts-expect-error milliseconds are numbers
export const textTime: AgentHook = { id: 'x', type: 'onError', handler: () => {}, timeoutMs: '5s' }
// @ts-expect-error fields of other types are not there
export const wrongField: AgentHook = { id: 'x', type: 'beforeStep', handler: (e) => e.apiName }

// dispatch takes what the dispatcher does not stamp itself.
dispatcher.dispatch('op', 'beforeStep', { stepIndex: 0 })
// It can be chained, and no rule about forgotten promises asks for it.
const dispatched = dispatcher.dispatch('op', 'onError', { errorMessage: 'x', errorType: 'y' })
expectTypeOf(dispatched).toExtend<PromiseLike<void>>()
expectTypeOf(dispatched).not.toExtend<Promise<void>>()
expectTypeOf(dispatched.catch(() => {})).toEqualTypeOf<Promise<void>>()
expectTypeOf(dispatcher.dispatchBeforeToolCall('op', {})).toEqualTypeOf<Promise<ToolMock | null>>()
// @ts-expect-error an unknown type
dispatcher.dispatch('op', 'beforeToolcall', {})
expectTypeOf(dispatcher.register('op', [])).toEqualTypeOf<() => void>()
expectTypeOf(dispatcher.use({ name: 'p' })).toEqualTypeOf<Disposable>()
