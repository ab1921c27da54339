import { hostname } from 'node:os'
import { assertSameCall } from '../gates/approver.ts'
import type {
  ApprovalAnswer,
  ApprovalRequest,
  Approver,
  HeardAnswer,
  ParkedApproval,
} from '../gates/index.ts'
import { isLeftRun } from '../gates/left-run.ts'
import { within } from '../internal/async.ts'
import { describeValue, errorMessage, errorSentence, HookspanError } from '../internal/errors.ts'
import { a, assertFields, type Fields, required } from '../internal/expect.ts'
import { digestOf } from '../internal/json.ts'
import { type AnswerOrigin, keptOrigin, ORIGIN, originOf, wayOf } from './answer-origin.ts'
import type { ApprovalChannel, Approvals, ApprovalsOptions } from './approvals.ts'
import type { AuditEvent } from './audit-chain.ts'
import { answeredEvent, requestedEvent } from './audit-events.ts'
import type { AuditLog } from './audit-log.ts'
import { answerFields, attemptOf, checkedAnswer, closedError } from './check-answer.ts'
import { AuditTrail, loggedLedger } from './logged-ledger.ts'
import { memoryStore } from './memory-store.ts'
import { SideWork } from './side-work.ts'
import {
  type ApprovalFilter,
  type ApprovalRecord,
  type ApprovalStore,
  asOf,
  isOpen,
  type KeptAnswer,
} from './store.ts'
import { BROKER, isElsewhere, noteElsewhere } from './told-to-all.ts'
import { Waiters } from './waiters.ts'

const FIELDS: Fields<ApprovalsOptions> = {
  store: a.with('add', 'get', 'list', 'answer', 'close', 'claim', 'settle'),
  mode: a.oneOf('wait', 'park'),
  parkAfterMs: a.number(0),
  defaultTimeoutMs: a.number(0),
  channels: a.list,
  audit: a.with('append'),
  pollMs: a.number(0),
  onError: a.function,
}

const CHANNEL: Fields<ApprovalChannel> = {
  name: required(a.name),
  requested: a.function,
  closed: a.function,
  open: a.function,
}
const FILTER: Fields<ApprovalFilter> = {
  status: a.oneOf('pending', 'answered', 'expired', 'cancelled'),
  rootOperationId: a.string,
  limit: a.number(1),
}

const DAY_MS = 86_400_000
const CLOSE_PATIENCE_MS = 2_000
const REACH_MS = 5_000
/** Milliseconds for which a store may fail while a human is waited for. */
const OUTAGE_MS = 30_000

/**
 * Lets humans decide: plug it into a dispatcher, and every `requireApproval` becomes a request in the store.
 *
 * @example
 * const approvals = createApprovals({ store: sqliteStore({ path: 'approvals.db' }) })
 * dispatcher.use(approvals)
 * const server = await serveApprovals({ approvals, token: process.env.APPROVAL_TOKEN })
 */
export function createApprovals(options: ApprovalsOptions = {}): Approvals {
  return new ApprovalDesk(options)
}

class ApprovalDesk implements Approvals {
  readonly name = 'approvals'
  readonly store: ApprovalStore
  readonly approver: Approver
  readonly #options: ApprovalsOptions
  readonly #channels: readonly ApprovalChannel[]
  readonly #waiters: Waiters
  readonly #pollMs: number
  readonly #sideWork: SideWork
  readonly #trail: AuditTrail
  #stops: (() => void | Promise<void>)[] = []
  #opening: Promise<void> | undefined
  #isClosed = false

