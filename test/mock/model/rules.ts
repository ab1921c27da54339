import fc from 'fast-check'
import { ToolResult } from 'hookspan'
import { type MockRule, mock } from 'hookspan/mock'
import { fits, someWant, type Want, written } from './expected.ts'

export type AnswerPlan =
  | { kind: 'returns' | 'tells' | 'fails' | 'throws' | 'calls' | 'breaks' | 'simulates' | 'streams' | 'live' }
  | { kind: 'sequence'; items: ('value' | 'error' | 'function')[] }

export interface RulePlan {
  /** The innermost callers, and the tool. */
  readonly agents: string[]
  readonly tool: string
  readonly when: { want: Want; exactly: boolean }[]
  /** Asked as a function: what the text of the arguments is to be no longer than. */
  readonly shorterThan?: number | undefined
  readonly answer: AnswerPlan
  readonly times?: number | undefined
  readonly optional: boolean
  readonly perRun: boolean
  readonly delayed: boolean
}

export const TOOLS = ['find', 'find_all', 'book'] as const
export const HOMES = ['local', 'shop'] as const

export const rulePlan: fc.Arbitrary<RulePlan> = fc.record({
  agents: fc.constantFrom<string[]>(
    [],
    [],
    [],
    ['helper'],
    ['root'],
    ['root', 'helper'],
    ['h*'],
    ['*', 'helper'],
  ),
  tool: fc.constantFrom('find', 'find', 'book', 'find_all', 'find*', '*', 'shop/find', 'shop/*', 'b??k'),
  when: fc.array(fc.record({ want: someWant, exactly: fc.constantFrom(false, false, true) }), {
    maxLength: 2,
  }),
  shorterThan: fc.constantFrom(undefined, undefined, undefined, 20),
  answer: fc.oneof(
    fc.constantFrom<AnswerPlan>(
      ...(
        ['returns', 'tells', 'fails', 'throws', 'calls', 'breaks', 'simulates', 'streams', 'live'] as const
      ).map((kind) => ({ kind })),
    ),
    fc.record({
      kind: fc.constant('sequence' as const),
      items: fc.array(fc.constantFrom('value', 'error', 'function'), { minLength: 1, maxLength: 3 }),
    }),
  ),
  times: fc.constantFrom(undefined, undefined, 1, 2, 4),
  optional: fc.constantFrom(true, false),
  perRun: fc.constantFrom(false, false, true),
  delayed: fc.constantFrom(false, false, false, true),
})

/** The rule as a test writes it; its answers say which rule it is and how often it had answered. */
export function writtenRule(plan: RulePlan, id: string): MockRule {
  const rule = mock([...plan.agents, plan.tool].join(' > ')).named(id)
  for (const { want, exactly } of plan.when) {
    if (exactly) rule.whenExactly(written(want))
    else rule.when(written(want) as object)
  }
  const { shorterThan } = plan
  if (shorterThan !== undefined) rule.when((args: object) => JSON.stringify(args).length < shorterThan)
  if (plan.times !== undefined) rule.times(plan.times)
  if (plan.optional) rule.optional()
  if (plan.perRun) rule.perRun()
  if (plan.delayed) rule.delays(1)
  const { answer } = plan
  switch (answer.kind) {
    case 'returns':
      return rule.returns({ by: id })
    case 'tells':
      return rule.returns(new ToolResult({ content: `in words by ${id}`, success: false, data: { by: id } }))
    case 'fails':
      return rule.fails(`failed by ${id}`)
    case 'throws':
      return rule.throws(new Error(`thrown by ${id}`))
    case 'calls':
      return rule.calls((args, { callNumber }) => ({ by: id, args, callNumber }))
    case 'simulates':
      return rule.simulatedBy(async (args, { callNumber }) => ({ by: id, args, callNumber }))
    case 'breaks':
      return rule.calls(async (_args, { callNumber }) => {
        throw new Error(`thrown by ${id} ${callNumber}`)
      })
    case 'streams':
      return rule.streams([1, { by: id }])
    case 'live':
      return rule.passesThrough()
    case 'sequence':
      return rule.sequence(
        answer.items.map((item, index) => {
          if (item === 'value') return { by: id, index }
          if (item === 'error') return new Error(`thrown by ${id} item ${index}`)
          return (_args: unknown, call: { callNumber: number }) => ({
            by: id,
            index,
            callNumber: call.callNumber,
          })
        }),
      )
  }
}

