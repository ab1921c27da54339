import fc from 'fast-check'
import type { ContractSubject } from 'hookspan/adapter/contract'
import { type MockRule, match, mock } from 'hookspan/mock'
import { z } from 'zod'
import { globbed } from '../../mock/model/rules.ts'

export const EXPERT = 'expert'
export const TOOLS = ['find', 'find_all', 'book'] as const
/** `no` is refused by a gate, `swap` is changed to `a`. */
const WORDS = ['a', 'b', 'ab', 'no', 'swap'] as const

const ADDRESSES = [
  'find',
  'find',
  'book',
  'find_all',
  'find*',
  '*',
  'b??k',
  'contract > find',
  'c* > *',
  'other > find',
  'fnid',
] as const

const CONDITIONS = {
  none: [(rule: MockRule) => rule, () => true],
  object: [(rule) => rule.when({ q: 'a' }), (q) => q === 'a'],
  expression: [(rule) => rule.when({ q: /^a/g }), (q) => q.startsWith('a')],
  matcher: [(rule) => rule.when({ q: match.oneOf('b', match.contains('ab')) }), (q) => q.includes('b')],
  function: [(rule) => rule.when(({ q = '' }: { q?: string }) => q.length > 1), (q) => q.length > 1],
  schema: [(rule) => rule.when(z.object({ q: z.enum(['a', 'b']) })), (q) => q.length === 1],
  exactly: [(rule) => rule.whenExactly({ q: 'b' }), (q) => q === 'b'],
} satisfies Record<string, [(rule: MockRule) => MockRule, (q: string) => boolean]>

const ANSWERS = [
  'returns',
  'object',
  'fails',
  'throws',
  'calls',
  'breaks',
  'sequence',
  'streams',
  'simulated',
  'timesOut',
  'live',
] as const

interface RulePlan {
  readonly address: (typeof ADDRESSES)[number]
  readonly when: keyof typeof CONDITIONS
  readonly answer: (typeof ANSWERS)[number]
  readonly times: number | undefined
  readonly optional: boolean
  readonly delayed: boolean
}
interface CallPlan {
  readonly tool: (typeof TOOLS)[number] | typeof EXPERT
  readonly q: (typeof WORDS)[number] | ''
}
export interface Plan {
  readonly rules: readonly RulePlan[]
  readonly steps: readonly (readonly CallPlan[])[]
  readonly stream: boolean
  /** The step in which the agent asks another one, too. */
  readonly asks: number
}

export const plan: fc.Arbitrary<Plan> = fc.record({
  rules: fc.array(
    fc.record({
      address: fc.constantFrom(...ADDRESSES),
      when: fc.constantFrom(...(Object.keys(CONDITIONS) as (keyof typeof CONDITIONS)[]), 'none'),
      answer: fc.constantFrom(...ANSWERS),
      times: fc.constantFrom(undefined, undefined, 1, 2, 4),
      optional: fc.boolean(),
      delayed: fc.constantFrom(false, false, false, true),
    }),
    { maxLength: 5 },
  ),
  steps: fc.array(
    fc.array(fc.record({ tool: fc.constantFrom(...TOOLS), q: fc.constantFrom(...WORDS) }), {
      minLength: 1,
      maxLength: 3,
    }),
    { maxLength: 4 },
  ),
  stream: fc.boolean(),
  asks: fc.nat({ max: 6 }),
})

/** They know which of their tools are agents. Elsewhere such a tool is one like any other. */
const KNOW_AGENTS = ['execAgent', 'openai-agents', 'strands', 'strands 1.16', 'google-adk']

/** Each asks its own process, which begins the calls of a reply as it likes: which of them a rule answers is not known. */
const ELSEWHERE = ['claude-agent', 'copilot']

/** What the subject can be asked for, in the order in which its SDK begins the calls of a reply. */
export function within(subject: ContractSubject, asked: Plan): Plan {
  const { name, capabilities, readsItself, endsOnFailure } = subject
  const steps = asked.steps.map((calls, index): readonly CallPlan[] => {
    const asks = index === asked.asks && capabilities.subAgents
    const all = asks ? [...calls, { tool: EXPERT, q: '' } as const] : calls
    if (ELSEWHERE.includes(name)) return all.slice(-1)
    // It goes through its tools, and not through the calls.
    return name === 'observeGoogleGenAI'
      ? [...TOOLS, EXPERT].flatMap((tool) => all.filter((call) => call.tool === tool))
      : all
  })
  const stream = asked.stream && capabilities.streams && (readsItself === true || steps.length === 0)
  return { ...asked, steps, stream, ...(endsOnFailure && { rules: withoutFailures(asked.rules) }) }
}

