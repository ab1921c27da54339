import type { StandInCall } from '../../dispatcher/index.ts'
import { isThenable } from '../../internal/async.ts'
import { describeValue, HookspanError } from '../../internal/errors.ts'
import { differences } from '../match/difference.ts'
import type { Difference } from '../match/matcher.ts'
import { isMatcher, type Matcher } from '../match/matcher.ts'
import { isForAgent, isForTool } from './address.ts'
import { type Condition, limitOf, type RuleDefinition } from './definition.ts'
import { describeRule } from './describe-rule.ts'
import { MockRule } from './mock-rule.ts'
import type { MockedCall } from './mocked-call.ts'

/** A rule in use, with what was used of it. */
export class ActiveRule {
  readonly definition: RuleDefinition
  readonly limit: number
  /** All uses. */
  used = 0
  readonly #usedPerRun = new Map<string, number>()
  readonly #first: readonly QuickTest[]

  constructor(definition: RuleDefinition) {
    this.definition = definition
    this.limit = limitOf(definition)
    this.#first = definition.conditions.flatMap(quickTests)
  }

  /** Whether one look at the arguments tells that they do not fit: most rules for a tool are left by this. */
  isOutOfQuestion(args: unknown): boolean {
    if (this.#first.length === 0) return false
    if (typeof args !== 'object' || args === null) return true
    for (const test of this.#first) {
      if (!test(args as Record<string, unknown>)) return true
    }
    return false
  }

  usesIn(rootOperationId: string): number {
    return this.definition.perRun ? (this.#usedPerRun.get(rootOperationId) ?? 0) : this.used
  }

  isUsedUp(rootOperationId: string): boolean {
    return this.usesIn(rootOperationId) >= this.limit
  }

  use(rootOperationId: string): void {
    this.used++
    if (this.definition.perRun) {
      this.#usedPerRun.set(rootOperationId, (this.#usedPerRun.get(rootOperationId) ?? 0) + 1)
    }
  }

  /** How many more calls it should have had; with `perRun`, in the run that had the fewest. */
  get missing(): number {
    const { optional, perRun } = this.definition
    if (optional) return 0
    const wanted = Number.isFinite(this.limit) ? this.limit : 1
    const counts = perRun ? [...this.#usedPerRun.values()] : [this.used]
    return Math.max(0, wanted - (counts.length === 0 ? 0 : Math.min(...counts)))
  }

  /** Why a call with these arguments is not for this rule; empty when it is. */
  differences(call: MockedCall): Difference[] {
    return this.definition.conditions.flatMap((condition) => {
      if (condition.kind === 'args') return differences(condition.expected, call.args, condition.mode)
      const fits: unknown = condition.test(call.args, call)
      if (fits === true) return []
      if (isThenable(fits)) throw lateCondition(fits)
      const expected = `${condition.test.name || 'the function of when()'} to be true`
      return [{ kind: 'differs' as const, path: [], expected, actual: call.args }]
    })
  }

  toString(): string {
    return describeRule(this.definition)
  }
}

function lateCondition(fits: PromiseLike<unknown>): HookspanError {
  // Nobody waits for it: its failure is this one's.
  fits.then(undefined, () => {})
  return new HookspanError('INVALID_OPTION', 'it gave a promise, and a rule is chosen at once.')
}

type QuickTest = (args: Record<string, unknown>) => boolean

/** The properties of an expected object whose values are plain, or are tested by a matcher. */
function quickTests(condition: Condition): QuickTest[] {
  if (condition.kind !== 'args') return []
  const { expected } = condition
  if (!isPlainObject(expected)) return []
  return Object.entries(expected).flatMap(([key, want]): QuickTest[] => {
    if (isMatcher(want)) return want.matchesAbsent ? [] : [(args) => key in args && passes(want, args[key])]
    if (want === undefined || typeof want === 'object' || typeof want === 'function') return []
    return [(args) => args[key] === want || Object.is(args[key], want)]
  })
}

function passes(matcher: Matcher, value: unknown): boolean {
  try {
    return matcher.test(value)
  } catch {
    return false
  }
}

function isPlainObject(value: unknown): value is object {
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.getPrototypeOf(value) === Object.prototype &&
    !isMatcher(value)
  )
}

/** Rules in order, found by the tool's name. */
export class RuleSet {
  #rules: ActiveRule[] = []
  #byName = new Map<string, ActiveRule[]>()
  #globs: ActiveRule[] = []
  #order = new Map<ActiveRule, number>()

  /** @throws HookspanError `INVALID_OPTION` for what is no rule, or a rule without an answer. */
  constructor(rules: readonly MockRule[]) {
    this.prepend(rules)
  }

  get all(): readonly ActiveRule[] {
    return this.#rules
  }

  /** Rules that are asked before those that are there. */
  prepend(rules: readonly MockRule[]): void {
    this.#rules = [...rules.map(activate), ...this.#rules]
    this.#byName = new Map()
    this.#globs = []
    this.#order = new Map(this.#rules.map((rule, index) => [rule, index]))
    for (const rule of this.#rules) {
      const { tool, literal } = rule.definition.address
      if (!literal) this.#globs.push(rule)
      else this.#byName.set(tool, [...(this.#byName.get(tool) ?? []), rule])
    }
  }

  /** The rules for this tool, whoever calls it, in order. */
  forTool(call: Pick<StandInCall, 'identifier' | 'apiName'>): readonly ActiveRule[] {
    const named = this.#byName.get(call.apiName) ?? []
    const homed = this.#byName.get(`${call.identifier}/${call.apiName}`) ?? []
    const globs = this.#globs.filter((rule) => isForTool(rule.definition.address, call))
    if (homed.length === 0 && globs.length === 0) return named
    const order = (rule: ActiveRule) => this.#order.get(rule) ?? 0
    return [...named, ...homed, ...globs].sort((a, b) => order(a) - order(b))
  }

  /** The first rule that fits and is not used up; it is used by this. */
  take(call: StandInCall): { rule: ActiveRule; mocked: MockedCall } | undefined {
    const found = this.find(call)
    found?.rule.use(call.operation.rootOperationId)
    return found
  }

  find(call: StandInCall): { rule: ActiveRule; mocked: MockedCall } | undefined {
    const { rootOperationId } = call.operation
    for (const rule of this.forTool(call)) {
      if (
        rule.isUsedUp(rootOperationId) ||
        rule.isOutOfQuestion(call.args) ||
        !isForAgent(rule.definition.address, call.agentPath)
      )
        continue
      const mocked = toMockedCall(call, rule.usesIn(rootOperationId))
      if (rule.differences(mocked).length > 0) continue
      return { rule, mocked }
    }
    return undefined
  }
}

function activate(rule: MockRule): ActiveRule {
  if (!(rule instanceof MockRule)) {
    throw new HookspanError(
      'INVALID_OPTION',
      `Expected a rule made by mock(), of this copy of hookspan, got ${describeValue(rule)}.`,
    )
  }
  const definition = MockRule.definitionOf(rule)
  if (definition.answer === undefined) {
    throw new HookspanError(
      'INVALID_OPTION',
      `${describeRule(definition)} has no answer. Add .returns(), .throws(), .calls() or another one.`,
    )
  }
  return new ActiveRule(definition)
}

export function toMockedCall(call: StandInCall, callNumber: number): MockedCall {
  const { apiName, identifier, args, toolCallId, operation, agentPath, stepIndex, signal } = call
  const { operationId, rootOperationId } = operation
  return {
    apiName,
    identifier,
    args,
    toolCallId,
    operationId,
    rootOperationId,
    agentPath,
    stepIndex,
    callNumber,
    signal,
  }
}
