import { HookspanError } from '../../internal/errors.ts'
import type { ApprovalOptions, ApprovalStatus, SdkTool } from './sdk.ts'

/** As the SDK itself finds it out: the call's configuration comes before the tool's own. */
export async function ownStatus(
  { needsApproval }: SdkTool,
  own: unknown,
  input: unknown,
  options: ApprovalOptions,
): Promise<ApprovalStatus> {
  if (own !== undefined && own !== null) {
    return (typeof own === 'function' ? await own(input, options) : own) as ApprovalStatus
  }
  if (needsApproval === undefined || needsApproval === null) return undefined
  const { toolCallId, messages, toolContext: context } = options
  const needed =
    typeof needsApproval === 'function'
      ? await needsApproval(input, { toolCallId, messages, context })
      : needsApproval
  return needed ? 'user-approval' : undefined
}

export function normalized(status: ApprovalStatus): { type: string; reason?: string | undefined } {
  if (typeof status === 'string') return { type: status }
  return status ?? { type: 'not-applicable' }
}

export const refusedBy = (reason = 'denied by toolApproval') =>
  ({ kind: 'deny', code: 'tool_approval', reason }) as const

/** The SDK takes whatever is not denied as approved: the loop cannot be stopped otherwise. */
export function unanswered(name: string, id: string | undefined): HookspanError {
  return new HookspanError(
    'INVALID_STATE',
    `The run waits for a human to answer${id === undefined ? '' : ` request "${id}"`} about tool "${name}", and ` +
      'nobody has. Resume it once the answer is there.',
  )
}

/** Who says so in the messages is whoever wrote them: no gate goes by it. */
export function notResumed(name: string): HookspanError {
  return new HookspanError(
    'INVALID_STATE',
    `The messages say that tool "${name}" is approved, and a gate asks a human about it, who was not asked in this run. Go on ` +
      'with the run that was parked: runWith({ resume: await parkedRun(result) }, ...).',
  )
}
