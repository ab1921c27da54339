import { type ApprovalRecord, type AuditReport, verifyAudit } from '../../approval/index.ts'
import type { ApprovalAnswer } from '../../gates/index.ts'
import { errorSentence, HookspanError } from '../../internal/errors.ts'
import { parseHostileJson } from '../../internal/hostile-json.ts'
import { defined } from '../../internal/objects.ts'
import { exactJson, withoutUnseen } from '../../viewer/model/exact-json.ts'
import { visibleText } from '../../viewer/model/format.ts'
import { UsageError } from '../failure.ts'
import { shown } from '../render/shown.ts'
import { printJson } from '../render/terminal.ts'
import { auditAt } from './audit.ts'
import { type DeskPlace, MOST_LISTED, withDesk } from './desk.ts'

export interface ApprovalFlags extends DeskPlace {
  json?: boolean
}

export interface AnswerFlags extends ApprovalFlags {
  reason?: string
  as?: string
  args?: string
  stop?: boolean
  always?: boolean
}

/** Prints what is asked. */
export async function listApprovals(flags: ApprovalFlags & { status: string }): Promise<void> {
  const status = flags.status === 'all' ? undefined : flags.status
  const records = await withDesk(flags, (desk) => desk.list(status))
  if (flags.json) printJson(records)
  else if (records.length === 0) console.log('Nothing is asked.')
  else for (const record of records) show(record)
  if (records.length === MOST_LISTED) console.error(`These are the oldest ${MOST_LISTED}: there may be more.`)
}

/** Says whether an audit log is unchanged; the exit code, too. */
export function verifyLog(file: string, key: string | undefined): void {
  const report = reportOf(file, key)
  if (report.ok) {
    console.log(`${report.entries} entries, unchanged. Last hash: ${report.lastHash}`)
    return
  }
  console.error(`${shown(file)}:${report.line}: ${report.problem}`)
  process.exitCode = 1
}

function reportOf(file: string, key: string | undefined): AuditReport {
  try {
    return verifyAudit(auditAt(file, key))
  } catch (error) {
    if (error instanceof HookspanError) throw error
    const why = `"${shown(file)}" cannot be read: ${errorSentence(error)} Give the audit log.`
    throw new UsageError(why, { cause: error })
  }
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
    throw new UsageError(`\`--args\` are refused: ${errorSentence(error)}`)
  }
}

async function answer(id: string, flags: AnswerFlags, given: ApprovalAnswer): Promise<void> {
  await withDesk(flags, async (desk) => {
    const record = await desk.get(id)
    const { as, reason } = flags
    // What is answered is what was just shown. An unknown request is refused by the desk, which writes it down.
    const more = defined({ argsDigest: record?.request.argsDigest, approver: as, reason })
    const answered = await desk.respond(id, { ...given, ...more }, 'cli')
    if (flags.json) printJson(answered)
    else show(answered)
  })
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
