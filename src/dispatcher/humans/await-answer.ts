import { assertSameCall } from '../../gates/approver.ts'
import type { ApprovalRequest, Approver, HeardAnswer, ParkedApproval } from '../../gates/index.ts'
import { MAX_TIMER_MS, within } from '../../internal/async.ts'
import { errorMessage, HookspanError } from '../../internal/errors.ts'
import { snapshot } from '../../internal/snapshot.ts'
import type { Question } from './question.ts'
import { type Verdict, verdictOf } from './verdict.ts'

class Expired extends Error {}

/** Milliseconds an approver gets to look up the answer to a question that has expired. */
const READ_MS = 1_000

/** One that a resumed run finds late still has the time to be read: the approver knows when it was given. */
function readMs({ expiresAt }: ApprovalRequest): number | undefined {
  return expiresAt === undefined ? undefined : Math.max(expiresAt - Date.now(), READ_MS)
}

/** Whatever comes of a question. Never throws: no answer is a refusal. */
export async function answerTo(
  approver: Approver,
  request: ApprovalRequest,
  asked: ApprovalRequest,
  question: Question,
  runSignal: AbortSignal | undefined,
): Promise<Verdict | 'park'> {
  try {
    assertSameCall(asked, request)
    const limitMs = asked === request ? question.approval.timeoutMs : readMs(asked)
    const answer = await asking(approver, asked, limitMs, runSignal)
    if (answer?.decision !== 'park') return verdictOf(answer, asked, approver)
    if (question.parkable === true) return 'park'
    throw new Error(
      `the approver parks the run, which is not possible at ${question.point} of this run: let it wait in the process`,
    )
  } catch (error) {
    if (error instanceof Expired) {
      const late = await lastWord(approver, asked)
      if (late !== undefined) return late
      const reason = `nobody answered within ${question.approval.timeoutMs} ms`
      return {
        result: { kind: 'deny', code: 'approval_timeout', reason, stop: false },
        action: 'timeout',
        reason,
      }
    }
    const code = errorCode(error)
    if (code === 'approval_timeout') {
      const reason = errorMessage(error)
      return { result: { kind: 'deny', code, reason, stop: false }, action: 'timeout', reason }
    }
    const reason = `asking for approval failed: ${errorMessage(error)}`
    return {
      result: { kind: 'deny', code, reason, stop: false },
      action: 'rejectAndContinue',
      reason,
      error,
    }
  }
}

async function lastWord(approver: Approver, request: ApprovalRequest): Promise<Verdict | undefined> {
  try {
    const answer = await within(READ_MS, approver.lookup?.(request))
    return answer ? verdictOf(answer, request, approver) : undefined
  } catch {
    return undefined
  }
}

function errorCode(error: unknown): 'approval_mismatch' | 'approval_timeout' | 'approval_error' {
  if (!(error instanceof HookspanError)) return 'approval_error'
  if (error.code === 'APPROVAL_EXPIRED') return 'approval_timeout'
  return error.code === 'APPROVAL_MISMATCH' ? 'approval_mismatch' : 'approval_error'
}

async function asking(
  approver: Approver,
  request: ApprovalRequest,
  limitMs: number | undefined,
  runSignal: AbortSignal | undefined,
): Promise<HeardAnswer | ParkedApproval> {
  const controller = new AbortController()
  const abort = (reason: unknown) => controller.abort(reason)
  const onRunAbort = () => abort(runSignal?.reason)
  const timer =
    limitMs === undefined || limitMs > MAX_TIMER_MS
      ? undefined
      : setTimeout(() => abort(new Expired()), limitMs)
  if (runSignal?.aborted) onRunAbort()
  else runSignal?.addEventListener('abort', onRunAbort, { once: true })
  try {
    return await new Promise((resolve, reject) => {
      const { signal } = controller
      if (signal.aborted) return reject(signal.reason)
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
      // A copy: an approver that edits what it was shown must say so, and cannot slip it in.
      const shown = { ...request, args: snapshot(request.args) }
      Promise.resolve(approver.requestApproval(shown, { signal })).then(resolve, reject)
    })
  } finally {
    clearTimeout(timer)
    runSignal?.removeEventListener('abort', onRunAbort)
  }
}
