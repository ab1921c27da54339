/**
 * What the stand-in of a test can repeat: it calls what its model asks for, and asks again until it calls nothing. Other
 * runtimes do more: they call tools by themselves, under other names or with other arguments, do not call what ends a run, and ask
 * once more after an answer.
 */
import { canonicalJson } from '../../internal/json.ts'
import { isRecord } from '../../internal/objects.ts'
import type { Message } from '../model/messages.ts'
import type { ReadModelStep, ReadToolCall } from './read-call.ts'

interface Reply {
  input: readonly Message[]
  agents: readonly string[]
}

export interface Repeatable {
  calls: ReadToolCall[]
  /** Of the steps, those that nobody would ask for. */
  unasked: ReadonlySet<number>
  /** What the test leaves out: a part of a sentence each. */
  leftOut: string[]
}

/** Of `steps`, which it brings in line with the calls that were made, `replies` are the spans. */
export function repeatable(
  steps: readonly ReadModelStep[],
  replies: readonly Reply[],
  calls: readonly ReadToolCall[],
): Repeatable {
  const told = new Set<string>()
  const open = new Set(calls)
  const lost = new Set<ReadModelStep>()
  const ids = new Set(steps.flatMap(({ toolCalls }) => toolCalls.map(({ id }) => id)))
  const agents = new Set([...replies, ...calls].flatMap((one) => one.agents))
  for (const [index, step] of steps.entries()) {
    step.toolCalls = step.toolCalls.filter((ask) => {
      const call = callFor(ask, index + 1, [...open], ids)
      if (call === undefined) {
        const isKept = agents.has(ask.name)
        if (!isKept) lost.add(step)
        if (!isKept) told.add(`"${ask.name}", which was asked for and not called`)
        return isKept
      }
      open.delete(call)
      ask.name = call.name
      if (call.human?.action !== 'edit' && isRecord(call.args)) ask.arguments = call.args
      return true
    })
  }
  for (const call of open) {
    const at = call.turn - 1
    const step = steps[at]
    const next = replies[nextOf(replies, at)]
    const goesOn = step !== undefined && (step.toolCalls.length > 0 || (next && !isAsked(next)))
    if (goesOn && !step.error && isSame(call, replies[at]!))
      step.toolCalls.push({ id: `own_${at}_${step.toolCalls.length}`, name: call.name, arguments: call.args })
    else told.add(`"${call.name}", which was called and not asked for`)
  }
  const asked = (call: ReadToolCall) => steps[call.turn - 1]?.toolCalls.some(({ name }) => name === call.name)
  const kept = calls.filter((call) => !open.has(call) || asked(call))
  const unasked = new Set<number>()
  const over = new Set<number>()
  for (const [index, step] of steps.entries()) {
    const next = nextOf(replies, index)
    if (next < 0 || isAsked(replies[next]!)) continue
    const isEmpty = step.toolCalls.length === 0 && !step.error
    // It asked for what was not called, and its model was asked again.
    if (isEmpty && lost.has(step) && !over.has(index)) unasked.add(index)
    else if (isEmpty || over.has(index)) over.add(next)
  }
  for (const index of over) unasked.add(index)
  if (over.size > 0) told.add('what its model was asked after it had answered')
  return { calls: kept, unasked, leftOut: [...told] }
}

function callFor(
  ask: ReadModelStep['toolCalls'][number],
  turn: number,
  open: readonly ReadToolCall[],
  ids: ReadonlySet<string>,
): ReadToolCall | undefined {
  const byId = ask.id === '' ? undefined : open.find((call) => call.callId === ask.id && call.turn >= turn)
  if (byId) return byId
  // One whose id nobody asked for may have been given another.
  const named = open.filter(
    (call) =>
      call.name === ask.name &&
      call.turn === turn &&
      (call.callId === '' || ask.id === '' || !ids.has(call.callId)),
  )
  const wanted = canonicalJson(ask.arguments ?? {})
  return named.find(({ args }) => canonicalJson(args ?? {}) === wanted) ?? named[0]
}

const isSame = (a: Pick<Reply, 'agents'>, b: Pick<Reply, 'agents'>) =>
  a.agents.join('\n') === b.agents.join('\n')

/** The next reply of the same agent. */
function nextOf(replies: readonly Reply[], index: number): number {
  return replies.findIndex((reply, at) => at > index && index >= 0 && isSame(reply, replies[index]!))
}

/** By its user, or by the agent that calls it. */
function isAsked({ input }: Reply): boolean {
  const role = input.at(-1)?.role
  return role === 'user' || role === 'human'
}
