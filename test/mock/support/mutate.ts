import type { Divergence } from 'hookspan/mock'
import type { Plan, PlannedCall } from './recorded-runs.ts'

export const MUTATIONS = ['argument changed', 'calls swapped', 'call dropped', 'call repeated'] as const
export type Mutation = (typeof MUTATIONS)[number]

export interface Mutant {
  readonly mutation: Mutation
  readonly plan: Plan
  /** The call or calls that are not as recorded. */
  readonly touched: readonly PlannedCall[]
  /** How a replay has to name it. */
  readonly expected: Divergence['kind']
}

/** One mutant of each kind at each of these positions; a kind that would change nothing there is left out. */
export function mutantsOf(plan: Plan, positions: readonly number[]): Mutant[] {
  return positions.flatMap((at) =>
    [change(plan, at), swap(plan, at), drop(plan, at), repeat(plan, at)].flatMap((mutant) => mutant ?? []),
  )
}

function change(plan: Plan, at: number): Mutant | undefined {
  const call = plan.calls[at]
  if (call === undefined) return undefined
  const changed = { ...call, args: changeLeaf(call.args) }
  return {
    mutation: 'argument changed',
    plan: { ...plan, calls: plan.calls.with(at, changed) },
    touched: [changed],
    expected: 'changed',
  }
}

/** The first leaf gets another value of its type; no arguments get one. */
function changeLeaf(value: unknown): unknown {
  if (typeof value === 'string') return `${value} (mutated)`
  if (typeof value === 'number') return value + 1_000_003
  if (typeof value === 'boolean') return !value
  if (Array.isArray(value))
    return value.length === 0 ? ['mutated'] : [changeLeaf(value[0]), ...value.slice(1)]
  if (typeof value !== 'object' || value === null) return 'mutated'
  const [key] = Object.keys(value)
  if (key === undefined) return { mutated: true }
  return { ...value, [key]: changeLeaf((value as Record<string, unknown>)[key]) }
}

/** Two neighbours of one agent change places, and steps with them. Equal calls would change nothing. */
function swap(plan: Plan, at: number): Mutant | undefined {
  const [a, b] = [plan.calls[at], plan.calls[at + 1]]
  if (a === undefined || b === undefined || a.agent !== b.agent || key(a) === key(b)) return undefined
  const calls = plan.calls.with(at, { ...b, step: a.step }).with(at + 1, { ...a, step: b.step })
  return { mutation: 'calls swapped', plan: { ...plan, calls }, touched: [a, b], expected: 'moved' }
}

function drop(plan: Plan, at: number): Mutant | undefined {
  const call = plan.calls[at]
  if (call === undefined) return undefined
  return {
    mutation: 'call dropped',
    plan: { ...plan, calls: plan.calls.toSpliced(at, 1) },
    touched: [call],
    expected: 'missing',
  }
}

function repeat(plan: Plan, at: number): Mutant | undefined {
  const call = plan.calls[at]
  if (call === undefined) return undefined
  return {
    mutation: 'call repeated',
    plan: { ...plan, calls: plan.calls.toSpliced(at, 0, call) },
    touched: [call],
    expected: 'repeated',
  }
}

const key = ({ agent, tool, args }: PlannedCall) => JSON.stringify([agent, tool, args])

/** Whether a divergence of the right kind names a call that was touched. */
export function isNamed({ expected, touched }: Mutant, divergences: readonly Divergence[]): boolean {
  return divergences.some(({ kind, made, recorded, message }) => {
    const call = kind === 'missing' ? recorded : made
    return (
      kind === expected &&
      touched.some(
        (one) =>
          one.tool === call?.tool &&
          message.includes(one.tool) &&
          JSON.stringify(one.args) === JSON.stringify(call.args),
      )
    )
  })
}
