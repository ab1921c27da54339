import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import { type Approver, type Decision, deny, type Gate, mutate, requireApproval, skip } from 'hookspan/gates'
import { expect } from 'vitest'
import type { Plan } from './plan.ts'
import type { Watched } from './watch.ts'

/** What becomes of a model call, before it and after it. */
const BEFORE = [
  'proceeds',
  'denies',
  'skips',
  'changes',
  'asks',
  'is refused',
  'throws',
  'answers nonsense',
] as const
const AFTER = [
  'proceeds',
  'denies',
  'skips',
  'rewords',
  'asks',
  'is refused',
  'throws',
  'answers nonsense',
] as const

export interface Verdicts {
  readonly before: (typeof BEFORE)[number]
  readonly after: (typeof AFTER)[number]
  readonly slow: boolean
  readonly shadowed: boolean
}

export const verdicts: fc.Arbitrary<Verdicts> = fc.record({
  before: fc.oneof(
    { weight: 2, arbitrary: fc.constant('proceeds' as const) },
    { weight: 1, arbitrary: fc.constantFrom(...BEFORE) },
  ),
  after: fc.constantFrom(...AFTER),
  slow: fc.boolean(),
  shadowed: fc.boolean(),
})

function decision(what: Verdicts['before'] | Verdicts['after']): Decision | undefined {
  switch (what) {
    case 'denies':
      return deny('withheld')
    case 'skips':
      return skip({ content: 'replaced' })
    case 'changes':
      return mutate({ temperature: 0.125 })
    case 'rewords':
      return mutate({ content: 'replaced' })
    case 'asks':
    case 'is refused':
      return requireApproval({ instructions: what })
    case 'throws':
      throw new Error('gate is broken')
    case 'answers nonsense':
      return { decision: 'perhaps' } as never
    default:
      return undefined
  }
}

export function gatesOf({ before, after, slow, shadowed }: Verdicts): Gate[] {
  const gate = (
    id: string,
    point: 'beforeLlmCall' | 'afterLlmCall',
    what: Verdicts['before'] | Verdicts['after'],
  ) => ({
    id,
    point,
    decide: async () => {
      if (slow) await turn()
      return decision(what)
    },
  })
  const shadow: Gate = {
    id: 'shadow',
    point: ['beforeLlmCall', 'afterLlmCall'],
    shadow: true,
    decide: () => deny('never'),
  }
  return [...(shadowed ? [shadow] : []), gate('b', 'beforeLlmCall', before), gate('a', 'afterLlmCall', after)]
}

export const approver = (verdict: Verdicts): Approver => ({
  requestApproval: async ({ argsDigest, point }) => {
    const what = point === 'beforeLlmCall' ? verdict.before : verdict.after
    if (what === 'is refused') return { decision: 'reject', reason: 'declined' }
    return { decision: 'approve', argsDigest }
  },
})

/** What the caller is told in the model's place. */
const WORDS: { readonly [what: string]: string } = {
  denies: 'withheld',
  skips: 'replaced',
  rewords: 'replaced',
  'is refused': 'declined',
}

const opens = ['proceeds', 'changes', 'asks']

/** Nothing that was refused is sent, or seen by the caller, however he reads. */
export function expectHeld(plan: Plan, { before, after }: Verdicts, { seen }: Watched): void {
  const isSent = opens.includes(before)
  const isShown = isSent && opens.includes(after)
  seen.calls.forEach(({ lines, wire }, index) => {
    if (!isSent) expect(wire).toEqual([])
    const said = JSON.stringify(lines)
    expect(said).not.toContain('never')
    if (!isShown) expect(said).not.toContain('sek')
    const { api, way, reader, abort, fault, before: failures } = plan.calls[index] as Plan['calls'][number]
    if (before === 'changes' && api !== 'google')
      for (const { body } of wire) expect(body).toMatchObject({ temperature: 0.125 })
    const isPlain = abort === 'never' && ['create', 'withResponse'].includes(way) && reader === 'all'
    const words = WORDS[isSent ? after : before]
    if (isPlain && words !== undefined && (!isSent || (fault === 'none' && failures.length === 0)))
      expect(said).toContain(words)
  })
}
