import { errorMessage, HookspanError } from '../internal/errors.ts'
import { a, assertFields, type Fields, required, secret, shape } from '../internal/expect.ts'
import { MAX_ANSWER_BYTES, statusOfRefusal } from '../internal/http/answer.ts'
import { bearerToken, ownerOfToken, type TokenOwner, tokenOwners } from '../internal/http/bearer.ts'
import { json, problem, readBody, rootPath, tooMany, unauthorized } from '../internal/http/reply.ts'
import type { Routes as ApprovalRoutes, AskedFrom } from '../internal/http/serve-routes.ts'
import { defined } from '../internal/objects.ts'
import { RateLimiter } from '../internal/rate-limiter.ts'
import { assertSecret, ReplayGuard, SIGNATURE_HEADERS, verifySignature } from '../internal/signature.ts'
import { type AnswerOrigin, originOf } from './answer-origin.ts'
import type { Approvals } from './approvals.ts'
import { daprAnswer, daprRequest } from './dapr.ts'
import { AnswerUnread, readAnswer } from './read-answer.ts'
import type { ApprovalFilter, ApprovalRecord, ApprovalStatus } from './store.ts'

export interface ApprovalRoutesOptions {
  approvals: Approvals
  /** Bearer token of somebody whose name is told by the answer's `approver`. Warned of when shorter than 16 characters. */
  token?: string
  /** Bearer tokens by the name of their owner, who is the approver then, whatever the answer says. */
  tokens?: Readonly<Record<string, string>>
  /**
   * Takes signed answers, too (see `verifySignature`), without a bearer token. The path is not signed: an answer that
   * lets a call run must carry the request's `argsDigest`. Several while the secret is changed: any of them counts.
   */
  webhookSecret?: string | readonly string[]
  /**
   * `dapr`: requests are listed, and `{ approved, reason? }` is taken, as by Dapr Agents. Its answers neither say who
   * gives them nor which arguments were seen, so it needs `tokens`, and takes no `token` and no `webhookSecret`.
   *
   * @default 'hookspan'
   */
  protocol?: 'hookspan' | 'dapr'
  /** @default '/hitl' */
  basePath?: string
  /** Lets anybody who reaches the server read the requests, with their arguments. @default false */
  openForReading?: boolean
  /** Requests a minute by one token, and refused ones in all. @default 120 */
  perMinute?: number
}

/** What `createApprovals()` gave, of another copy of hookspan, too. */
const APPROVALS = shape('what createApprovals() gave', (value) => {
  const { ready, respond, noteRefused } = (value ?? {}) as Partial<Approvals>
  return [ready, respond, noteRefused].every((one) => typeof one === 'function')
})

export const ROUTES_FIELDS: Fields<ApprovalRoutesOptions> = {
  approvals: required(APPROVALS),
  token: a.value,
  tokens: secret(a.object),
  webhookSecret: a.value,
  protocol: a.oneOf('hookspan', 'dapr'),
  basePath: a.string,
  openForReading: a.boolean,
  perMinute: a.number(1),
}

export type { ApprovalRoutes }

/**
 * Routes for any server that speaks `Request` and `Response`:
 *
 * - `GET /hitl/approvals?status=pending&limit=100` (1,000 at most), `GET /hitl/approvals/{id}`
 * - `POST /hitl/approvals/{id}/respond` with `{ decision, reason?, args?, argsDigest, approver? }`
 *
 * @throws HookspanError `INVALID_OPTION` where nobody could ever answer, or a token is too short.
 */
export function approvalRoutes(options: ApprovalRoutesOptions): ApprovalRoutes {
  assertFields<ApprovalRoutesOptions>(options, ROUTES_FIELDS, 'the approval routes')
  const { approvals, webhookSecret, basePath = '/hitl', openForReading = false, perMinute = 120 } = options
  const speaksDapr = isDapr(options)
  const owners = ownersOf(options)
  const limiter = new RateLimiter(perMinute)
  const replay = new ReplayGuard()
  const root = `${rootPath(basePath)}/approvals`

  async function answer(request: Request, address: string | undefined): Promise<Response | undefined> {
    const { pathname, searchParams } = new URL(request.url)
    if (pathname !== root && !pathname.startsWith(`${root}/`)) return undefined
    const [, id, action, ...rest] = pathname.slice(root.length).split('/')
    const responds = action === 'respond' && rest.length === 0 && id
    if (action !== undefined && !responds) return problem(404, 'There is no such route.')
    const method = responds ? 'POST' : 'GET'
    if (request.method !== method) return problem(405, `Use ${method}.`, { allow: method })
    const body = responds ? await readBody(request, MAX_ANSWER_BYTES) : new Uint8Array()
    if (body instanceof Response) return body
    const found = whoIs(request, body, owners, responds ? webhookSecret : undefined, replay)
    const caller = found instanceof Error ? undefined : found
    if (caller === undefined && !(openForReading && !responds))
      return refuse(id, responds === id, found, address)
    const waitMs = limiter.take(caller?.key ?? 'anonymous')
    if (waitMs > 0) return tooMany(waitMs)
    if (!responds) {
      const asked = id
        ? await approvals.get(decodeURIComponent(id))
        : await approvals.list(
            speaksDapr ? { status: 'pending', limit: MOST_LISTED } : filterOf(searchParams),
          )
      if (asked === undefined) return problem(404, 'There is no such request.')
      if (!speaksDapr) return json(200, asked)
      return json(200, Array.isArray(asked) ? asked.map(daprRequest) : daprRequest(asked as ApprovalRecord))
    }
    const requestId = decodeURIComponent(id as string)
    if (!speaksDapr) return respond(approvals, requestId, request, body, caller, address)
    const record = await respond(approvals, requestId, request, body, caller, address, daprAnswer)
    if (!record.ok) return record
    const { approved } = JSON.parse(Buffer.from(body).toString())
    return json(200, { status: 'ok', approval_request_id: requestId, approved })
  }

  async function refuse(
    id: string | undefined,
    changes: boolean,
    why: unknown,
    address: string | undefined,
  ): Promise<Response> {
    const waitMs = limiter.take('refused')
    const isSigned = why instanceof Error
    const origin = defined({ channel: isSigned ? SIGNED : 'http', address })
    if (changes && waitMs === 0)
      await approvals.noteRefused({ requestId: id ?? '', code: 'UNAUTHORIZED', ...origin })
    return waitMs > 0 ? tooMany(waitMs) : unauthorized(isSigned ? why.message : undefined)
  }

  return async (request, from) => {
    try {
      return await answer(request, addressIn(from))
    } catch (error) {
      return problemOf(error)
    }
  }
}

