import type { Operation, Step } from '../dispatcher/index.ts'
import type { CompletionReason } from '../hooks/index.ts'
import { callModel, type ModelAccess } from './call-model.ts'
import type { RunCheckpoint } from './checkpoint/run-checkpoint.ts'
import type { Compactor } from './compaction.ts'
import type { AgentMessage, LoopState } from './run-state.ts'
import type { Toolbox } from './tools.ts'

const DEFAULT_MAX_STEPS = 50

export interface LoopParts {
  readonly op: Operation
  readonly access: ModelAccess
  readonly toolbox: Toolbox
  readonly compactor: Compactor | undefined
  readonly state: LoopState
  /** Where each turn is written down, when it is. */
  readonly checkpoint: RunCheckpoint | undefined
  /** Until the run of a sub-agent has ended whose call an abort has ended before. */
  readonly endChild: (key: string) => Promise<unknown>
  /** Where a run goes on that was begun in another process: in a step, or where that may have begun one that is not kept. */
  readonly goesOn: 'in step' | 'between steps' | undefined
}

/** Takes turns until the model asks for no more tools, or something ends the run. */
export async function runLoop(parts: LoopParts): Promise<CompletionReason | 'waiting'> {
  const { op, compactor, state, checkpoint } = parts
  // The process that had the run died between the end of a turn and that of its step.
  if (parts.goesOn === 'in step' && state.over !== undefined && !op.stopRequested) await op.step(() => {})
  if (state.over === 'end' && !op.stopRequested) return 'done'
  state.over = undefined
  // What was exported of a compaction or a step lies below its span, which ends with the run.
  if (parts.goesOn === 'between steps' && op.signal?.aborted && !op.stopRequested) {
    await compactor?.compactWhenDue(op, state).catch(() => {})
    await op.openStep()
  }
  // A turn that was begun in another process ends first, whatever it has spent: a human may have said yes to a call of it. Where it
  // is aborted, too, if it was kept: of its calls there may be spans below which something was exported.
  let begun = state.pending.length > 0 && (parts.goesOn === 'in step' || !op.signal?.aborted)
  for (;;) {
    const over = begun && !op.stopRequested ? undefined : endOf(parts)
    if (over !== undefined) return over
    begun = false
    if (compactor !== undefined && state.pending.length === 0) {
      const { context } = state
      await compactor.compactWhenDue(op, state)
      // A summary is paid for, too: whoever goes on has it, and it counts.
      if (state.context !== context) await checkpoint?.save().catch(() => {})
      const spent = endOf(parts)
      if (spent !== undefined) return spent
    }
    const next = await op.step((step) => takeTurn(parts, step))
    if (next === 'waiting' && !op.stopRequested && !op.signal?.aborted) {
      await checkpoint?.save()
      return 'waiting'
    }
    // What the last turn said needs nobody who goes on: it is given to the caller, saved or not.
    if (next === 'next') await checkpoint?.save()
    else await checkpoint?.save().catch(() => {})
    if (next === 'end' && !op.stopRequested) return 'done'
    state.over = undefined
  }
}

/** What ends the run before its next turn. */
function endOf({ op, access: { agent, spending }, state }: LoopParts): CompletionReason | undefined {
  if (op.signal?.aborted) return 'interrupted'
  if (op.stopRequested) return 'denied'
  if (state.steps >= (agent.maxSteps ?? DEFAULT_MAX_STEPS)) return 'max_steps'
  return spending.exhausted() ? 'cost_limit' : undefined
}

/** One turn: the model speaks, and the tools it asks for run at once; after a park, those that waited. */
async function takeTurn(parts: LoopParts, step: Step): Promise<'next' | 'end' | 'waiting'> {
  const { access, state, checkpoint } = parts
  if (state.pending.length === 0) {
    const turn = await callModel(access, step, state.context)
    append(state, turn.messages)
    state.content = turn.content
    state.pending = turn.toolCalls
    state.told = []
    if (turn.toolCalls.length > 0) {
      // Tools that run at once are saved with it; before anybody else is asked about one, it is kept.
      const saved = checkpoint?.save()
      if (checkpoint?.asksHumans) await saved
      else saved?.catch(() => {})
    }
  }
  const asked = state.pending
  state.told = asked.map((_, index) => state.told[index] ?? null)
  await Promise.all(asked.map((_, index) => callTool(parts, step, index)))
  checkpoint?.assertSaved()
  const { told } = state
  if (told.includes(null)) return 'waiting'
  append(
    state,
    access.api.toolResults(
      asked,
      told.map((one) => one ?? ''),
    ),
  )
  state.pending = []
  state.told = []
  state.steps++
  state.over = asked.length > 0 ? 'next' : 'end'
  step.report({ shouldContinue: asked.length > 0 })
  return state.over
}

async function callTool(
  { toolbox, state, checkpoint, endChild }: LoopParts,
  step: Step,
  index: number,
): Promise<void> {
  const call = state.pending[index]
  if (call === undefined || state.told[index] !== null) return
  const { told, idempotencyKey = checkpoint?.keyOf(call) } = await toolbox.call(step, call, checkpoint)
  if (told === null) return
  // From then on nothing is saved of its run.
  if (idempotencyKey !== undefined) await endChild(idempotencyKey)
  // At once: what is saved has the call either as open or with what it gave.
  state.told = state.told.with(index, told)
  checkpoint?.told(idempotencyKey)
  // Its step will be saved as a whole, unless others take longer.
  if (state.told.includes(null)) await checkpoint?.save().catch(() => {})
}

function append(state: LoopState, messages: readonly AgentMessage[]): void {
  state.messages = [...state.messages, ...messages]
  state.context = [...state.context, ...messages]
}
