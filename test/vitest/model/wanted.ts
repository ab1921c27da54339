import fc from 'fast-check'
import { expect, type HookspanMatchers } from 'hookspan/vitest'
import { fits, someWant, type Want, written } from '../../mock/model/expected.ts'
import { globbed } from '../../mock/model/rules.ts'
import { APPROVERS, CODES, type KnownCall, type KnownQuestion, type Played } from './runs.ts'

/** What a test may say of a run, as a tree that judges by itself. */
export type Expectation =
  | {
      is: 'called'
      name: string
      args?: Want | undefined
      mode?: Mode | undefined
      times?: number | undefined
      outcome?: string | undefined
      agent?: string | undefined
      result?: 'real' | 'mocked' | 'none' | undefined
    }
  | {
      is: 'denied'
      name?: string | undefined
      code?: string | undefined
      reason?: { source: string; plain: boolean } | undefined
    }
  | {
      is: 'asked'
      name?: string | undefined
      action?: string | undefined
      approver?: string | undefined
      times?: number | undefined
    }

type Mode = 'exact' | 'partial' | 'ignore'

const name = fc.constantFrom('find', 'find', 'find*', 'book', '*', 'shop/find', 'shop/*', 'b??k', 'nothing')
const maybe = <T>(one: fc.Arbitrary<T>) => fc.option(one, { nil: undefined, freq: 2 })
const times = maybe(fc.nat(3))

export const expectation: fc.Arbitrary<Expectation> = fc.oneof(
  fc.record({
    is: fc.constant('called' as const),
    name,
    args: maybe(someWant),
    mode: maybe(fc.constantFrom<Mode>('exact', 'partial', 'ignore')),
    times,
    outcome: maybe(
      fc.constantFrom('completed', 'mocked', 'errored', 'denied', 'rejected', 'skipped', 'waiting'),
    ),
    agent: maybe(fc.constantFrom('root', 'helper')),
    result: fc.constantFrom(undefined, undefined, undefined, 'real', 'mocked', 'none'),
  }),
  fc.record({
    is: fc.constant('denied' as const),
    name: maybe(name),
    code: maybe(fc.constantFrom(...CODES, 'rejected', 'approval_timeout')),
    reason: maybe(
      fc.record({ source: fc.constantFrom('because of', 'dear', 'anna', 'nobody'), plain: fc.boolean() }),
    ),
  }),
  fc.record({
    is: fc.constant('asked' as const),
    name: maybe(name),
    action: maybe(fc.constantFrom('approve', 'edit', 'rejectAndContinue', 'timeout')),
    approver: maybe(fc.constantFrom(...APPROVERS)),
    times,
  }),
)

const without = <T extends object>(given: T): T =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as T

/** As a test writes it. */
export function say(assertion: HookspanMatchers<void>, wanted: Expectation): void {
  switch (wanted.is) {
    case 'called': {
      const { times, outcome, agent, mode, result } = wanted
      const args = wanted.args === undefined ? undefined : written(wanted.args)
      const given = result === 'none' ? { nothing: true } : result && { [result]: expect.any(Number) }
      const options = without({ times, outcome, agent, args: mode, result: given })
      return assertion.toHaveCalledTool(wanted.name, args, options as never)
    }
    case 'denied': {
      const { reason, code } = wanted
      const text = reason && (reason.plain ? reason.source : new RegExp(reason.source, 'g'))
      return assertion.toHaveBeenDenied(wanted.name, without({ code, reason: text }) as never)
    }
    case 'asked': {
      const { action, approver, times } = wanted
      return assertion.toHaveAskedHuman(wanted.name, without({ action, approver, times }) as never)
    }
  }
}

const isNamed = (glob: string, tool: string, identifier: string) =>
  globbed(glob, tool) || globbed(glob, `${identifier}/${tool}`)

/** How many fit, and whether that is what is expected. */
export function judge(
  wanted: Expectation,
  { calls, questions }: Pick<Played, 'calls' | 'questions'>,
): { found: number; holds: boolean } {
  const { name = '*' } = wanted
  const found =
    wanted.is === 'asked'
      ? questions.filter((one) => isNamed(name, one.tool, one.identifier) && isAsked(wanted, one)).length
      : calls.filter((one) => isNamed(name, one.name, one.identifier) && isMeant(wanted, one)).length
  const times = wanted.is === 'denied' ? undefined : wanted.times
  return { found, holds: times === undefined ? found > 0 : found === times }
}

function isAsked({ action, approver }: Expectation & { is: 'asked' }, one: KnownQuestion): boolean {
  return (action ?? one.action) === one.action && (approver ?? one.approver) === one.approver
}

function isMeant(wanted: Expectation & { is: 'called' | 'denied' }, call: KnownCall): boolean {
  if (wanted.is === 'denied') {
    const { code, reason } = wanted
    if (call.outcome !== 'denied' && call.outcome !== 'rejected') return false
    return (
      (code ?? call.code) === call.code &&
      (reason === undefined || (call.reason ?? '').includes(reason.source))
    )
  }
  const { args, mode = 'partial', outcome, agent, result } = wanted
  return (
    (args === undefined || mode === 'ignore' || fits(args, call.args, mode)) &&
    (outcome === undefined ||
      outcome === call.outcome ||
      (outcome === 'completed' && call.outcome === 'mocked')) &&
    (agent ?? call.agent) === call.agent &&
    (result === undefined ||
      (typeof call.result === 'object' && call.result !== null && result in call.result))
  )
}
