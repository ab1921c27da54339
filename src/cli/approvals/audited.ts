/** What an audit log says of each request, put together from its entries, which lie far from one another. */
import type { AuditEntry } from '../../approval/audit-chain.ts'
import { defined } from '../../internal/objects.ts'

/** When, and on which machine, as its clock had it. */
export interface Moment {
  at: string
  host?: string
}

/** Who said something, by what way; of logs of older versions there is the name alone. */
export interface Said extends Moment {
  approver?: string
  identity?: string
  channel?: string
  address?: string
  user?: string
}

export interface Answered extends Said {
  decision: string
  reason?: string
  editedDigest?: string
  /** The arguments that ran instead, where the store has them still. */
  editedArgs?: unknown
  stop?: boolean
  alwaysAllow?: boolean
  elsewhere?: boolean
}

/** What was refused, or did not count after all. */
export interface Attempt extends Said {
  code: string
  decision?: string
  problem?: string
}

export type AuditedStatus =
  | 'waiting'
  | 'approved'
  | 'edited'
  | 'rejected'
  | 'expired'
  | 'cancelled'
  | 'allowed'
  | 'refused'

export interface Audited {
  requestId: string
  status: AuditedStatus
  agentName?: string
  operationId?: string
  rootOperationId?: string
  toolCallId?: string
  callKey?: string
  gateId?: string
  point?: string
  identifier?: string
  apiName?: string
  approvers?: string[]
  /** Who asked may have died before it could write down that nobody answered. */
  expiresAt?: number
  argsDigest?: string
  /** Where the store has them still. */
  args?: unknown
  asked?: Moment
  answer?: Answered
  /** The earlier yes, for all such calls of the run, by which nobody was asked. */
  allowedBy?: Said & { requestId: string }
  closed?: Moment
  begun?: Moment
  ended?: Moment & { ok: boolean }
  attempts: Attempt[]
  /** How many more than those were refused. */
  moreAttempts?: number
  /** It hangs on a line that was changed, or stands behind one. */
  unverified?: true
}

const ABOUT = [
  'agentName',
  'operationId',
  'rootOperationId',
  'toolCallId',
  'callKey',
  'gateId',
  'point',
  'identifier',
  'apiName',
  'argsDigest',
]
const SAID = ['approver', 'identity', 'channel', 'address', 'user', 'code', 'decision', 'problem', 'reason']
const MOST_ATTEMPTS = 20
/** Requests that are over, and may be told of once more: as refused to somebody who is late. */
const MOST_CLOSED = 20_000
const MOST_OPEN = 500_000

/** Takes entries, the oldest first; gives each request once nothing more is likely to come of it. */
export class AuditedRequests {
  readonly #open = new Map<string, Audited>()
  readonly #closed = new Map<string, Audited>()
  /** Those of one call: more than one gate may have asked about it, and one of them lets it run. */
  readonly #calls = new Map<string, Audited[]>()
  readonly #always = new Map<string, Said & { requestId: string }>()

