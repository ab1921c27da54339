/** Requests of agents to people, answered from the page. Whose they are is not the viewer's business: it is handed them. */
import type { IncomingMessage } from 'node:http'
import { type AnswerOrigin, originOf } from '../../approval/answer-origin.ts'
import { AnswerUnread, readAnswer } from '../../approval/read-answer.ts'
import { type ApprovalFilter, type ApprovalRecord, isOpen } from '../../approval/store.ts'
import { errorMessage } from '../../internal/errors.ts'
import { statusOfRefusal } from '../../internal/http/answer.ts'
import { defined } from '../../internal/objects.ts'
import { idsOfOperation } from '../../internal/operation-ids.ts'
import { userName } from '../../internal/user.ts'
import { MOST_ASKED, type WaitingRequest } from '../model/approval.ts'
import { type ApprovalContext, approvalContext } from '../model/approval-context.ts'
import type { Store } from '../store/store.ts'
import { takeTurns } from '../turns.ts'
import { type BodyReader, HttpError } from './body.ts'

type AskedCall = Pick<ApprovalRecord['request'], 'rootOperationId' | 'toolCallId'>
type ApprovalAnswer = NonNullable<ApprovalRecord['answer']>

/** What `createApprovals` gives; with its audit log and its channels behind it. */
export interface ViewerApprovals {
  list(filter?: ApprovalFilter): Promise<ApprovalRecord[]>
  get(id: string): Promise<ApprovalRecord | undefined>
  respond(id: string, answer: ApprovalAnswer, origin?: AnswerOrigin): Promise<ApprovalRecord>
  /** Writes an attempt to the audit log that is no answer at all. */
  noteRefused?(details: {
    requestId: string
    code: string
    approver?: string
    problem: string
  }): Promise<void>
}

export class PageApprovals {
  readonly #approvals: ViewerApprovals | undefined
  readonly #approver: string | undefined
  readonly #store: Store

  constructor(approvals: ViewerApprovals | undefined, approver: string | undefined, store: Store) {
    this.#approvals = approvals
    this.#approver = approver
    this.#store = store
  }

  get connected(): boolean {
    return this.#approvals !== undefined
  }

  /** In whose name the page answers. */
  get approver(): string | undefined {
    return this.#approver
  }

  /** What may be answered now, the oldest first, each with the run it belongs to. */
  async waiting(): Promise<WaitingRequest[]> {
    const records = (await this.#approvals?.list({ status: 'pending', limit: MOST_ASKED + 1 })) ?? []
    const now = Date.now()
    const requests = records.filter((record) => isOpen(record, now)).map(({ request }) => request)
    const traceOf = await this.#tracesOf(requests)
    return requests.map((request) => ({ ...request, traceId: traceOf(request) }))
  }

  /** What led to a request, as far as its run was sent here. */
  async context(id: string): Promise<ApprovalContext> {
    const request = (await this.#approvals?.get(id))?.request
    if (request === undefined) throw new HttpError(404, 'There is no such request.')
    const traceId = (await this.#tracesOf([request]))(request)
    const run = await takeTurns(this.#store.reading(traceId))
    const context = run && (await takeTurns(approvalContext(run.rows, run.open, request.toolCallId)))
    if (context !== undefined && context.path.length > 0) return context
    return { ...context, path: request.agentName === undefined ? [] : [request.agentName] }
  }

  /** What became of a request. */
  async outcome(id: string): Promise<Pick<ApprovalRecord, 'status' | 'answer'>> {
    const record = await this.#approvals?.get(id)
    if (record === undefined) throw new HttpError(404, 'There is no such request.')
    const { status, answer } = record
    const isLate = status === 'pending' && !isOpen(record, Date.now())
    return defined({ status: isLate ? 'expired' : status, answer })
  }

  async respond(id: string, request: IncomingMessage, bodies: BodyReader): Promise<ApprovalRecord> {
    const approvals = this.#approvals
    if (approvals === undefined) {
      throw new HttpError(404, 'No approvals here: start `hookspan view --approvals FILE`.')
    }
    // Nobody proves to the page who they are: it answers in the name that it was started with.
    const address = request.socket.remoteAddress
    const origin: AnswerOrigin = defined({ channel: 'page', address, user: userName() })
    try {
      // Who answers is told by whoever started the viewer, never by the page. And only what was seen there may run.
      const { approver: _, ...given } = await bodies.use(request, (body) =>
        readAnswer({ requestId: id, body, approver: this.#approver, needsDigest: true }, async (details) =>
          approvals.noteRefused?.({ ...details, ...originOf(origin, details.approver) }),
        ),
      )
      return await approvals.respond(id, { ...given, ...defined({ approver: this.#approver }) }, origin)
    } catch (error) {
      if (error instanceof HttpError) throw error
      const status = error instanceof AnswerUnread ? error.status : statusOfRefusal(error)
      throw new HttpError(status ?? 500, errorMessage(error))
    }
  }

  /** By the operation's id; where the run is part of another trace, by the call that waits. */
  async #tracesOf(requests: readonly AskedCall[]): Promise<(request: AskedCall) => string> {
    const own = ({ rootOperationId }: AskedCall) => idsOfOperation(rootOperationId).traceId
    const others = requests.filter((request) => !this.#store.hasRun(own(request)))
    // All of them with one look at the runs that wait: it is repeated as long as a page is open.
    const calls = new Set(others.map(({ toolCallId }) => toolCallId))
    const traces =
      calls.size > 0 ? await takeTurns(this.#store.waitingTraces(calls)) : new Map<string, string>()
    return (request) =>
      (others.includes(request) ? traces.get(request.toolCallId) : undefined) ?? own(request)
  }
}
