import type { HookDispatcher } from '../../dispatcher/index.ts'
import { assertDispatcher } from '../../dispatcher/is-dispatcher.ts'
import type { ApprovalAnswer, ApprovalRequest, Approver } from '../../gates/index.ts'
import { delay } from '../../internal/async.ts'
import { errorMessage, HookspanError } from '../../internal/errors.ts'
import { expected as wrong } from '../../internal/expect.ts'
import { matchesTool } from '../../internal/glob.ts'
import { safeStringify } from '../../internal/json.ts'
import { attach } from '../attached.ts'
import { Failures } from '../failures.ts'
import { differences, formatDifference } from '../match/difference.ts'
import { HumanAnswer, type HumanAnswerDefinition } from './human-answer.ts'

interface Pending {
  readonly answer: HumanAnswer
  readonly definition: HumanAnswerDefinition
  used: number
}

/**
 * Answers every question to a human from a script, in the script's order for each tool, until it is disposed.
 * A question without an answer denies the call and fails the test; so does an answer nobody asked for.
 *
 * @throws HookspanError `INVALID_OPTION` for an answer without a reply.
 * @example
 * using humans = scriptedApprovals(dispatcher, [human('refund').rejects('too much')])
 */
export function scriptedApprovals(
  dispatcher: HookDispatcher,
  answers: readonly HumanAnswer[] = [],
): ScriptedApprovals {
  return new ScriptedApprovals(dispatcher, answers)
}

export class ScriptedApprovals implements Disposable {
  readonly #answers: Pending[] = []
  readonly #failures = new Failures()
  readonly #requests: ApprovalRequest[] = []
  readonly #undo: Disposable
  readonly #unattach: () => void
  readonly #told = new Set<Pending>()
  #disposed = false

  constructor(dispatcher: HookDispatcher, answers: readonly HumanAnswer[]) {
    assertDispatcher(dispatcher, 'scriptedApprovals')
    this.add(...answers)
    const approver: Approver = { requestApproval: (request, { signal }) => this.#answer(request, signal) }
    this.#undo = dispatcher.use({ name: 'scripted approvals', approver })
    this.#unattach = attach(dispatcher, this)
  }

  /** Every question that was asked, in order. */
  get requests(): readonly ApprovalRequest[] {
    return this.#requests
  }

  /** Adds answers behind those that are there. */
  add(...answers: HumanAnswer[]): this {
    for (const answer of answers) {
      if (!(answer instanceof HumanAnswer)) {
        throw wrong('an answer made by human()', answer)
      }
      const definition = HumanAnswer.definitionOf(answer)
      if (definition.reply === undefined) {
        throw new HookspanError(
          'INVALID_OPTION',
          `${answer} has no reply. Add .approves(), .rejects(reason), .edits(args) or .timesOut().`,
        )
      }
      this.#answers.push({ answer, definition, used: 0 })
    }
    return this
  }

  /** @throws HookspanError for a question without an answer and an answer without a question. */
  assertUsed(): void {
    const unused = this.#unused()
    for (const pending of unused) this.#told.add(pending)
    this.#failures.throwAll('approvals', unused.map(toFailure))
  }

  /** Takes the script out. @throws HookspanError for what `assertUsed()` did not tell yet. */
  [Symbol.dispose](): void {
    if (this.#disposed) return
    this.detach()
    const untold = this.#unused().filter((pending) => !this.#told.has(pending))
    this.#failures.throwUntold('approvals', untold.map(toFailure))
  }

  /** Takes the script out without a check. */
  detach(): void {
    this.#disposed = true
    this.#undo[Symbol.dispose]()
    this.#unattach()
  }

  #unused(): Pending[] {
    return this.#answers.filter(({ used, definition }) => used < definition.times)
  }

  async #answer(request: ApprovalRequest, signal: AbortSignal): Promise<ApprovalAnswer> {
    this.#requests.push(request)
    const pending = this.#answers.find((one) => one.used < one.definition.times && this.#fits(one, request))
    if (pending === undefined) throw this.#unscripted(request)
    pending.used++
    const { approver, delayMs, reply } = pending.definition
    if (delayMs > 0) await delay(delayMs, signal)
    const by = { approver, argsDigest: request.argsDigest }
    switch (reply?.kind) {
      case 'reject':
        return { ...by, decision: 'reject', reason: reply.reason, stop: reply.stop }
      case 'edit':
        return { ...by, decision: 'edit', args: this.#edited(reply.args, request, pending.answer) }
      case 'timeout':
        return this.#expire(request, signal)
      default:
        return { ...by, decision: 'approve' }
    }
  }

  #fits(pending: Pending, request: ApprovalRequest): boolean {
    try {
      return reasonsAgainst(pending, request).length === 0
    } catch (error) {
      // It was asked.
      pending.used++
      throw this.#threw(`The \`when\` function of ${pending.answer}`, request, error)
    }
  }

