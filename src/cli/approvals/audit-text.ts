import { exactJson } from '../../viewer/model/exact-json.ts'
import { type Answered, type Attempt, type Audited, isYes, type Moment, type Said } from './audited.ts'

/** A name that nobody takes for words of ours: whatever else is between quotes. */
function named(name: string): string {
  return /^[\w.@:+/-]{1,200}$/.test(name) ? name : exactJson(name)
}

const when = ({ at, host }: Moment) => `${named(at)}${host === undefined ? '' : ` on ${named(host)}`}`

/** `ann (proved, http from 10.0.0.7)`. Of an older version no more is known than the name. */
function whoSaid({ approver, identity, channel, address, user }: Said): string {
  const way = [
    identity === undefined ? '' : named(identity),
    channel === undefined
      ? 'way unknown'
      : `${named(channel)}${address === undefined ? '' : ` from ${named(address)}`}`,
    user === undefined ? '' : `account ${named(user)}`,
  ]
  return `${approver === undefined ? 'somebody unnamed' : named(approver)} (${way.filter(Boolean).join(', ')})`
}

/** One request, each line of it either a fact of the log or between quotes. */
export function auditText(one: Audited): string {
  const { requestId, status, answer, allowedBy, attempts, moreAttempts = 0, unverified } = one
  const by = answer ?? allowedBy
  const head = `${named(requestId)}  ${status}${by === undefined ? '' : ` by ${whoSaid(by)}`}`
  return [
    unverified ? `${head}  NOT VERIFIED: its log was changed` : head,
    ...aboutLines(one),
    ...(answer === undefined ? [] : answerLines(answer)),
    ...(allowedBy === undefined
      ? []
      : [`  allowed   by the answer to ${named(allowedBy.requestId)}, of ${when(allowedBy)}`]),
    ...(status === 'waiting' && one.expiresAt !== undefined
      ? [`  expires   ${new Date(one.expiresAt).toISOString()}`]
      : []),
    ...(one.closed === undefined ? [] : [`  ${status.padEnd(9)} ${when(one.closed)}`]),
    ...runLines(one),
    ...attempts.map(attemptLine),
    ...(moreAttempts === 0 ? [] : [`  refused   ${moreAttempts} more`]),
  ].join('\n')
}

function aboutLines({
  asked,
  agentName,
  operationId,
  identifier,
  apiName,
  args,
  argsDigest,
  gateId,
  point,
  approvers,
}: Audited): string[] {
  if (asked === undefined) return [`  its question is not in these logs${digestText(argsDigest)}`]
  const tool = `${named(identifier ?? '?')}/${named(apiName ?? '?')}`
  const what = args === undefined ? digestText(argsDigest) : ` ${exactJson(args)}`
  const where = point === undefined || point === 'beforeToolCall' ? '' : ` at ${named(point)}`
  const whom = approvers === undefined ? '' : `, of ${approvers.map(named).join(', ')}`
  const run = operationId === undefined ? '' : `, in run ${named(operationId)}`
  return [
    `  ${agentName === undefined ? '' : `${named(agentName)}: `}${tool}${what}`,
    `  asked     ${when(asked)} by gate ${named(gateId ?? '?')}${where}${whom}${run}`,
  ]
}

function digestText(digest: string | undefined): string {
  return digest === undefined ? '' : `  arguments sha256:${named(digest)}`
}

function answerLines(answer: Answered): string[] {
  const { reason, stop, alwaysAllow, elsewhere, editedArgs, editedDigest } = answer
  const notes = [
    ...(alwaysAllow ? ['for all such calls of the run'] : []),
    ...(stop ? ['and ends the run'] : []),
    ...(elsewhere ? ['written down by the run that took it'] : []),
  ]
  const why = reason === undefined ? '' : `: ${exactJson(reason)}`
  const edit = editedArgs === undefined ? digestText(editedDigest) : ` ${exactJson(editedArgs)}`
  return [
    `  answered  ${when(answer)}${notes.map((note) => `, ${note}`).join('')}${why}`,
    ...(edit === '' ? [] : [`  edited to${edit}`]),
  ]
}

function runLines({ status, point, begun, ended }: Audited): string[] {
  const runs = isYes({ status })
  if (begun === undefined && ended === undefined)
    return runs && (point === undefined || point === 'beforeToolCall')
      ? ['  ran       not begun, as far as these logs say']
      : []
  const end =
    ended === undefined ? 'how it ended is not known' : `${ended.ok ? 'ended well' : 'failed'} ${when(ended)}`
  return [`  ran       ${begun === undefined ? '' : `${when(begun)}, `}${end}`]
}

function attemptLine(attempt: Attempt): string {
  const { code, decision, problem } = attempt
  const why = problem === undefined ? '' : `: ${exactJson(problem)}`
  return `  refused   ${when(attempt)}: ${whoSaid(attempt)}${decision === undefined ? '' : `, ${named(decision)}`}: ${named(code)}${why}`
}
