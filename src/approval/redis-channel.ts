import type { ApprovalAnswer } from '../gates/index.ts'
import { callBeside } from '../internal/async.ts'
import { errorMessage } from '../internal/errors.ts'
import { a, assertFields, type Fields } from '../internal/expect.ts'
import { parseHostileJson } from '../internal/hostile-json.ts'
import { safeStringify } from '../internal/json.ts'
import { defined } from '../internal/objects.ts'
import { assertSecret, ReplayGuard, signatureHeaders, verifySignature } from '../internal/signature.ts'
import type { ApprovalChannel } from './approvals.ts'
import { REDIS_PLACE, type RedisPlace, RedisPool } from './redis-client.ts'
import { BROKER, isElsewhere } from './told-to-all.ts'

export interface RedisChannelOptions extends RedisPlace {
  /** Signs what is published, and what is answered: whoever may publish on the broker is not whoever may approve. */
  secret: string
  /** @default 'agent-approval-requests' */
  requestTopic?: string
  /** @default 'agent-approval-responses' */
  responseTopic?: string
  /** Told of a message that was refused. @default console.warn */
  onRefused?: (error: unknown, message: string) => void
}

const FIELDS: Fields<RedisChannelOptions> = {
  ...REDIS_PLACE,
  secret: a.value,
  requestTopic: a.name,
  responseTopic: a.name,
  onRefused: a.function,
}

/** A message of the broker: what was said, and who may have said it. */
interface Envelope {
  readonly body: string
  readonly headers: Record<string, string>
}

/**
 * Publishes requests to a Redis channel and takes the answers from another: `{ id, answer }`, put into an envelope with
 * {@link signedMessage}.
 *
 * @throws HookspanError `INVALID_OPTION`, `MISSING_DEPENDENCY`.
 */
export function redisChannel(options: RedisChannelOptions): ApprovalChannel {
  assertFields<RedisChannelOptions>(options, FIELDS, 'redisChannel')
  const {
    secret,
    requestTopic = 'agent-approval-requests',
    responseTopic = 'agent-approval-responses',
  } = options
  assertSecret(secret, 'the Redis channel')
  const pool = new RedisPool(options)
  const replay = new ReplayGuard()
  const warn = (error: unknown) =>
    console.warn(`[hookspan] an answer from ${responseTopic} was refused: ${errorMessage(error)}`)
  const { onRefused = warn } = options
  const publish = (id: string, message: object) =>
    pool.publish(requestTopic, signedMessage(secret, message, id))
  return {
    name: 'redis',
    requested: (request) => publish(`${request.id}.requested`, { type: 'approval.requested', request }),
    closed: (record) => publish(`${record.request.id}.closed`, { type: 'approval.closed', record }),
    async open(approvals) {
      const stop = await pool.subscribe(responseTopic, async (message) => {
        try {
          const { id, answer } = readMessage(secret, message, replay) as {
            id: string
            answer: ApprovalAnswer
          }
          await approvals.respond(id, answer, { channel: BROKER })
        } catch (error) {
          // The client waits for none of this.
          if (!isElsewhere(error)) callBeside(() => onRefused(error, message), warn)
        }
      })
      return async () => {
        stop()
        await pool.dispose()
      }
    },
  }
}

/** A message for the broker, signed like a webhook. */
export function signedMessage(secret: string, value: object, id: string = crypto.randomUUID()): string {
  const body = safeStringify(value)
  return JSON.stringify({ body, headers: signatureHeaders({ secret, id, body }) } satisfies Envelope)
}

/** @throws HookspanError `INVALID_SIGNATURE`, Error for what is no message. */
export function readMessage(secret: string, message: string, replay?: ReplayGuard): unknown {
  const { body, headers } = parseHostileJson(message) as Partial<Envelope>
  if (typeof body !== 'string' || typeof headers !== 'object' || headers === null) {
    throw new Error('it is not a signed message')
  }
  verifySignature(defined({ secret, headers, body, replay }))
  return parseHostileJson(body)
}
