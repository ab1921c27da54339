/** Requests of agents to people, answered from the page. Whose they are is not the viewer's business: it is handed them. */
import type { IncomingMessage } from 'node:http'
import { type ApprovalFilter, type ApprovalRecord, isOpen } from '../../approval/store.ts'
import { errorMessage } from '../../internal/errors.ts'
import { parseHostileJson } from '../../internal/hostile-json.ts'
import { MAX_ANSWER_BYTES, statusOfRefusal } from '../../internal/http/answer.ts'
import { isRecord } from '../../internal/objects.ts'
import { idsOfOperation } from '../../internal/operation-ids.ts'
import type { WaitingRequest } from '../model/approval.ts'
import type { Store } from '../store/store.ts'
import { type BodyReader, HttpError } from './body.ts'

type ApprovalAnswer = NonNullable<ApprovalRecord['answer']>

/** What `createApprovals` gives; with its audit log and its channels behind it. */
export interface ViewerApprovals {
  list(filter?: ApprovalFilter): Promise<ApprovalRecord[]>
  get(id: string): Promise<ApprovalRecord | undefined>
  respond(id: string, answer: ApprovalAnswer): Promise<ApprovalRecord>
  /** Writes an attempt to the audit log that is no answer at all. */
  noteRefused?(details: {
    requestId: string
    code: string
    approver?: string
    problem: string
  }): Promise<void>
}

const MOST_SHOWN = 500

export class ApprovalDesk {
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

  /** What may be answered now, the oldest first, each with the run it belongs to. */
  async waiting(): Promise<WaitingRequest[]> {
    const records = (await this.#approvals?.list({ status: 'pending', limit: MOST_SHOWN })) ?? []
    const now = Date.now()
    return records
      .filter((record) => isOpen(record, now))
      .map(({ request }) => ({ ...request, traceId: this.#traceOf(request) }))
  }

  /** What became of a request. */
  async outcome(id: string): Promise<Pick<ApprovalRecord, 'status' | 'answer'>> {
    const record = await this.#approvals?.get(id)
    if (record === undefined) throw new HttpError(404, 'There is no such request.')
    const { status, answer } = record
    const isLate = status === 'pending' && !isOpen(record, Date.now())
    return { status: isLate ? 'expired' : status, ...(answer && { answer }) }
  }

  async respond(id: string, request: IncomingMessage, bodies: BodyReader): Promise<ApprovalRecord> {
    if (this.#approvals === undefined) {
      throw new HttpError(404, 'No approvals here: start `hookspan view --approvals FILE`.')
    }
    const answer = await this.#read(id, request, bodies)
    try {
      // Who answers is told by whoever started the viewer, never by the page.
      const { approver: _, ...given } = answer
      return await this.#approvals.respond(id, {
        ...given,
        ...(this.#approver !== undefined && { approver: this.#approver }),
      })
    } catch (error) {
      throw new HttpError(statusOfRefusal(error) ?? 500, errorMessage(error))
    }
  }

  async #read(id: string, request: IncomingMessage, bodies: BodyReader): Promise<ApprovalAnswer> {
    try {
      return readAnswer(await bodies.read(request))
    } catch (error) {
      if (error instanceof HttpError) {
        await this.#approvals?.noteRefused?.({
          requestId: id,
          code: `HTTP_${error.status}`,
          ...(this.#approver !== undefined && { approver: this.#approver }),
          problem: error.message,
        })
      }
      throw error
    }
  }

  /** By the operation's id; where the run is part of another trace, by the call that waits. */
  #traceOf({ rootOperationId, toolCallId }: ApprovalRecord['request']): string {
    const { traceId } = idsOfOperation(rootOperationId)
    if (this.#store.hasRun(traceId)) return traceId
    return this.#store.waitingTraceOf(toolCallId) ?? traceId
  }
}

function readAnswer(body: Buffer): ApprovalAnswer {
  if (body.length > MAX_ANSWER_BYTES) {
    throw new HttpError(413, `The answer is larger than ${MAX_ANSWER_BYTES} bytes.`)
  }
  let answer: unknown
  try {
    answer = parseHostileJson(body.toString())
  } catch (error) {
    throw new HttpError(400, `The answer is refused: ${errorMessage(error)}.`)
  }
  if (!isRecord(answer)) throw new HttpError(422, 'The answer is not an object.')
  // Elsewhere it may be left out. Here a person saw something, and only that may run.
  if (typeof answer.argsDigest !== 'string') {
    throw new HttpError(422, 'The answer lacks `argsDigest`, the digest of the arguments that were shown.')
  }
  return answer as unknown as ApprovalAnswer
}
