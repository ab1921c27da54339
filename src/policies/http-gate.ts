import type { Gate } from '../gates/index.ts'
import { GateFailure } from '../gates/index.ts'
import { errorMessage } from '../internal/errors.ts'
import { a, assertFields, type Fields, named, required } from '../internal/expect.ts'
import { assertHeaders, assertTarget, type PostReply, postJson } from '../internal/http/post-json.ts'
import { defined } from '../internal/objects.ts'
import { assertSecret, ReplayGuard, SIGNATURE_HEADERS, verifySignature } from '../internal/signature.ts'
import {
  DEFAULT_MAX_BODY_BYTES,
  firstPoint,
  REMOTE_FIELDS,
  type RemoteGateOptions,
  sharedOf,
} from './command-gate.ts'
import { invocationOf, probe, readDecision } from './invocation.ts'
import { dialectOf } from './protocols/protocol.ts'

export interface HttpGateOptions extends RemoteGateOptions {
  /** http or https. Redirects are not followed. */
  url: string
  /** Signs each request with HMAC-SHA256; check it with `verifySignature`. Warned of when shorter than 16 bytes. */
  secret?: string
  headers?: Readonly<Record<string, string>>
  /** Lets the URL lead to this machine or to a private network, by name or by address. @default false */
  allowPrivateAddresses?: boolean
  /**
   * Takes only a reply that is signed with the same secret and carries the request's id. One that carries a wrong
   * signature is never taken. @default false
   */
  requireSignedReply?: boolean
}

export const HTTP_GATE: Fields<HttpGateOptions> = {
  ...REMOTE_FIELDS,
  url: required(a.value),
  secret: a.value,
  headers: a.value,
  allowPrivateAddresses: a.boolean,
  requireSignedReply: a.boolean,
}

/**
 * A gate that is an endpoint: it is posted the question as JSON and answers 200 with one decision as JSON. Every other
 * status, a redirect and a broken reply are failures and deny, unless `onFailure` says else.
 *
 * @throws HookspanError `INVALID_OPTION`.
 * @example
 * httpGate({ id: 'guard', point: 'beforeToolCall', url: 'https://guard.example/decide', secret: process.env.GUARD_SECRET })
 */
export function httpGate(options: HttpGateOptions): Gate {
  assertFields<HttpGateOptions>(options, HTTP_GATE, named('gate', options))
  const {
    id,
    point,
    secret,
    headers = {},
    allowPrivateAddresses = false,
    requireSignedReply = false,
  } = options
  const owner = `gate "${id}"`
  const dialect = dialectOf(options.protocol, point, owner)
  const url = assertTarget(options.url, owner, allowPrivateAddresses)
  const maxBodyBytes = options.maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES
  if (secret !== undefined) assertSecret(secret, owner)
  if (requireSignedReply) assertSecret(secret, owner)
  assertHeaders(headers, owner)
  const replay = new ReplayGuard()
  const decide: Gate['decide'] = async (ctx) => {
    const { signal, traceparent } = ctx
    const requestId = `msg_${crypto.randomUUID()}`
    const reply = await postJson({
      url,
      body: invocationOf(dialect, id, ctx, maxBodyBytes),
      id: requestId,
      ...defined({ secret }),
      headers: { ...headers, ...defined({ traceparent }) },
      signal,
      maxBodyBytes,
      allowPrivateAddresses,
    }).catch((error: unknown) => {
      throw new GateFailure('gate_error', `${url.host} did not answer: ${errorMessage(error)}`, {
        cause: error,
      })
    })
    if (reply.status < 200 || reply.status > dialect.maxStatus) {
      throw new GateFailure('gate_error', `${url.host} answered with status ${reply.status}`)
    }
    const { 'content-encoding': encoding = 'identity' } = reply.headers
    if (encoding.toLowerCase() !== 'identity') {
      const mend = 'Let it answer uncompressed, as it is asked to (`accept-encoding: identity`).'
      throw new GateFailure('gate_invalid', `the reply of ${url.host} is compressed (${encoding}). ${mend}`)
    }
    if (secret !== undefined) checkReply(reply, requestId, secret, requireSignedReply, replay)
    return readDecision(dialect, reply.bytes, ctx.point, `the reply of ${url.host}`)
  }
  return {
    ...sharedOf(options),
    runtime: 'http',
    decide,
    async check({ signal }) {
      await decide(probe(firstPoint(point), signal))
    },
  }
}

/** A reply that is signed must be signed well, and be the answer to this very request. */
function checkReply(
  { headers, bytes: body }: PostReply,
  requestId: string,
  secret: string,
  required: boolean,
  replay: ReplayGuard,
): void {
  if (!required && headers[SIGNATURE_HEADERS.signature] === undefined) return
  try {
    const { id } = verifySignature({ secret, headers, body, replay })
    if (id !== requestId) throw new Error(`the reply is the answer to another request`)
  } catch (error) {
    throw new GateFailure('gate_invalid', errorMessage(error))
  }
}
