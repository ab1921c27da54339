import type { ParkedOperation } from '../dispatcher/index.ts'
import type { ApprovalRequest } from '../gates/index.ts'
import { describeValue, errorMessage } from '../internal/errors.ts'
import { refusing } from '../internal/expect.ts'
import { parseHostileJson } from '../internal/hostile-json.ts'
import type { LoopState } from './loop.ts'
import type { SavedSpending } from './spending.ts'

const invalid = refusing('INVALID_STATE', 'The saved run cannot be resumed')

/** Grows with each change that an older `resumeAgent` could not read. */
export const RUN_STATE_VERSION = 1

/** A run that waits for a human. Plain JSON; it holds the conversation: keep it where you keep those. */
export interface SavedRun {
  readonly schema: 'hookspan.run'
  readonly version: typeof RUN_STATE_VERSION
  readonly agentName: string
  /** The hooks that observed the run: the same ones are to observe what is left of it. */
  readonly hookIds: readonly string[]
  readonly operation: ParkedOperation
  readonly loop: LoopState
  readonly spending: SavedSpending
  /** Runs of sub-agents that wait, by their name and the id of the call. */
  readonly children: Readonly<Record<string, SavedRun>>
  readonly callIds: number
  readonly pendingApprovals: readonly ApprovalRequest[]
  readonly userId?: string
  readonly conversationId?: string
}

/** @throws HookspanError `INVALID_STATE` naming what is wrong. */
export function readSavedRun(state: unknown): SavedRun {
  let value = state
  if (typeof state === 'string') {
    try {
      value = parseHostileJson(state)
    } catch (error) {
      throw invalid(errorMessage(error))
    }
  }
  if (typeof value !== 'object' || value === null)
    throw invalid(`expected an object, got ${describeValue(value)}`)
  const saved = value as Partial<SavedRun>
  if (saved.schema !== 'hookspan.run')
    throw invalid(`expected \`schema\` "hookspan.run", got ${describeValue(saved.schema)}`)
  if (saved.version !== RUN_STATE_VERSION) {
    throw invalid(
      `it has version ${describeValue(saved.version)}, this hookspan reads version ${RUN_STATE_VERSION}: resume it with the one that wrote it`,
    )
  }
  for (const key of ['operation', 'loop', 'spending', 'children', 'pendingApprovals', 'hookIds'] as const) {
    if (typeof saved[key] === 'object' && saved[key] !== null) continue
    throw invalid(`expected \`${key}\` to be an object, got ${describeValue(saved[key])}`)
  }
  return saved as SavedRun
}
