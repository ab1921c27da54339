/** An answer as a server was sent it. What the request it is for makes of it, the store says. */
import type { ApprovalAnswer } from '../gates/index.ts'
import { errorMessage, errorSentence } from '../internal/errors.ts'
import { parseHostileJson } from '../internal/hostile-json.ts'
import { MAX_ANSWER_BYTES } from '../internal/http/answer.ts'
import { defined, isRecord } from '../internal/objects.ts'
import { attemptOf } from './check-answer.ts'

/** What was sent is no answer at all. */
export class AnswerUnread extends Error {
  override readonly name = 'AnswerUnread'
  /** Of HTTP: 400 no JSON, 413 too large, 415 of another kind, 422 lacks what it needs. */
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

export interface SentAnswer {
  readonly requestId: string
  readonly body: Uint8Array
  /** Checked where it is given. */
  readonly contentType?: string
  /** In whose name, where the server knows; then it does not matter what the answer says. */
  readonly approver?: string | undefined
  /** Whether an answer that lets a call run must say which arguments were seen. */
  readonly needsDigest: boolean
  /** Of another protocol: what was sent, as an answer of ours. @throws Error saying why it is none. */
  readonly translate?: (body: unknown) => object
}

type NoteRefused = (details: {
  requestId: string
  code: string
  approver?: string
  problem: string
}) => Promise<void>

/**
 * Reads an answer. One that cannot be read is an attempt, which the audit log is told of.
 *
 * @throws AnswerUnread saying why, with the HTTP status for it.
 */
export async function readAnswer(sent: SentAnswer, noteRefused?: NoteRefused): Promise<ApprovalAnswer> {
  const { requestId, approver } = sent
  let given: unknown
  try {
    given = translated(parsed(sent), sent)
    if (!isRecord(given)) throw new AnswerUnread(422, 'The answer is not an object.')
    if (sent.needsDigest && given.decision !== 'reject' && typeof given.argsDigest !== 'string') {
      const message = 'The answer lacks `argsDigest`, the digest of the arguments that were shown.'
      throw new AnswerUnread(422, message)
    }
    return { ...given, ...defined({ approver }) } as unknown as ApprovalAnswer
  } catch (error) {
    if (!(error instanceof AnswerUnread)) throw error
    const tried = { ...(given as object), ...defined({ approver }) }
    await noteRefused?.({ requestId, code: `HTTP_${error.status}`, ...attemptOf(tried, error.message) })
    throw error
  }
}

function translated(body: unknown, { translate }: SentAnswer): unknown {
  if (translate === undefined) return body
  try {
    return translate(body)
  } catch (error) {
    throw new AnswerUnread(422, errorMessage(error))
  }
}

function parsed({ body, contentType }: SentAnswer): unknown {
  if (contentType !== undefined && !/^application\/json\b/i.test(contentType)) {
    throw new AnswerUnread(415, 'The body must be application/json.')
  }
  if (body.length > MAX_ANSWER_BYTES) {
    throw new AnswerUnread(413, `The body is larger than ${MAX_ANSWER_BYTES} bytes.`)
  }
  try {
    return parseHostileJson(body)
  } catch (error) {
    throw new AnswerUnread(400, `The body is refused: ${errorSentence(error)}`)
  }
}
