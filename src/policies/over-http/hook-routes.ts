/** Hooks over HTTP: webhooks are registered and removed; what the program itself has in use is only listed. */

import type { HookDispatcher } from '../../dispatcher/index.ts'
import { DISPATCHER } from '../../dispatcher/is-dispatcher.ts'
import type { GatePoint } from '../../gates/index.ts'
import type { AnyHookType } from '../../hooks/index.ts'
import { callBeside } from '../../internal/async.ts'
import { errorMessage, errorSentence, HookspanError } from '../../internal/errors.ts'
import { a, assertFields, type Fields, required, secret, TIMEOUT } from '../../internal/expect.ts'
import { assertGlob } from '../../internal/glob.ts'
import { parseHostileJson } from '../../internal/hostile-json.ts'
import { bearerToken, ownerOfToken, type TokenOwner, tokenOwners } from '../../internal/http/bearer.ts'
import { json, problem, readBody, rootPath, tooMany, unauthorized } from '../../internal/http/reply.ts'
import type { Routes } from '../../internal/http/serve-routes.ts'
import { defined } from '../../internal/objects.ts'
import { RateLimiter } from '../../internal/rate-limiter.ts'
import { type RegisteredWebhook, RemoteWebhooks } from './remote-webhooks.ts'

export interface HookRoutesOptions {
  /** Whose events are told. */
  dispatcher: HookDispatcher
  /** Bearer token of somebody whose name is not known. Warned of when shorter than 16 characters. */
  token?: string
  /** Bearer tokens by the name of their owner, who is listed with what they registered. */
  tokens?: Readonly<Record<string, string>>
  /** Names of the hosts that events may be posted to, as globs: `['*.example.com']`. @default any */
  deliverTo?: readonly string[]
  /** Whether events may be posted to loopback and private networks. @default false */
  allowPrivateAddresses?: boolean
  /** Webhooks that there may be at once. @default 100 */
  maxWebhooks?: number
  /** Told of each change, after it was made, for an audit log. What it throws is warned of, and changes nothing. */
  onChange?: (change: WebhookChange) => void
  /** @default '/hooks' */
  basePath?: string
  /** Requests a minute by one token, and refused ones in all. @default 120 */
  perMinute?: number
}

export interface WebhookChange {
  readonly action: 'registered' | 'replaced' | 'removed'
  readonly id: string
  /** Whose token it was, where the token has an owner. */
  readonly by?: string
}

/** What `GET /hooks` answers. */
export interface HooksListing {
  /** What was registered over HTTP. */
  readonly webhooks: readonly RegisteredWebhook[]
  /** What the program itself has in use, in every run: nobody can change it here. */
  readonly fixed: {
    readonly hooks: readonly { id: string; type: AnyHookType; plugin: string; match?: string }[]
    readonly gates: readonly {
      id: string
      point: GatePoint | readonly GatePoint[]
      plugin: string
      shadow?: boolean
    }[]
  }
}

export const HOOK_ROUTES_FIELDS: Fields<HookRoutesOptions> = {
  dispatcher: required(DISPATCHER),
  token: secret(a.value),
  tokens: secret(a.object),
  deliverTo: a.strings,
  allowPrivateAddresses: a.boolean,
  maxWebhooks: a.integer(1),
  onChange: a.function,
  basePath: a.string,
  perMinute: a.number(1),
}

/** Answers a request, or undefined for a path that is not its own. Disposed, it takes out what was registered. */
export interface HookRoutes extends Routes, Disposable {
  /** Waits until everything was delivered or given up. @param options.timeoutMs default 30 000 */
  flush(options?: { timeoutMs?: number }): Promise<void>
}

const MAX_BODY_BYTES = 65_536

/**
 * Routes for any server that speaks `Request` and `Response`, by which a process outside is told of events:
 *
 * - `GET /hooks`: what was registered, with what became of its deliveries, and what the program itself has in use
 * - `GET /hooks/{id}`, `DELETE /hooks/{id}`
 * - `PUT /hooks/{id}` with `{ on, url, fields, match?, operationId?, secret?, headers?, timeoutMs?, maxAttempts? }`
 *
 * What is registered observes, as every hook. Gates, and hooks of the program's own, are listed and cannot be changed: a
 * route that adds or takes out a guard would be a way around it.
 *
 * @throws HookspanError `INVALID_OPTION` where there is no token, or one is empty.
 */