  /** Gives the one that is put aside for it, if any. */
  add(entry: AuditEntry, isSound: boolean): Audited | undefined {
    const { requestId: id } = entry
    if (typeof id !== 'string') return undefined
    const one = this.#open.get(id) ??
      this.#closed.get(id) ?? { requestId: id, status: 'refused', attempts: [] }
    if (!isSound) one.unverified = true
    this.#tell(one, entry)
    this.#open.delete(id)
    this.#closed.delete(id)
    const kept = isOver(one) ? this.#closed : this.#open
    kept.set(id, one)
    if (kept.size <= (kept === this.#closed ? MOST_CLOSED : MOST_OPEN)) return undefined
    const [eldest = one] = kept.values()
    kept.delete(eldest.requestId)
    this.#calls.delete(callOf(eldest))
    return eldest
  }

  /** The rest, the oldest first. */
  rest(): Audited[] {
    return [...this.#closed.values(), ...this.#open.values()].sort((one, other) =>
      timeOf(one) < timeOf(other) ? -1 : 1,
    )
  }

  #tell(one: Audited, entry: AuditEntry): void {
    switch (entry.event) {
      case 'requested':
      case 'allowed':
        Object.assign(
          one,
          texts(entry, ABOUT),
          defined({ approvers: list(entry.approvers), expiresAt: time(entry.expiresAt) }),
        )
        one.asked ??= momentOf(entry)
        if (entry.event === 'requested') return this.#asked(one)
        one.status = 'allowed'
        return void Object.assign(one, defined({ allowedBy: this.#always.get(alwaysOf(one)) }))
      case 'answered':
        return this.#answered(one, entry)
      case 'expired':
      case 'cancelled':
        // It was written down, and came too late.
        voidAnswer(one)
        one.status = entry.event
        one.closed = momentOf(entry)
        return
      case 'claimed':
        if (entry.state === 'run') for (const other of this.#ofCall(one)) other.begun = momentOf(entry)
        return
      case 'settled':
        for (const other of this.#ofCall(one)) other.ended = { ...momentOf(entry), ok: entry.ok === true }
        return
      case 'refused':
        return refused(one, entry)
    }
  }

  #asked(one: Audited): void {
    if (one.status === 'refused') one.status = 'waiting'
    if (one.callKey === undefined || one.point !== 'beforeToolCall') return
    const known = this.#calls.get(callOf(one)) ?? []
    this.#calls.set(callOf(one), [...known.filter((other) => other !== one), one])
  }

  #ofCall(one: Audited): Audited[] {
    const others = this.#calls.get(callOf(one)) ?? []
    return [one, ...others.filter((other) => other !== one && isYes(other))]
  }

  #answered(one: Audited, entry: AuditEntry): void {
    const { stop, alwaysAllow, elsewhere } = entry
    const flags = { stop: stop === true, alwaysAllow: alwaysAllow === true, elsewhere: elsewhere === true }
    const answer: Answered = {
      ...momentOf(entry),
      decision: '',
      ...texts(entry, [...SAID, 'editedDigest']),
      ...Object.fromEntries(Object.entries(flags).filter(([, value]) => value)),
    }
    const before = one.answer
    // Whoever takes an answer that was given elsewhere writes it down, and a run that goes on takes it again.
    if (before !== undefined && answer.elsewhere && sameAnswer(before, answer)) return
    voidAnswer(one)
    one.answer = answer
    one.status =
      answer.decision === 'reject' ? 'rejected' : answer.decision === 'edit' ? 'edited' : 'approved'
    if (one.argsDigest === undefined) Object.assign(one, texts(entry, ['argsDigest']))
    if (answer.alwaysAllow)
      this.#always.set(alwaysOf(one), { requestId: one.requestId, ...texts(entry, SAID), ...momentOf(entry) })
  }
}

/** When it was decided; else when it was asked. */
export function timeOf({ answer, closed, asked, attempts }: Audited): string {
  return answer?.at ?? closed?.at ?? asked?.at ?? attempts[0]?.at ?? ''
}

/** Whether somebody let it run. */
export function isYes({ status }: Pick<Audited, 'status'>): boolean {
  return status === 'approved' || status === 'edited'
}

/** Whether anything but a refused attempt is likely to come. */
function isOver({ status, ended, point }: Audited): boolean {
  if (status === 'waiting') return false
  return !isYes({ status }) || ended !== undefined || (point !== undefined && point !== 'beforeToolCall')
}

function refused(one: Audited, entry: AuditEntry): void {
  if (entry.code === 'STORE_FAILED') {
    if (one.begun !== undefined) delete one.begun
    else voidAnswer(one, 'STORE_FAILED', texts(entry, ['problem']))
    return
  }
  addAttempt(one, { ...momentOf(entry), code: '', ...texts(entry, SAID) })
}

/** What was written down and did not count is told as an attempt. */
function voidAnswer(one: Audited, code = 'NOT_TAKEN', more: object = {}): void {
  if (one.answer === undefined) return
  const { editedDigest: _, stop: _stop, alwaysAllow: _always, elsewhere: _elsewhere, ...said } = one.answer
  delete one.answer
  one.status = one.asked === undefined ? 'refused' : 'waiting'
  addAttempt(one, { ...said, ...more, code })
}

function addAttempt(one: Audited, attempt: Attempt): void {
  if (one.attempts.length < MOST_ATTEMPTS) one.attempts.push(attempt)
  else one.moreAttempts = (one.moreAttempts ?? 0) + 1
}

function sameAnswer(
  { at: _, host: _host, ...one }: Answered,
  { at: _at, host: _on, ...other }: Answered,
): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

function callOf({ operationId, callKey, requestId }: Audited): string {
  return callKey === undefined ? requestId : JSON.stringify([operationId, callKey])
}

function alwaysOf({
  rootOperationId,
  operationId,
  gateId,
  point,
  identifier,
  apiName,
  approvers = [],
}: Audited): string {
  const run = rootOperationId ?? operationId
  return JSON.stringify([run, gateId, point, identifier, apiName, [...approvers].sort()])
}

function momentOf({ at, host }: AuditEntry): Moment {
  return { at: String(at), ...(typeof host === 'string' && { host }) }
}

/** Those of the fields that are texts: a log that was forged may have anything in their place. */
function texts(entry: AuditEntry, fields: readonly string[]): Record<string, string> {
  const found: Record<string, string> = {}
  for (const field of fields) {
    const value = entry[field]
    if (typeof value === 'string') found[field] = value
  }
  return found
}

function time(value: unknown): number | undefined {
  return typeof value === 'number' && Math.abs(value) <= 8.64e15 ? value : undefined
}

function list(value: unknown): string[] | undefined {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : undefined
}
