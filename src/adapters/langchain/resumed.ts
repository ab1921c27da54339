import type { ParkedOperation } from '../../dispatcher/index.ts'
import { sameJson } from '../../wire/rewrite.ts'
import type { LcRuntime, LcState, LcToolCall } from './lang-chain.ts'

/** What an interrupt of ours says, and what the graph may be resumed with as it is. */
export interface AskedHuman {
  readonly hookspan: 'approval'
  readonly requestId?: string
  readonly apiName: string
  readonly args: unknown
  /** What continues the run. */
  readonly parked: ParkedOperation
}

interface Scratchpad {
  readonly resume?: readonly unknown[]
  readonly nullResume?: unknown
}

function answers({ configurable }: LcRuntime): readonly unknown[] {
  const { resume = [], nullResume } = (configurable?.__pregel_scratchpad ?? {}) as Scratchpad
  return nullResume === undefined ? resume : [...resume, nullResume]
}

/** How many questions of this node have been answered. */
export function answersIn(runtime: LcRuntime): number {
  return answers(runtime).length
}

/**
 * The run that the graph was resumed with: of the question of ours that was answered as it is, and the last one where it was
 * asked again. The node of a call beside it may begin first: its question has been answered with something else.
 */
export function resumedWith(runtime: LcRuntime, state: LcState): ParkedOperation | undefined {
  const { __pregel_resume_map: beside = {} } = runtime.configurable ?? {}
  const all = Object.values(beside as object).filter((answer) => isOurs(answer) && isOf(state, answer.parked))
  // An answer without an id stays with the graph around until its node is over: what is answered by ids now is newer.
  return [...answers(runtime), ...all].findLast(isOurs)?.parked
}

function isOurs(answer: unknown): answer is AskedHuman {
  return (answer as Partial<AskedHuman> | null | undefined)?.hookspan === 'approval'
}

/** Whether it waits in the step that the agent is in. */
function isOf(state: LcState, { waiting = [] }: ParkedOperation): boolean {
  const calls = callsIn(state)
  return waiting.some(({ toolCallId }) => calls.some(({ id }) => id === toolCallId))
}

/** The same, and nobody has edited a call that has begun: it goes on with the arguments that were decided on. */
export function goesOnWith(state: LcState, parked: ParkedOperation): boolean {
  const { waiting = [], openStep } = parked
  const asked = (openStep?.last?.toolCalls ?? []).map(({ toolCallId, args }) => ({ id: toolCallId, args }))
  const calls = callsIn(state)
  // Before any has begun, whoever was asked may edit them and take some away.
  if (waiting.length === 0) {
    return asked.length === 0 || asked.some(({ id }) => calls.some((call) => call.id === id))
  }
  const begun = asked.filter(({ id }) => waiting.some(({ toolCallId }) => toolCallId === id))
  // LangChain puts those that a human has answered behind the others.
  const isSame = (one: (typeof begun)[number]) =>
    calls.some(({ id, args }) => id === one.id && sameJson(args, one.args))
  return begun.length > 0 && begun.every(isSame)
}

/** Nobody has gone on with it elsewhere, where it may have ended long since: its calls have no results. */
export function stillWaits(state: LcState, parked: ParkedOperation): boolean {
  // What goes on with it is in no value of theirs: it is here alone.
  if ((parked.waiting ?? []).length === 0) return true
  const { messages = [] } = state
  const calls = callsIn(state).map(({ id }) => id)
  const asked = parked.openStep?.last?.toolCalls?.map(({ toolCallId }) => toolCallId) ?? []
  const last = messages.findLastIndex(({ tool_calls = [] }) => tool_calls.length > 0)
  const answered = messages.slice(last + 1).map(({ tool_call_id }) => tool_call_id)
  return asked.some((id) => calls.includes(id) && !answered.includes(id))
}

function callsIn({ messages = [] }: LcState): readonly LcToolCall[] {
  return messages.findLast(({ tool_calls = [] }) => tool_calls.length > 0)?.tool_calls ?? []
}