  #edited(args: unknown, request: ApprovalRequest, answer: HumanAnswer): unknown {
    if (typeof args !== 'function') return args
    try {
      return args(request.args)
    } catch (error) {
      throw this.#threw(`The function of ${answer}`, request, error)
    }
  }

  /** The call is denied, and the agent goes on. */
  #threw(what: string, request: ApprovalRequest, error: unknown): HookspanError {
    return this.#failures.add(
      new HookspanError(
        'APPROVAL_UNSCRIPTED',
        `${what} threw: ${errorMessage(error)}\n  asked    ${request.apiName}(${safeStringify(request.args)})`,
        { cause: error },
      ),
    )
  }

  #expire(request: ApprovalRequest, signal: AbortSignal): Promise<ApprovalAnswer> {
    if (request.expiresAt === undefined && !signal.aborted) {
      throw this.#failures.add(
        new HookspanError(
          'APPROVAL_UNSCRIPTED',
          `human("${request.apiName}").timesOut(): the question never expires. Give the approval a \`timeoutMs\`.`,
        ),
      )
    }
    return new Promise((_resolve, reject) => {
      if (signal.aborted) reject(signal.reason)
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    })
  }

  #unscripted(request: ApprovalRequest): HookspanError {
    const lines = this.#answers
      .filter(({ definition }) => matchesTool(definition.tool, request))
      .map(
        (pending) =>
          `  ${pending.answer}: ${told(pending, request) || `used up, ${pending.used} of ${pending.definition.times}`}`,
      )
    return this.#failures.add(
      new HookspanError(
        'APPROVAL_UNSCRIPTED',
        [
          'A human was asked, and no scripted answer fits.',
          `  asked    ${request.apiName}(${safeStringify(request.args)})`,
          ...(lines.length > 0 ? lines : ['  No answer is for this tool.']),
          `Add human("${request.apiName}").approves(), or another reply.`,
        ].join('\n'),
      ),
    )
  }
}

/** Of one that is used up, too: what its function throws then is a reason. */
function told(pending: Pending, request: ApprovalRequest): string {
  try {
    return reasonsAgainst(pending, request).join('; ')
  } catch (error) {
    return `its when() threw: ${errorMessage(error)}`
  }
}

function reasonsAgainst(
  { definition: { tool, condition } }: Pending,
  { apiName, identifier, args }: ApprovalRequest,
): string[] {
  if (!matchesTool(tool, { apiName, identifier })) return ['is for another tool']
  if (condition === undefined) return []
  if (condition.kind === 'predicate')
    return condition.test(args, undefined as never) === true ? [] : ['its when() is false']
  return differences(condition.expected, args, condition.mode).map((difference) =>
    formatDifference(difference),
  )
}

function toFailure({ answer, used, definition }: Pending): HookspanError {
  return new HookspanError(
    'MOCK_UNUSED',
    `A scripted human was not asked: ${answer} answered ${used} of ${definition.times} questions.`,
  )
}