  constructor(options: ApprovalsOptions) {
    assertFields<ApprovalsOptions>(options, FIELDS, 'the approvals')
    for (const channel of options.channels ?? []) {
      assertFields<ApprovalChannel>(channel, CHANNEL, 'an approval channel')
    }
    this.#options = options
    this.#sideWork = new SideWork(options.onError)
    this.#trail = new AuditTrail(options.audit)
    this.store = options.store ?? memoryStore()
    this.#pollMs = options.pollMs ?? 200
    this.#waiters = new Waiters(this.store, this.#pollMs)
    this.#channels = options.channels ?? []
    this.approver = {
      requestApproval: (request, { signal }) => {
        const asked = this.#ask(request, signal)
        // Then it only has to write down that the request is cancelled.
        signal.addEventListener('abort', () => void this.#sideWork.track(asked), { once: true })
        return asked
      },
      lookup: (request) => this.#atExpiry(request),
      withdraw: async (id) => {
        await this.#sideWork.track(this.#closed(id, 'cancelled', Date.now()))
      },
      withdrawRun: (id) => this.#sideWork.track(this.#closeAll(id)),
      closed: async (id) => {
        const record = await this.store.get(id)
        // What the store has lost is asked anew.
        return record === undefined || !isOpen(record, Date.now())
      },
      allowed: (request) => this.#trail.append({ ...requestedEvent(request), event: 'allowed' }),
      ledger: loggedLedger(this.store, this.#trail, this.#sideWork),
    }
  }

  async list(filter: ApprovalFilter = {}): Promise<ApprovalRecord[]> {
    assertFields<ApprovalFilter>(filter, FILTER, 'list()')
    const now = Date.now()
    const records = (await inReach(this.store.list(filter, now))).map((record) => asOf(record, now))
    return filter.status === undefined ? records : records.filter(({ status }) => status === filter.status)
  }

  async get(id: string): Promise<ApprovalRecord | undefined> {
    const record = await inReach(this.store.get(id))
    return record && asOf(record, Date.now())
  }

  respond(id: string, answer: ApprovalAnswer, origin: AnswerOrigin = {}): Promise<ApprovalRecord> {
    return this.#sideWork.track(this.#told(id, answer, origin))
  }

  async #told(id: string, answer: ApprovalAnswer, origin: AnswerOrigin): Promise<ApprovalRecord> {
    assertFields<AnswerOrigin>(origin, ORIGIN, 'the origin of an answer')
    try {
      return await this.#respond(id, answer, origin)
    } catch (error) {
      if (!(error instanceof HookspanError)) throw error
      if (origin.channel === BROKER) await noteElsewhere(error, id, answer, this.store)
      if (error.code !== 'INVALID_STATE' && !isElsewhere(error)) {
        const attempt = attemptOf(answer, error.message)
        const from = originOf(origin, attempt.approver)
        await this.noteRefused({ requestId: id, code: error.code, ...attempt, ...from })
      }
      throw error
    }
  }

  async #respond(id: string, answer: ApprovalAnswer, origin: AnswerOrigin): Promise<ApprovalRecord> {
    const given = answerFields(answer)
    const known = await inReach(this.store.get(id))
    if (known === undefined) {
      throw new HookspanError('APPROVAL_NOT_FOUND', `There is no approval request ${describeValue(id)}.`)
    }
    const clean = checkedAnswer(known, given)
    if (!isOpen(known, Date.now())) throw closedError(known, Date.now())
    const record = await this.#trail.exclusively((append) =>
      this.#take(known, clean, originOf(origin, clean.approver), append),
    )
    this.#waiters.wake(id)
    this.#tell((channel) => channel.closed?.(record))
    return record
  }

  /** What is answered is in the log before, and what is in the log was open then: others who answer wait for it. */
  async #take(
    known: ApprovalRecord,
    answer: ApprovalAnswer,
    origin: AnswerOrigin,
    append: AuditLog['append'],
  ): Promise<ApprovalRecord> {
    const { id } = known.request
    const now = Date.now()
    const current = (await inReach(this.store.get(id))) ?? known
    if (!isOpen(current, now)) throw closedError(current, now)
    await append({ ...answeredEvent(known.request, answer), ...origin })
    const kept: KeptAnswer = this.#trail.isKept
      ? { ...answer, logged: true, origin: wayOf(origin) }
      : { ...answer, origin: { ...origin, host: hostname() } }
    const result = await this.store.answer(id, kept, now).catch(async (error: unknown) => {
      const record = await this.#takenAfterAll(id, kept, now)
      if (record !== undefined) return { record, closed: true }
      await append({ event: 'refused', requestId: id, code: 'STORE_FAILED', problem: errorMessage(error) })
      throw error
    })
    if (result === undefined || !result.closed) throw closedError(result?.record ?? current, now)
    return result.record
  }

  /** What says that an answer was taken may be lost on its way, and the answer counts. */
  async #takenAfterAll(id: string, answer: KeptAnswer, now: number): Promise<ApprovalRecord | undefined> {
    const record = await inReach(this.store.get(id)).catch(() => undefined)
    const isIt = record?.closedAt === now && digestOf(record.answer) === digestOf(answer)
    return isIt ? record : undefined
  }

  noteRefused(details: Omit<AuditEvent, 'event'>): Promise<void> {
    return this.#trail.append({ ...details, event: 'refused' })
  }

  ready(): Promise<void> {
    this.#opening ??= this.#open().catch(async (error: unknown) => {
      // What is wrong may be mended: who asks next tries again.
      await this.#stop()
      this.#opening = undefined
      throw error
    })
    return this.#opening
  }

  async close(): Promise<void> {
    // What is being answered, told or cancelled is so to the end, before the connections go.
    await within(CLOSE_PATIENCE_MS, this.#sideWork.finish())
    this.#isClosed = true
    await this.#stop()
    await this.store.dispose?.()
  }

  async #stop(): Promise<void> {
    const stops = this.#stops
    this.#stops = []
    for (const stop of stops) await stop()
  }

  async #open(): Promise<void> {
    const watching = await this.store.watch?.((id) => this.#waiters.wake(id))
    if (typeof watching === 'function') this.#stops.push(watching)
    for (const channel of this.#channels) {
      const stop = await channel.open?.(this)
      if (typeof stop === 'function') this.#stops.push(stop)
    }
  }

  async #ask(given: ApprovalRequest, signal: AbortSignal): Promise<HeardAnswer | ParkedApproval> {
    await this.ready()
    const { defaultTimeoutMs = DAY_MS, mode = 'wait', parkAfterMs = 0 } = this.#options
    const request: ApprovalRequest =
      given.expiresAt !== undefined || defaultTimeoutMs === Number.POSITIVE_INFINITY
        ? given
        : { ...given, expiresAt: given.requestedAt + defaultTimeoutMs }
    const known = await this.store.get(request.id)
    if (known === undefined) await this.#trail.append(requestedEvent(request))
    const record = known ?? (await this.store.add(request))
    try {
      assertSameCall(record.request, request)
    } catch (error) {
      await this.noteRefused({ requestId: request.id, code: 'APPROVAL_MISMATCH' })
      throw error
    }
    if (known === undefined) this.#tell((channel) => channel.requested?.(request))
    return this.#answerOf(record.request, mode === 'park' ? parkAfterMs : undefined, signal)
  }

  #tell(what: (channel: ApprovalChannel) => unknown): void {
    for (const channel of this.#channels) {
      this.#sideWork.safely(`channel ${channel.name}`, () => what(channel))
    }
  }

  /** Waits for the answer; for `parkAfterMs` at most where the run is to be parked. */
  async #answerOf(
    request: ApprovalRequest,
    parkAfterMs: number | undefined,
    signal: AbortSignal,
  ): Promise<HeardAnswer | ParkedApproval> {
    const askedAt = performance.now()
    // By the clock that nobody sets: where the other is set back, a run would wait for as much longer.
    const endsAt = askedAt + (request.expiresAt ?? Number.POSITIVE_INFINITY) - Date.now()
    for (;;) {
      const now = Date.now()
      const waitedMs = performance.now() - askedAt
      const record = await this.#waitedFor(request.id, signal)
      if (record === undefined) {
        throw new HookspanError('APPROVAL_NOT_FOUND', `the request ${request.id} is gone`)
      }
      if (record.status === 'answered') return this.#heard(record)
      if (record.status !== 'pending') throw closedError(record, now)
      if (!isOpen(record, now) || performance.now() > endsAt) return this.#expire(request, now)
      if (signal.aborted) {
        // Another process waits for the answer.
        if (!isLeftRun(signal.reason)) await this.#closed(request.id, 'cancelled', now)
        throw signal.reason
      }
      if (parkAfterMs !== undefined && waitedMs >= parkAfterMs) return { decision: 'park' }
      const dueAt = Math.min(endsAt + 1, askedAt + (parkAfterMs ?? Number.POSITIVE_INFINITY))
      await this.#waiters.change(request.id, { dueAt, expiresAt: request.expiresAt, signal })
    }
  }

  /** A store that is away for a while, as a server that starts anew, is not what a human's question ends with. */
  async #waitedFor(id: string, signal: AbortSignal): Promise<ApprovalRecord | undefined> {
    const until = performance.now() + OUTAGE_MS
    for (;;) {
      try {
        return await this.store.get(id)
      } catch (error) {
        const isOver = this.#isClosed || signal.aborted || performance.now() > until
        if (isOver || error instanceof HookspanError) throw error
        await this.#waiters.change(id, { dueAt: performance.now() + this.#pollMs, signal })
      }
    }
  }

  async #expire(request: ApprovalRequest, now: number): Promise<HeardAnswer> {
    const record = await this.#closed(request.id, 'expired', now)
    if (record?.status === 'answered') return this.#heard(record)
    throw closedError(record ?? { request, status: 'expired' }, now)
  }

  /** The last word at the moment of expiry: an answer that was taken in time counts, and none is taken after. */
  async #atExpiry(request: ApprovalRequest): Promise<HeardAnswer | undefined> {
    const record = await this.#closed(request.id, 'expired', Date.now())
    return record?.status === 'answered' ? this.#heard(record) : undefined
  }

  /** Who answered may have known nothing of the log: it is in there before it counts. */
  async #heard({ request, answer }: ApprovalRecord): Promise<HeardAnswer> {
    const { logged, origin, ...given } = answer as KeptAnswer
    const told = answeredEvent(request, given)
    if (!logged) await this.#trail.append({ ...told, ...keptOrigin(origin), elsewhere: true })
    return { ...given, ...wayOf(origin) }
  }

  async #closed(
    id: string,
    status: 'expired' | 'cancelled',
    now: number,
  ): Promise<ApprovalRecord | undefined> {
    const result = await this.store.close(id, status, now)
    if (result?.closed) {
      await this.#trail.append({ event: status, requestId: id })
      this.#tell((channel) => channel.closed?.(result.record))
    }
    return result?.record
  }

  /** Lists are of so many at most: until none is left, or those that are cannot be closed. */
  async #closeAll(rootOperationId: string): Promise<void> {
    for (let closed = 1; closed > 0; ) {
      closed = 0
      for (const { request } of await this.store.list({ status: 'pending', rootOperationId })) {
        const record = await this.#closed(request.id, 'cancelled', Date.now())
        if (record?.status === 'cancelled') closed++
      }
    }
  }
}

/** What a human is waiting for is read soon or not at all: a store that is away may let it wait for as long as it is. */
async function inReach<T>(reading: Promise<T>): Promise<T> {
  try {
    const read = await within(
      REACH_MS,
      reading.then((value) => ({ value })),
    )
    if (read !== undefined) return read.value
    throw new Error(`it did not answer within ${REACH_MS / 1_000} s`)
  } catch (error) {
    if (error instanceof HookspanError) throw error
    const message = `The store of approvals cannot be read: ${errorSentence(error)} Nothing was changed.`
    throw new HookspanError('APPROVAL_UNREACHABLE', message, { cause: error })
  }
}