/** For a run that ends with the first thing a tool throws. */
function withoutFailures(rules: Plan['rules']): Plan['rules'] {
  const spared = rules.map(
    (rule): RulePlan =>
      ['throws', 'breaks', 'timesOut', 'sequence'].includes(rule.answer)
        ? { ...rule, answer: 'fails' }
        : rule,
  )
  const last = { address: '*', when: 'none', answer: 'returns', times: undefined } as const
  return [...spared, { ...last, optional: true, delayed: false }]
}

export function written({ address, when, answer, times, optional, delayed }: RulePlan, id: string): MockRule {
  const rule = CONDITIONS[when][0](mock(address).named(id))
  if (times !== undefined) rule.times(times)
  if (optional) rule.optional()
  if (delayed) rule.delays(2)
  switch (answer) {
    case 'returns':
      return rule.returns(`by ${id}`)
    case 'object':
      return rule.returns({ said: `by ${id}` })
    case 'fails':
      return rule.fails(`by ${id}`)
    case 'throws':
      return rule.throws(new Error(`by ${id}`))
    case 'calls':
      return rule.calls(async ({ q }: { q: string }) => `by ${id} for ${q}`)
    case 'breaks':
      return rule.calls(() => {
        throw new Error(`by ${id}`)
      })
    case 'simulated':
      return rule.simulatedBy(async () => `by ${id}`)
    case 'sequence':
      return rule.sequence([`by ${id}`, new Error(`by ${id}`)])
    case 'streams':
      return rule.streams(['some', 'more'], { returns: `by ${id}` })
    case 'timesOut':
      return rule.timesOut()
    case 'live':
      return rule.passesThrough()
  }
}

interface Expected {
  readonly tool: string
  readonly q: string
  readonly outcome: 'mocked' | 'errored' | 'completed' | 'denied'
  /** Undefined where the call did not come to the mocks. */
  readonly answeredBy?: 'mock' | 'simulated' | 'live' | 'refused' | 'agent'
  readonly rule?: string
  readonly says: string
}

/** What must come of the plan, by the words of the guide. */
export function expectedOf({ name, hidesFailures }: ContractSubject, { rules, steps }: Plan) {
  const failed = (says: string) => (hidesFailures ? '' : says)
  // Nobody tells which tools Claude Code has.
  const isUnknown = ({ address }: RulePlan) => address === 'fnid' && name !== 'claude-agent'
  const used = rules.map(() => 0)
  const limit = ({ times, answer }: RulePlan) =>
    times ?? (answer === 'sequence' ? 2 : Number.POSITIVE_INFINITY)
  const calls = steps.flat().map(({ tool, q: asked }): Expected => {
    if (asked === 'no') return { tool, q: asked, outcome: 'denied', says: 'not this one' }
    const q = asked === 'swap' ? 'a' : asked
    const at = rules.findIndex((rule, index) => {
      const parts = rule.address.split(' > ')
      const isCaller = parts.length === 1 || globbed(parts[0] as string, 'contract')
      return (
        (tool !== EXPERT || rule.when === 'none') &&
        isCaller &&
        globbed(parts.at(-1) as string, tool) &&
        (used[index] as number) < limit(rule) &&
        CONDITIONS[rule.when][1](q)
      )
    })
    const rule = rules[at]
    if (rule === undefined && tool === EXPERT && KNOW_AGENTS.includes(name)) {
      return { tool, q, outcome: 'completed', answeredBy: 'agent', says: 'it is 42' }
    }
    if (rule === undefined)
      return { tool, q, outcome: 'errored', answeredBy: 'refused', says: failed('no mock fits') }
    const nth = used[at] as number
    used[at] = nth + 1
    const id = `r${at}`
    const { answer } = rule
    if (answer === 'live')
      return {
        tool,
        q,
        outcome: 'completed',
        answeredBy: 'live',
        rule: id,
        says: tool === EXPERT ? 'it is 42' : `real ${q}`,
      }
    const breaks =
      ['throws', 'breaks', 'timesOut'].includes(answer) || (answer === 'sequence' && nth % 2 === 1)
    const answeredBy = answer === 'simulated' ? 'simulated' : 'mock'
    const says = answer === 'timesOut' ? 'timed out' : answer === 'calls' ? `by ${id} for ${q}` : `by ${id}`
    return {
      tool,
      q,
      outcome: breaks ? 'errored' : 'mocked',
      answeredBy,
      rule: id,
      says: breaks ? failed(says) : says,
    }
  })
  const unknown = rules.filter((rule, index) => used[index] === 0 && isUnknown(rule)).length
  const unused = rules.filter((rule, index) => {
    if (isUnknown(rule) || rule.optional) return false
    const wanted = Number.isFinite(limit(rule)) ? limit(rule) : 1
    return (used[index] as number) < wanted
  }).length
  return {
    calls,
    unknown,
    unused,
    refused: calls.filter(({ answeredBy }) => answeredBy === 'refused').length,
  }
}
