import { existsSync } from 'node:fs'
import type { ApprovalRecord } from '../../approval/index.ts'
import type { ApprovalAnswer } from '../../gates/index.ts'
import { defined } from '../../internal/objects.ts'
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

/** Requests that are listed at most. */
export const MOST_LISTED = 1_000

/** The two places where requests are: a file of this machine, or a server. */
export interface Desk {
  list(status: string | undefined): Promise<ApprovalRecord[]>
  get(id: string): Promise<ApprovalRecord | undefined>
  respond(id: string, answer: ApprovalAnswer): Promise<ApprovalRecord>
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
      respond: (id, given) => approvals.respond(id, given),
    })
  } finally {
    await approvals.close()
  }
}

function remoteDesk(url: string, token: string | undefined): Desk {
  assertAddress(url, '--url', '--token, or HOOKSPAN_APPROVALS_TOKEN')
  if (token !== undefined) assertToken(token, 'The token')
  const ask = async (path: string, body?: object): Promise<unknown> => {
    const response = await fetch(new URL(`/hitl/approvals${path}`, url), {
      method: body === undefined ? 'GET' : 'POST',
      redirect: 'error',
      headers: {
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        'content-type': 'application/json',
      },
      body: body && JSON.stringify(body),
    })
    const answered = (await response.json()) as { message?: string }
    if (!response.ok) throw new Error(`${response.status}: ${answered.message ?? 'the server refused'}`)
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
