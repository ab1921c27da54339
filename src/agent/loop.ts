import type { Operation, Step } from '../dispatcher/index.ts'
import type { CompletionReason } from '../hooks/index.ts'
import { callModel, type ModelAccess } from './call-model.ts'
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
}

/** Takes turns until the model asks for no more tools, or something ends the run. */
export async function runLoop(parts: LoopParts): Promise<CompletionReason | 'waiting'> {
  const { op, access, compactor, state } = parts
  const { agent, spending } = access
  const { maxSteps = DEFAULT_MAX_STEPS } = agent
  for (;;) {
    if (op.signal?.aborted) return 'interrupted'
    if (op.stopRequested) return 'denied'
    if (state.steps >= maxSteps) return 'max_steps'
    if (spending.exhausted()) return 'cost_limit'
    if (compactor !== undefined && state.pending.length === 0) {
      state.context = await compactor.compactWhenDue(op, state.context)
      if (op.stopRequested) return 'denied'
    }
    const next = await op.step((step) => takeTurn(parts, step))
    if (next === 'waiting' && !op.stopRequested) return 'waiting'
    if (next === 'end' && !op.stopRequested) return 'done'
  }
}

/** One turn: the model speaks, and the tools it asks for run at once; after a park, those that waited. */
async function takeTurn(
  { access, toolbox, state }: LoopParts,
  step: Step,
): Promise<'next' | 'end' | 'waiting'> {
  if (state.pending.length === 0) {
    const turn = await callModel(access, step, state.context)
    append(state, turn.messages)
    state.content = turn.content
    state.pending = turn.toolCalls
    state.told = []
  }
  const asked = state.pending
  const before = state.told
  const told = await Promise.all(asked.map((call, index) => before[index] ?? toolbox.call(step, call)))
  state.told = told
  if (told.includes(null)) return 'waiting'
  append(
    state,
    asked.map((call, index) => access.api.toolResult(call, told[index] ?? '')),
  )
  state.pending = []
  state.told = []
  state.steps++
  step.report({ shouldContinue: asked.length > 0 })
  return asked.length > 0 ? 'next' : 'end'
}

function append(state: LoopState, messages: readonly AgentMessage[]): void {
  state.messages = [...state.messages, ...messages]
  state.context = [...state.context, ...messages]
}