async function respond(
  approvals: Approvals,
  requestId: string,
  request: Request,
  body: Uint8Array,
  caller: Caller | undefined,
  address: string | undefined,
  translate?: (body: unknown) => object,
): Promise<Response> {
  const isSigned = caller?.key === SIGNED
  const origin: AnswerOrigin = defined({
    channel: isSigned ? SIGNED : 'http',
    // Theirs alone is the token; of whom it names nobody, or where a machine signs, the name is what is said.
    identity: caller?.name === undefined ? undefined : ('proved' as const),
    address,
  })
  const answer = await readAnswer(
    {
      ...defined({ translate }),
      requestId,
      body,
      contentType: request.headers.get('content-type') ?? '',
      approver: caller?.name,
      // Caught on its way and sent to another request, in a process that has not seen it, it would count for that one.
      needsDigest: isSigned,
    },
    (details) => approvals.noteRefused({ ...details, ...originOf(origin, details.approver) }),
  )
  return json(200, await approvals.respond(requestId, answer, origin))
}

/** Servers that call routes themselves, as Bun's and Deno's, hand over something of their own. */
function addressIn(from: AskedFrom | undefined): string | undefined {
  const address: unknown = from?.remoteAddress
  return typeof address === 'string' && address !== '' ? address : undefined
}

/** @throws HookspanError `INVALID_OPTION`. */
function isDapr({ protocol = 'hookspan', token, tokens, webhookSecret }: ApprovalRoutesOptions): boolean {
  if (protocol === 'hookspan') return false
  if (tokens !== undefined && token === undefined && webhookSecret === undefined) return true
  throw new HookspanError(
    'INVALID_OPTION',
    'The protocol "dapr" needs `tokens`, by which it is known who answers, and takes no `token` and no `webhookSecret`.',
  )
}

interface Caller {
  readonly name: string | undefined
  /** Of the rate limit. */
  readonly key: string
}

const SIGNED = 'webhook'

function ownersOf({ token, tokens, webhookSecret, openForReading }: ApprovalRoutesOptions): TokenOwner[] {
  if (webhookSecret !== undefined) {
    const secrets = Array.isArray(webhookSecret) ? webhookSecret : [webhookSecret]
    for (const one of secrets.length === 0 ? [''] : secrets) assertSecret(one, 'the approval routes')
  }
  const owners = tokenOwners({ token, tokens }, 'the approval routes', 'approver')
  if (owners.length === 0 && webhookSecret === undefined && !openForReading) {
    throw new HookspanError(
      'INVALID_OPTION',
      'The approval routes need a `token`, `tokens` or a `webhookSecret`.',
    )
  }
  return owners
}

/** An error: what is wrong with a signature. Its time is looked at once it is known to be right, so that it may be told. */
function whoIs(
  request: Request,
  body: Uint8Array,
  owners: readonly TokenOwner[],
  webhookSecret: ApprovalRoutesOptions['webhookSecret'],
  replay: ReplayGuard,
): Caller | Error | undefined {
  const given = bearerToken(request)
  // Who answers without being named is named by the answer.
  if (given !== undefined) return ownerOfToken(owners, given)
  if (webhookSecret === undefined || request.headers.get(SIGNATURE_HEADERS.signature) === null)
    return undefined
  try {
    verifySignature({ secret: webhookSecret, headers: request.headers, body, replay })
    return { name: undefined, key: SIGNED }
  } catch (error) {
    return error as Error
  }
}

const STATUSES: readonly string[] = ['pending', 'answered', 'expired', 'cancelled']

const MOST_LISTED = 1_000

function filterOf(params: URLSearchParams): ApprovalFilter {
  const status = params.get('status')
  const root = params.get('rootOperationId')
  if (status !== null && !STATUSES.includes(status)) {
    throw new HookspanError('INVALID_ANSWER', `Unknown status "${status}". Known: ${STATUSES.join(', ')}.`)
  }
  const limit = Number(params.get('limit') ?? 100)
  if (!Number.isInteger(limit) || limit < 1 || limit > MOST_LISTED) {
    throw new HookspanError('INVALID_ANSWER', `Expected \`limit\` to be 1 to ${MOST_LISTED}.`)
  }
  return defined({
    status: (status ?? undefined) as ApprovalStatus | undefined,
    rootOperationId: root ?? undefined,
    limit,
  })
}

function problemOf(error: unknown): Response {
  if (error instanceof URIError) return problem(400, 'The path is not valid.')
  if (error instanceof AnswerUnread) return problem(error.status, error.message)
  const status = statusOfRefusal(error)
  if (status === undefined) {
    // Paths and addresses are for who runs the server.
    console.warn(`[hookspan] an approval asked for over HTTP failed: ${errorMessage(error)}`)
    return problem(500, 'The approval store or the audit log failed.')
  }
  return json(status, { error: (error as HookspanError).code, message: errorMessage(error) })
}
