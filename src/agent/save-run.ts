import type { ParkedOperation } from '../dispatcher/index.ts'
import { defined } from '../internal/objects.ts'
import { type LoopState, RUN_STATE_VERSION, type SavedRun } from './run-state.ts'
import type { Spending } from './spending.ts'
import type { ExecAgentOptions } from './types.ts'

/** What of a run its operation does not know. */
export interface RunParts {
  readonly state: LoopState
  readonly spending: Spending
  readonly children: Readonly<Record<string, SavedRun>>
  readonly callIds: number
  readonly toolNames: readonly string[]
  /** It is in a store of checkpoints. */
  readonly kept: boolean
}

/** A run as it is now, to be gone on with elsewhere. `saved`: what it went on from itself. */
export function saveRun(
  { gateIds: _withToolsOwn, ...operation }: ParkedOperation,
  { agent, gates = [], hooks, userId, conversationId }: ExecAgentOptions,
  saved: SavedRun | undefined,
  { state, spending, children, callIds, toolNames, kept }: RunParts,
): SavedRun {
  const own = (operation.waiting ?? []).flatMap(({ request }) => request ?? [])
  const nested = Object.values(children).flatMap((child) => child.pendingApprovals)
  const user = userId ?? saved?.userId
  const conversation = conversationId ?? saved?.conversationId
  return {
    schema: 'hookspan.run',
    version: RUN_STATE_VERSION,
    agentName: agent.name,
    hookIds: (hooks ?? []).map((hook) => (typeof hook === 'string' ? hook : hook.id)),
    gateIds: [...gates, ...(agent.gates ?? [])].map(({ id }) => id),
    api: agent.api ?? 'chat',
    toolNames,
    ...(kept && { kept }),
    operation,
    loop: state,
    spending: spending.save(),
    children,
    callIds,
    pendingApprovals: [...own, ...nested],
    ...defined({ userId: user, conversationId: conversation }),
  }
}
