import { assertHook } from '../hooks/agent-hook.ts'
import type { AgentHook, AnyHookType, HookContext, HookEvent } from '../hooks/index.ts'
import { within } from '../internal/async.ts'
import { errorMessage, errorType } from '../internal/errors.ts'
import { a, assertFields, expected, type Fields, TIMEOUT } from '../internal/expect.ts'
import { WEBHOOK_FIELDS, type WebhookOptions, WebhookSender } from '../internal/http/webhook-sender.ts'
import { safeStringify } from '../internal/json.ts'
import { defined, withMethods } from '../internal/objects.ts'
import { pulsebotPost } from './protocols/pulsebot.ts'

export interface WebhookHookOptions<T extends AnyHookType = AnyHookType> extends WebhookOptions {
  /** Unique within the operation. */
  id: string
  type: T
  match?: NonNullable<AgentHook<T>['match']>
  /** What is sent of an event; the event itself, prompts and results included, when absent. */
  select?: (event: HookEvent<T>) => unknown
  /**
   * `pulsebot`: what PulseBot posts after a tool that gave a result, to the endpoint that it asks before; only for
   * `afterToolCall`, and without `select`. @default 'hookspan'
   */
  protocol?: 'hookspan' | 'pulsebot'
}

const FIELDS: Fields<WebhookHookOptions> = {
  ...WEBHOOK_FIELDS,
  id: a.value,
  type: a.value,
  match: a.value,
  select: a.function,
  protocol: a.oneOf('hookspan', 'pulsebot'),
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
  assertFields<WebhookHookOptions<T>>(options, FIELDS, `webhook "${options?.id}"`)
  const { id, type, match, select, protocol, ...rest } = options
  assertProtocol(options)
  const sender = new WebhookSender(id, rest)
  const under = new Set<Promise<boolean>>()
  const hook = {
    ...defined({ id, type, match }),
    handler: (event: HookEvent<T>, { traceparent }: HookContext) => {
      const { operationId, sequence } = event
      const deliveryId = headerText(`${operationId}.${sequence}.${id}`)
      const shown = select === undefined ? plain(event) : select(event)
      const own = { id: deliveryId, type, event: shown }
      const posted = protocol === 'pulsebot' ? pulsebotPost(event as HookEvent<'afterToolCall'>) : own
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
function assertProtocol<T extends AnyHookType>(options: WebhookHookOptions<T>): void {
  const { id, type, select, protocol = 'hookspan' } = options
  const what = `\`protocol\` of hook "${id}"`
  if (protocol === 'pulsebot' && (type !== 'afterToolCall' || select !== undefined)) {
    throw expected(`${what} to come with \`type\` afterToolCall and without \`select\``, type)
  }
}

/** It is a header's value, and an operation id may be any text. */
function headerText(text: string): string {
  return text.toWellFormed().replace(/[^\x21-\x7e]+/gu, encodeURIComponent)
}

/** Errors become what JSON can carry of them. */
function plain(event: object): object {
  const { error } = event as { error?: unknown }
  if (error === undefined) return event
  return { ...event, error: { name: errorType(error), message: errorMessage(error) } }
}