export function hookRoutes(options: HookRoutesOptions): HookRoutes {
  assertFields<HookRoutesOptions>(options, HOOK_ROUTES_FIELDS, 'the hook routes')
  const { dispatcher, deliverTo, basePath = '/hooks', perMinute = 120, onChange } = options
  const { allowPrivateAddresses = false, maxWebhooks = 100 } = options
  for (const host of deliverTo ?? []) assertGlob(host, 'a host of `deliverTo`')
  const owners = ownersOf(options)
  const limiter = new RateLimiter(perMinute)
  const webhooks = new RemoteWebhooks({ dispatcher, deliverTo, allowPrivateAddresses, maxWebhooks })
  const root = rootPath(basePath)

  function tell(action: WebhookChange['action'], id: string, by: string | undefined): void {
    callBeside(
      () => onChange?.({ action, id, ...defined({ by }) }),
      (error) => console.warn(`[hookspan] \`onChange\` of the hook routes failed: ${errorMessage(error)}`),
    )
  }

  async function put(id: string, request: Request, by: string | undefined): Promise<Response> {
    const body = await readJson(request)
    if (body instanceof Response) return body
    const isNew = webhooks.get(id) === undefined
    const made = webhooks.put(id, body, by)
    tell(isNew ? 'registered' : 'replaced', id, by)
    return json(isNew ? 201 : 200, made)
  }

  async function answer(request: Request): Promise<Response | undefined> {
    const { pathname } = new URL(request.url)
    if (pathname !== root && !pathname.startsWith(`${root}/`)) return undefined
    const token = bearerToken(request)
    const owner = token === undefined ? undefined : ownerOfToken(owners, token)
    const waitMs = limiter.take(owner?.key ?? 'refused')
    if (waitMs > 0) return tooMany(waitMs)
    if (owner === undefined) return unauthorized()
    const [, segment, ...rest] = pathname.slice(root.length).split('/')
    if (rest.length > 0) return problem(404, 'There is no such route.')
    const { method } = request
    if (segment === undefined || segment === '') {
      if (method !== 'GET') return problem(405, 'Use GET, or PUT with the id of a webhook.', { allow: 'GET' })
      return json(200, {
        webhooks: webhooks.list(),
        fixed: fixedIn(dispatcher, webhooks),
      } satisfies HooksListing)
    }
    const id = decodeURIComponent(segment)
    if (method === 'PUT') return put(id, request, owner.name)
    const found = webhooks.get(id)
    if (method !== 'GET' && method !== 'DELETE') {
      return problem(405, 'Use GET, PUT or DELETE.', { allow: 'GET, PUT, DELETE' })
    }
    if (found === undefined) return problem(404, `No webhook "${id}" was registered here.`)
    if (method === 'GET') return json(200, found)
    webhooks.remove(id)
    tell('removed', id, owner.name)
    return new Response(null, { status: 204 })
  }

  const routes = async (request: Request) => {
    try {
      return await answer(request)
    } catch (error) {
      return problemOf(error)
    }
  }
  return Object.assign(routes, {
    flush: async (asked: { timeoutMs?: number } = {}) => {
      assertFields(asked, TIMEOUT, 'flush()')
      await webhooks.flush(asked.timeoutMs ?? 30_000)
    },
    [Symbol.dispose]: () => webhooks.removeAll(),
  })
}

/** @throws HookspanError `INVALID_OPTION`. */
function ownersOf({ token, tokens }: HookRoutesOptions): TokenOwner[] {
  const owners = tokenOwners({ token, tokens }, 'the hook routes', 'owner')
  if (owners.length > 0) return owners
  throw new HookspanError(
    'INVALID_OPTION',
    'The hook routes need a `token` or `tokens`: events hold what people write.',
  )
}

/** What was sent, or why it is not taken. */
async function readJson(request: Request): Promise<unknown> {
  if (!/^application\/json\b/i.test(request.headers.get('content-type') ?? '')) {
    return problem(415, 'The body must be application/json.')
  }
  const body = await readBody(request, MAX_BODY_BYTES)
  if (body instanceof Response) return body
  try {
    return parseHostileJson(body)
  } catch (error) {
    return problem(400, `The body is refused: ${errorSentence(error)}`)
  }
}

function fixedIn({ plugins }: HookDispatcher, { plugins: own }: RemoteWebhooks): HooksListing['fixed'] {
  const fixed = plugins.filter((plugin) => !own.has(plugin))
  return {
    hooks: fixed.flatMap(({ name, hooks = [] }) =>
      hooks.map(({ id, type, match }) => ({
        ...{ id, type, plugin: name },
        ...(typeof match !== 'function' &&
          defined({ match: match === undefined ? undefined : String(match) })),
      })),
    ),
    gates: fixed.flatMap(({ name, gates = [] }) =>
      gates.map(({ id, point, shadow }) => defined({ id, point, plugin: name, shadow })),
    ),
  }
}

function problemOf(error: unknown): Response {
  if (error instanceof URIError) return problem(400, 'The path is not valid.')
  if (!(error instanceof HookspanError)) return problem(500, 'The hooks could not be changed.')
  const status = error.code === 'DUPLICATE_HOOK' ? 409 : 422
  return json(status, { error: error.code, message: error.message })
}