export interface CallPlan {
  readonly apiName: string
  readonly identifier: string
  readonly args: unknown
}

/** Of a call: how it ends, and what the model is told of it where that is not the result. */
export interface Ending {
  readonly state: 'mocked' | 'errored' | 'completed'
  readonly result?: unknown
  readonly content?: string
  readonly message?: string
  readonly answeredBy: 'mock' | 'simulated' | 'live' | 'refused'
  readonly rule?: string
}

/** A rule in use, counted by hand. */
export class NaiveRule {
  readonly plan: RulePlan
  readonly id: string
  readonly uses = new Map<string, number>()
  total = 0

  constructor(plan: RulePlan, id: string) {
    this.plan = plan
    this.id = id
  }

  get limit(): number {
    const { times, answer } = this.plan
    return times ?? (answer.kind === 'sequence' ? answer.items.length : Number.POSITIVE_INFINITY)
  }

  usedIn(root: string): number {
    return this.plan.perRun ? (this.uses.get(root) ?? 0) : this.total
  }

  isFor({ apiName, identifier, args }: CallPlan, path: readonly string[], root: string): boolean {
    const { agents, tool, when, shorterThan } = this.plan
    const names = tool.includes('/') ? `${identifier}/${apiName}` : apiName
    const innermost = agents.length === 0 ? [] : path.slice(-agents.length)
    return (
      (globbed(tool, names) || globbed(tool, `${identifier}/${apiName}`)) &&
      innermost.length === agents.length &&
      agents.every((agent, index) => globbed(agent, innermost[index] as string)) &&
      this.usedIn(root) < this.limit &&
      when.every(({ want, exactly }) => fits(want, args, exactly ? 'exact' : 'partial')) &&
      (shorterThan === undefined || JSON.stringify(args).length < shorterThan)
    )
  }

  /** Uses it, and says what comes of it. */
  answer(call: CallPlan, root: string): Ending {
    const callNumber = this.usedIn(root)
    this.total++
    this.uses.set(root, (this.uses.get(root) ?? 0) + 1)
    const { answer } = this.plan
    const { id } = this
    const rule = id
    const gives = (result: unknown, content?: string): Ending => ({
      ...{ state: 'mocked', result, answeredBy: 'mock', rule },
      ...(content !== undefined && { content }),
    })
    const throws = (message: string): Ending => ({ state: 'errored', message, answeredBy: 'mock', rule })
    switch (answer.kind) {
      case 'returns':
      case 'streams':
        return gives({ by: id })
      case 'tells':
        return gives({ by: id }, `in words by ${id}`)
      case 'fails':
        return gives(`failed by ${id}`, `failed by ${id}`)
      case 'throws':
        return throws(`thrown by ${id}`)
      case 'breaks':
        return throws(`thrown by ${id} ${callNumber}`)
      case 'calls':
        return gives({ by: id, args: call.args, callNumber })
      case 'simulates':
        return { ...gives({ by: id, args: call.args, callNumber }), answeredBy: 'simulated' }
      case 'live':
        return { state: 'completed', result: { real: call.apiName }, answeredBy: 'live', rule }
      case 'sequence': {
        const index = callNumber % answer.items.length
        const item = answer.items[index]
        if (item === 'error') return throws(`thrown by ${id} item ${index}`)
        return gives(item === 'value' ? { by: id, index } : { by: id, index, callNumber })
      }
    }
  }

  /** Whether a test is told that it was not used as often as it should. */
  get isUnused(): boolean {
    if (this.plan.optional) return false
    const wanted = Number.isFinite(this.limit) ? this.limit : 1
    const least = this.plan.perRun ? Math.min(...(this.uses.size > 0 ? this.uses.values() : [0])) : this.total
    return least < wanted
  }
}

/** `*` is any text, `?` any sign. */
export function globbed(glob: string, name: string): boolean {
  if (glob === '') return name === ''
  const [first, rest] = [glob[0], glob.slice(1)]
  if (first === '*') return globbed(rest, name) || (name !== '' && globbed(glob, name.slice(1)))
  return name !== '' && (first === '?' || first === name[0]) && globbed(rest, name.slice(1))
}
