import { a, assertFields } from '../internal/expect.ts'
import { WEBHOOK_FIELDS, type WebhookOptions, WebhookSender } from '../internal/http/webhook-sender.ts'
import { safeStringify } from '../internal/json.ts'
import type { ApprovalChannel } from './approvals.ts'

/**
 * Tells an endpoint of each request and of what became of it: `{ type: 'approval.requested' | 'approval.closed', ... }`,
 * signed, and again after failures. Its answer comes back through the approval routes with `webhookSecret`.
 *
 * @throws HookspanError `INVALID_OPTION`.
 */
export function webhookChannel(options: WebhookOptions & { name?: string }): ApprovalChannel {
  assertFields<WebhookOptions & { name?: string }>(
    options,
    { ...WEBHOOK_FIELDS, name: a.name },
    'webhookChannel',
  )
  const { name = 'webhook', ...rest } = options
  const sender = new WebhookSender(name, rest)
  const send = async (id: string, message: object): Promise<void> => {
    await sender.send({ id, body: safeStringify(message) })
  }
  return {
    name,
    requested: (request) => send(`${request.id}.requested`, { type: 'approval.requested', request }),
    closed: (record) => send(`${record.request.id}.closed`, { type: 'approval.closed', record }),
  }
}
