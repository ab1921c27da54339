import type { PendingTool } from '../../hooks/index.ts'
import { defined } from '../../internal/objects.ts'
import type { ObservedRun } from '../sdk-run/observed-run.ts'

/** The call that the SDK's own approval is about. */
interface AskedAbout {
  readonly name: string
  readonly input: unknown
  readonly toolCallId: string
}

/** Tells that the SDK itself asks a human. It ends then, and the answer comes with the messages of another call. */
export async function tellAsked(run: ObservedRun, about: AskedAbout, instructions?: string): Promise<void> {
  const calls = await callsOf(run)
  calls?.openHumanIntervention({ pendingTools: [pending(about)], ...defined({ instructions }) }).park()
}

/** Tells what was answered, where the run that asked goes on. What our own gates wait for is answered by their approver alone. */
export async function tellAnswered(
  run: ObservedRun,
  about: AskedAbout,
  approved: boolean,
  reason?: string,
): Promise<void> {
  const { resumed } = run
  if (resumed?.waitingFor !== 'human') return
  if (resumed.waiting?.some(({ toolCallId }) => toolCallId === about.toolCallId)) return
  const calls = await callsOf(run)
  const asked = { pendingTools: [pending(about)], askedAt: resumed.parkedAt ?? Date.now() }
  const action = approved ? 'approve' : 'rejectAndContinue'
  calls?.openHumanIntervention(asked).answered({ action, ...defined({ reason }) })
}

/** What refuses the run is told where a call is decided. */
const callsOf = (run: ObservedRun) => run.calls().catch(() => undefined)

const pending = ({ name: apiName, input: args, toolCallId }: AskedAbout): PendingTool => ({
  ...{ identifier: 'local', apiName, toolCallId },
  args: args as PendingTool['args'],
})
