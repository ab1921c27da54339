import { existsSync } from 'node:fs'
import type { ApprovalRecord } from '../../approval/index.ts'
import type { ApprovalAnswer } from '../../gates/index.ts'
import { errorSentence } from '../../internal/errors.ts'
import { defined, isRecord } from '../../internal/objects.ts'
import { shownUrl } from '../../internal/shown-url.ts'
import { userName } from '../../internal/user.ts'
import { UsageError } from '../failure.ts'
import { assertAddress, assertToken } from '../whom-to-ask.ts'
import { openApprovals } from './open-approvals.ts'

/** Where requests are; one of both. */
export interface DeskPlace {
  db?: string
  url?: string
  /** For the server. */
  token?: string
  audit?: string
}

/** Milliseconds that a server has: it gives its own store, and its log, some seconds. */
const PATIENCE_MS = 20_000

/** Requests that are listed at most. */
export const MOST_LISTED = 1_000

/** The two places where requests are: a file of this machine, or a server. */
export interface Desk {
  list(status: string | undefined): Promise<ApprovalRecord[]>
  get(id: string): Promise<ApprovalRecord | undefined>
  /** By which way of ours it came is told where the requests are of this machine: a server says so itself. */
  respond(id: string, answer: ApprovalAnswer, channel: 'cli' | 'mcp'): Promise<ApprovalRecord>
}

/** @throws when there is no such place, naming it. */
export async function withDesk<T>(flags: DeskPlace, run: (desk: Desk) => Promise<T>): Promise<T> {
  if (flags.url !== undefined) return run(remoteDesk(flags.url, flags.token))
  if (flags.db === undefined) throw new UsageError('Say where the requests are: --db FILE or --url URL.')
  // Opening it would make an empty one, and an answer would be lost in it.
  if (!existsSync(flags.db)) throw new UsageError(`There is no file ${flags.db}.`)
  const approvals = openApprovals(flags.db, flags.audit)
  try {
    return await run({
      list: (status) =>
        approvals.list({ limit: MOST_LISTED, ...defined({ status: status as 'pending' | undefined }) }),
      get: (id) => approvals.get(id),
      respond: (id, given, channel) => approvals.respond(id, given, { channel, user: userName() }),
    })
  } finally {
    await approvals.close()
  }
}

function remoteDesk(url: string, token: string | undefined): Desk {
  assertAddress(url, '--url', '--token, or HOOKSPAN_APPROVALS_TOKEN')
  if (token !== undefined) assertToken(token, 'The token')
  const ask = async (path: string, body?: object): Promise<unknown> => {
    const asked = new URL(`/hitl/approvals${path}`, url)
    const response = await fetch(asked, {
      method: body === undefined ? 'GET' : 'POST',
      redirect: 'error',
      headers: {
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        'content-type': 'application/json',
      },
      body: body && JSON.stringify(body),
      signal: AbortSignal.timeout(PATIENCE_MS),
    }).catch((error: Error) => {
      throw unanswered(asked, error, body !== undefined)
    })
    const answered: unknown = await response.json().catch(() => undefined)
    if (!isRecord(answered) && !Array.isArray(answered))
      throw new Error(
        `${shownUrl(asked.href)} is no server of approvals: it answered ${response.status}, and no JSON.`,
      )
    if (!response.ok)
      throw new Error(
        `${response.status}: ${(answered as { message?: string }).message ?? 'the server refused'}`,
      )
    return answered
  }
  return {
    list: (status) =>
      ask(`?${new URLSearchParams({ limit: String(MOST_LISTED), ...defined({ status }) })}`) as Promise<
        ApprovalRecord[]
      >,
    get: (id) => ask(`/${encodeURIComponent(id)}`) as Promise<ApprovalRecord>,
    respond: (id, given) => ask(`/${encodeURIComponent(id)}/respond`, given) as Promise<ApprovalRecord>,
  }
}

/** `fetch failed` says neither where nor why. What was sent may have been taken by one that says nothing. */
function unanswered({ href, origin }: URL, error: Error, isAnswer: boolean): Error {
  if (error.name !== 'TimeoutError')
    return new Error(`${origin} cannot be reached: ${errorSentence(error.cause ?? error)}`, { cause: error })
  const taken = isAnswer
    ? ' Whether the answer was taken is not known: list the requests before you give it again.'
    : ''
  return new Error(`${shownUrl(href)} said nothing for ${PATIENCE_MS / 1_000} s.${taken}`, { cause: error })
}
