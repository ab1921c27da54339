import { describeValue, HookspanError } from '../internal/errors.ts'
import { a, assertFields, expected, type Fields, required } from '../internal/expect.ts'
import { GLOB } from '../internal/glob.ts'
import type { HookEvent } from './events.ts'
import { type AnyHookType, EXTENDED_HOOK_TYPES, HOOK_TYPES, isHookType } from './hook-types.ts'

export const DEFAULT_TIMEOUT_MS = 30_000
export const DEFAULT_MAX_PENDING = 1_000
export const DEFAULT_PRIORITY = 100

/** What a handler gets beside its event. */
export interface HookContext {
  /** Aborted when the handler exceeds its `timeoutMs`. */
  readonly signal: AbortSignal
  /** W3C trace context of the operation, to hand to what the handler calls; undefined where nothing is traced. */
  readonly traceparent: string | undefined
}

/**
 * One observer of one kind of event. It can never change what the agent does.
 *
 * Without a type argument it is the union over all types, so that in a list of hooks each handler's event has the
 * type that its `type` says.
 */
export type AgentHook<T extends AnyHookType = AnyHookType> = { [K in T]: HookOf<K> }[T]

/** A hook as the dispatcher runs it: what keeps its type and its events together is the registration by type. */
export interface RunnableHook extends Omit<HookOf<AnyHookType>, 'handler' | 'match'> {
  handler(event: HookEvent, context: HookContext): unknown
  match?: string | RegExp | ((event: HookEvent) => boolean)
}

interface HookOf<T extends AnyHookType> {
  /** Unique within the operation. */
  id: string
  type: T
  /** What it gives is not read: a number may come back, as of `seen.push(event)`, and nothing that looks like a decision. */
  // biome-ignore lint/suspicious/noConfusingVoidType: an async function without a return statement is a valid handler
  handler: (event: HookEvent<T>, context: HookContext) => void | number | Promise<void | number>
  /**
   * Which events reach the handler. For tool hooks a string is a glob over `apiName` and over
   * `identifier/apiName` (`*` any run of characters, `?` one; other signs of patterns are refused), a RegExp is tested against the same two.
   * A predicate may be used with every type; when it throws, the event is not delivered and the failure is reported.
   */
  match?: string | RegExp | ((event: HookEvent<T>) => boolean)
  /**
   * Milliseconds a handler may take, from its call. Past it the handler is reported as timed out, its signal is
   * aborted and the next event is delivered. Minimum 1; `Infinity` switches the limit off.
   *
   * For `beforeToolCall` it is also how long the tool call waits for an asynchronous handler to call `mock()`,
   * from the call on; there the default is the dispatcher's `mockTimeoutMs` (1 000) for a hook that does not say
   * whether it mocks.
   *
   * @default 30_000
   */
  timeoutMs?: number
  /**
   * For `beforeToolCall`: whether the handler stands in for tools.
   *
   * `true`: a tool call waits for it up to its `timeoutMs`. When it is late then, or fails before it has called `mock()`,
   * the call is refused with the code `mock_timeout` or `mock_error`: the real tool does not run.
   *
   * `false`: no tool call waits for it. A `mock()` of it throws and fails the call.
   *
   * Absent: a tool call waits for an asynchronous handler, and when it is late, runs the tool, and does not wait for it
   * again in that run. A hook that has called `mock()` once is waited for as with `true`, and refused when late.
   */
  mocks?: boolean
  /**
   * How many events may wait for a slow handler, per operation. Past it the oldest are dropped, counted and
   * reported once per burst. Minimum 1.
   *
   * @default 1_000
   */
  maxPending?: number
  /** Lower runs first; equal priorities run in the order of registration. @default 100 */
  priority?: number
}

const TOOL_TYPES: ReadonlySet<AnyHookType> = new Set(['beforeToolCall', 'afterToolCall', 'onToolCallError'])

const FIELDS: Fields<RunnableHook> = {
  id: required(a.name),
  type: a.value,
  handler: required(a.function),
  match: a.value,
  timeoutMs: a.milliseconds,
  maxPending: a.integer(1),
  mocks: a.boolean,
  priority: a.finite,
}

/**
 * Checks one hook, so that a mistake is loud at registration and not silent at run time.
 *
 * @throws HookspanError `INVALID_HOOK` naming the value and the mend.
 */
export function assertHook(hook: unknown): asserts hook is AgentHook {
  if (typeof hook !== 'object' || hook === null) throw expected('a hook object', hook, 'INVALID_HOOK')
  const { id, type, match, mocks } = hook as Record<string, unknown>
  const whose = a.name.fits(id) ? `hook "${id}"` : 'the hook'
  assertFields<RunnableHook>(hook, FIELDS, whose, 'INVALID_HOOK')
  if (!isHookType(type)) {
    const known = [...HOOK_TYPES, ...EXTENDED_HOOK_TYPES].join(', ')
    const message = `Unknown hook type ${describeValue(type)} in ${whose}. Known types: ${known}.`
    throw new HookspanError('INVALID_HOOK', message)
  }
  assertMatch(whose, type, match)
  if (mocks !== undefined && type !== 'beforeToolCall') {
    const message = `\`mocks\` of ${whose} is for "beforeToolCall", and it is of "${type}". Take it out.`
    throw new HookspanError('INVALID_HOOK', message)
  }
}

/**
 * Checks a list of hooks that one operation is to get; `known` are the ids it has already.
 *
 * @throws HookspanError `INVALID_HOOK`, or `DUPLICATE_HOOK` when an id is in use in this operation.
 */
export function assertHooks(
  hooks: unknown,
  owner: string,
  known?: ReadonlyMap<string, unknown>,
): asserts hooks is AgentHook[] {
  if (!Array.isArray(hooks)) throw expected('a list of hooks', hooks, 'INVALID_HOOK')
  const ids = new Set<string>()
  for (const hook of hooks) {
    assertHook(hook)
    if (ids.has(hook.id) || known?.has(hook.id)) {
      throw new HookspanError(
        'DUPLICATE_HOOK',
        `Hook id "${hook.id}" is already registered for ${owner}. Give each hook an id of its own.`,
      )
    }
    ids.add(hook.id)
  }
}

function assertMatch(whose: string, type: AnyHookType, match: unknown): void {
  if (match === undefined || typeof match === 'function') return
  if (typeof match === 'string' && match !== '' && !GLOB.fits(match)) {
    throw expected(`\`match\` of ${whose} to be ${GLOB.words}, or a RegExp`, match, 'INVALID_HOOK')
  }
  if (!a.name.fits(match) && !(match instanceof RegExp)) {
    throw expected(`\`match\` of ${whose} to be a glob, a RegExp or a predicate`, match, 'INVALID_HOOK')
  }
  if (TOOL_TYPES.has(type)) return
  const message = `\`match\` of ${whose} is a tool name pattern, but "${type}" is not a tool hook.`
  throw new HookspanError('INVALID_HOOK', `${message} Use a predicate instead.`)
}
