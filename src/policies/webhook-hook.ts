import { assertHook } from '../hooks/agent-hook.ts'
import type { AgentHook, AnyHookType, HookContext, HookEvent } from '../hooks/index.ts'
import { within } from '../internal/async.ts'
import { a, assertFields, expected, type Fields, named, required, TIMEOUT } from '../internal/expect.ts'
import { WEBHOOK_FIELDS, type WebhookOptions, WebhookSender } from '../internal/http/webhook-sender.ts'
import { safeStringify } from '../internal/json.ts'
import { defined, withMethods } from '../internal/objects.ts'
import { pulsebotPost } from './protocols/pulsebot.ts'
import { assertTold, TOLD_FIELDS, type ToldFields, toldEvent } from './told-event.ts'

interface SharedOptions<T extends AnyHookType> extends WebhookOptions, ToldFields<T> {
  /** Unique within the operation. */
  id: string
  match?: NonNullable<AgentHook<T>['match']>
  /**
   * `pulsebot`: what PulseBot posts after a tool that gave a result, to the endpoint that it asks before; only for
   * `afterToolCall`, and without `select`. @default 'hookspan'
   */
  protocol?: 'hookspan' | 'pulsebot'
}

export interface WebhookHookOptions<T extends AnyHookType = AnyHookType> extends SharedOptions<T> {
  type: T
}

export interface WebhookHooksOptions<T extends AnyHookType = AnyHookType> extends SharedOptions<T> {
  /** At least one. */
  types: readonly T[]
}

const SHARED: Fields<SharedOptions<AnyHookType>> = {
  ...WEBHOOK_FIELDS,
  id: required(a.name),
  match: a.value,
  ...TOLD_FIELDS,
  protocol: a.oneOf('hookspan', 'pulsebot'),
}
const FIELDS: Fields<WebhookHookOptions> = { ...SHARED, type: a.value }
const HOOKS_FIELDS: Fields<WebhookHooksOptions> = {
  ...SHARED,
  id: required(a.name),
  types: required(a.strings),
}

/** A hook that observes over the wire. */
export type WebhookHook<T extends AnyHookType = AnyHookType> = AgentHook<T> & {
  /** Waits until everything was delivered or given up. @param options.timeoutMs default 30 000 */
  flush(options?: { timeoutMs?: number }): Promise<void>
}

/**
 * Posts each event to an endpoint as `{ id, type, event }`: signed, in a bounded queue, again after failures, with the
 * same id each time. The agent never waits for it. Delivery is at least once, and not in order where one is retried:
 * `event.sequence` tells.
 *
 * @throws HookspanError `INVALID_OPTION`, `INVALID_HOOK`.
 * @example
 * webhookHook({ id: 'billing', type: 'onComplete', url: 'https://billing.example/runs', secret, deadLetterPath: 'dead.jsonl' })
 */
export function webhookHook<T extends AnyHookType>(options: WebhookHookOptions<T>): WebhookHook<T> {
  assertFields<WebhookHookOptions<T>>(options, FIELDS, named('webhook', options))
  const { type, ...shared } = options
  return makeHook(shared, shared.id, type, senderOf(shared))
}

/**
 * The same for several types of events, through one queue: a hook for each, named `<id>:<type>`, for the `hooks` of a plugin.
 *
 * @throws HookspanError `INVALID_OPTION`, `INVALID_HOOK`.
 * @example
 * webhookHooks({ id: 'ops', types: ['onComplete', 'onError'], url: 'https://ops.example/', fields: ['operationId', 'timestamp'] })
 */
export function webhookHooks<T extends AnyHookType>(options: WebhookHooksOptions<T>): WebhookHook<T>[] {
  assertFields<WebhookHooksOptions<T>>(options, HOOKS_FIELDS, named('webhook', options))
  return webhooksOn(senderOf(options), options)
}

/** The same with a sender of the caller's, who wants to know what became of the deliveries. */
export function webhooksOn<T extends AnyHookType>(
  sender: WebhookSender,
  { types, ...shared }: WebhookHooksOptions<T>,
): WebhookHook<T>[] {
  if (types.length === 0 || new Set(types).size < types.length) {
    throw expected(`\`types\` of webhook "${shared.id}" to be types of events, each once`, types)
  }
  return types.map((type) => makeHook(shared, `${shared.id}:${type}`, type, sender))
}

export function senderOf<T extends AnyHookType>(
  options: SharedOptions<T> & { types?: readonly T[] },
): WebhookSender {
  const { id, match, fields, select, protocol, types, ...rest } = options
  return new WebhookSender(id, rest)
}

function makeHook<T extends AnyHookType>(
  options: SharedOptions<T>,
  id: string,
  type: T,
  sender: WebhookSender,
): WebhookHook<T> {
  assertChoice(options, type)
  const { match, protocol } = options
  const under = new Set<Promise<boolean>>()
  const hook = {
    ...defined({ id, type, match }),
    handler: (event: HookEvent<T>, { traceparent }: HookContext) => {
      const { operationId, sequence } = event
      const deliveryId = headerText(`${operationId}.${sequence}.${id}`)
      const posted =
        protocol === 'pulsebot'
          ? pulsebotPost(event as HookEvent<'afterToolCall'>)
          : { id: deliveryId, type, event: toldEvent(event, options) }
      if (posted === undefined) return
      const body = safeStringify(posted)
      const sent = sender.send({ id: deliveryId, body, ...defined({ traceparent }) })
      under.add(sent)
      sent.finally(() => under.delete(sent))
    },
  }
  assertHook(hook)
  const flush = async (asked: { timeoutMs?: number } = {}) => {
    assertFields(asked, TIMEOUT, 'flush()')
    const { timeoutMs = 30_000 } = asked
    // The timer is not unref'd: retries do not keep the process alive, whoever waits for them does.
    await within(timeoutMs, Promise.all(under))
  }
  return withMethods(hook, { flush }) as unknown as WebhookHook<T>
}

/** @throws HookspanError `INVALID_OPTION`. */
function assertChoice<T extends AnyHookType>(options: SharedOptions<T>, type: T): void {
  const { id, fields, select, protocol = 'hookspan' } = options
  const chosen = fields !== undefined || select !== undefined
  if (protocol === 'pulsebot' && (type !== 'afterToolCall' || chosen)) {
    const what = `\`protocol\` of hook "${id}"`
    throw expected(`${what} to come with \`type\` afterToolCall, and without \`fields\` and \`select\``, type)
  }
  assertTold(options, `webhook "${id}"`)
}

/** It is a header's value, and an operation id may be any text. */
function headerText(text: string): string {
  return text.toWellFormed().replace(/[^\x21-\x7e]+/gu, encodeURIComponent)
}
