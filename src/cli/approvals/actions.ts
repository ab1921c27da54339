import { existsSync } from 'node:fs'
import { type ApprovalRecord, verifyAudit } from '../../approval/index.ts'
import type { ApprovalAnswer } from '../../gates/index.ts'
import { errorMessage } from '../../internal/errors.ts'
import { parseHostileJson } from '../../internal/hostile-json.ts'
import { defined } from '../../internal/objects.ts'
import { exactJson, withoutUnseen } from '../../viewer/model/exact-json.ts'
import { visibleText } from '../../viewer/model/format.ts'
import { UsageError } from '../failure.ts'
import { shown } from '../render/shown.ts'
import { auditAt } from './audit.ts'
import { openApprovals } from './open-approvals.ts'

export interface PlaceFlags {
  db?: string
  url?: string
  token?: string
  audit?: string
  json?: boolean
}

export interface AnswerFlags extends PlaceFlags {
  reason?: string
  as?: string
  args?: string
  stop?: boolean
  always?: boolean
}

/** Prints what is asked. */
export async function listApprovals(flags: PlaceFlags & { status: string }): Promise<void> {
  const status = flags.status === 'all' ? undefined : flags.status
  const records = await withDesk(flags, (desk) => desk.list(status))
  if (flags.json) console.log(JSON.stringify(records, null, 2))
  else if (records.length === 0) console.log('Nothing is asked.')
  else for (const record of records) show(record)
}

/** Says whether an audit log is unchanged; the exit code, too. */
export function verifyLog(file: string, key: string | undefined): void {
  const report = verifyAudit(auditAt(file, key))
  if (report.ok) {
    console.log(`${report.entries} entries, unchanged. Last hash: ${report.lastHash}`)
    return
  }
  console.error(`${shown(file)}:${report.line}: ${report.problem}`)
  process.exitCode = 1
}

/** The two places where requests are: a file of this machine, or a server. */
interface Desk {
  list(status: string | undefined): Promise<ApprovalRecord[]>
  get(id: string): Promise<ApprovalRecord | undefined>
  respond(id: string, answer: ApprovalAnswer): Promise<ApprovalRecord>
}

export function approve(id: string, flags: AnswerFlags): Promise<void> {
  const always = flags.always ? { alwaysAllow: true } : {}
  if (flags.args === undefined) return answer(id, flags, { decision: 'approve', ...always })
  return answer(id, flags, { decision: 'edit', args: readArgs(flags.args), ...always })
}

export function reject(id: string, flags: AnswerFlags): Promise<void> {
  return answer(id, flags, defined({ decision: 'reject', stop: flags.stop }))
}

function readArgs(text: string): unknown {
  try {
    return parseHostileJson(text)
  } catch (error) {
    throw new UsageError(`\`--args\` are refused: ${errorMessage(error)}.`)
  }
}

async function answer(id: string, flags: AnswerFlags, given: ApprovalAnswer): Promise<void> {
  await withDesk(flags, async (desk) => {
    const record = await desk.get(id)
    const { as, reason } = flags
    // What is answered is what was just shown. An unknown request is refused by the desk, which writes it down.
    const more = defined({ argsDigest: record?.request.argsDigest, approver: as, reason })
    const answered = await desk.respond(id, { ...given, ...more })
    if (flags.json) console.log(JSON.stringify(answered, null, 2))
    else show(answered)
  })
}

async function withDesk<T>(flags: PlaceFlags, run: (desk: Desk) => Promise<T>): Promise<T> {
  if (flags.url !== undefined) return run(remoteDesk(flags.url, flags.token))
  if (flags.db === undefined) throw new UsageError('Say where the requests are: --db FILE or --url URL.')
  // Opening it would make an empty one, and an answer would be lost in it.
  if (!existsSync(flags.db)) throw new UsageError(`There is no file ${flags.db}.`)
  const approvals = openApprovals(flags.db, flags.audit)
  try {
    return await run({
      list: (status) => approvals.list(status === undefined ? {} : { status: status as 'pending' }),
      get: (id) => approvals.get(id),
      respond: (id, given) => approvals.respond(id, given),
    })
  } finally {
    await approvals.close()
  }
}

function remoteDesk(url: string, token: string | undefined): Desk {
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
      ask(status === undefined ? '' : `?status=${encodeURIComponent(status)}`) as Promise<ApprovalRecord[]>,
    get: (id) => ask(`/${encodeURIComponent(id)}`) as Promise<ApprovalRecord>,
    respond: (id, given) => ask(`/${encodeURIComponent(id)}/respond`, given) as Promise<ApprovalRecord>,
  }
}

/** A human decides by what is printed here: no text of a model or a gate may write over it, or look like a line of ours. */
function show({ request, status, answer: given }: ApprovalRecord): void {
  const { id, agentName, identifier, apiName, args, instructions, expiresAt } = request
  const by = given?.approver ? ` by ${given.approver}` : ''
  const lines = [
    `${id}  ${status}${given === undefined ? '' : ` (${given.decision}${by})`}`,
    `  ${withoutUnseen(`${agentName ?? request.operationId}: ${identifier}/${apiName}`)} ${exactJson(args)}`,
    ...(instructions === undefined ? [] : [`  ${instructions}`]),
  ]
  for (const line of lines) console.log(visibleText(line).replaceAll('\n', '\n    '))
  if (status === 'pending' && expiresAt !== undefined)
    console.log(`  expires ${new Date(expiresAt).toISOString()}`)
}
