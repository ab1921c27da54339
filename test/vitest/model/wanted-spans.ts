import fc from 'fast-check'
import type { ExpectedSpan } from 'hookspan/mock'
import { globbed } from '../../mock/model/rules.ts'
import type { CallPlan, RunPlan } from './runs.ts'

/** A span as whoever made the runs knows it. */
interface KnownSpan {
  readonly name: string
  readonly title: string
  readonly attributes: Readonly<Record<string, unknown>>
  readonly failed: boolean
  /** The nearest first. */
  readonly above: readonly KnownSpan[]
}

const OUTCOMES: Partial<Record<CallPlan['fate'], string>> = {
  throws: 'errored',
  'is mocked': 'mocked',
  'is mocked to throw': 'errored',
  'is denied': 'denied',
  'is skipped': 'skipped',
  'is rejected': 'rejected',
  'is not answered': 'denied',
  waits: 'waiting',
}

export function spansOf(plans: readonly RunPlan[]): KnownSpan[] {
  return plans.flatMap(({ batches, end }) => {
    const agent = (name: string, failed: boolean, above: KnownSpan[]): KnownSpan => ({
      ...{ name: `invoke_agent ${name}`, title: `invoke_agent ${name}`, failed, above },
      attributes: { 'gen_ai.agent.name': name },
    })
    const root = agent('root', end === 'fail', [])
    const helper = agent('helper', false, [root])
    const spans = [root, helper]
    const steps = new Map([root, helper].map((one) => [one, 0]))
    for (const plan of batches.flat()) {
      const by = plan.bySubAgent ? helper : root
      let above = [by, ...by.above]
      if (plan.inStep) {
        const index = steps.get(by) as number
        steps.set(by, index + 1)
        const step = {
          name: 'step',
          title: `step ${index}`,
          attributes: { 'hookspan.step.index': index },
          failed: false,
          above,
        }
        spans.push(step)
        above = [step, ...above]
      }
      const name = `execute_tool ${plan.tool}`
      const outcome = OUTCOMES[plan.fate] ?? 'completed'
      spans.push({
        ...{ name, title: name, above },
        attributes: { 'gen_ai.tool.name': plan.tool, 'hookspan.tool.outcome': outcome },
        failed:
          plan.fate === 'reports a failure' ||
          outcome === 'errored' ||
          outcome === 'denied' ||
          outcome === 'rejected',
      })
    }
    return spans
  })
}

const names = [
  'execute_tool find',
  'execute_tool *',
  'execute_tool b??k',
  'invoke_agent *',
  'invoke_agent root',
  'step',
  'step 0',
  'step ?',
] as const
const maybe = <T>(one: fc.Arbitrary<T>) => fc.option(one, { nil: undefined, freq: 2 })

interface WantedSpan {
  readonly name: string
  readonly written: 'text' | 'object' | 'expression'
  readonly attributes?: Readonly<Record<string, unknown>> | undefined
  readonly failed?: boolean | undefined
  readonly kind?: 'internal' | 'client' | undefined
  readonly parent?: string | undefined
  readonly under?: string | undefined
}

export const wantedSpans: fc.Arbitrary<WantedSpan[]> = fc.array(
  fc.record({
    name: fc.constantFrom(...names),
    written: fc.constantFrom('text', 'object', 'expression'),
    attributes: maybe(
      fc.constantFrom<object>(
        ...[
          {},
          { 'hookspan.tool.outcome': 'completed' },
          { 'hookspan.tool.outcome': 'denied' },
          { 'gen_ai.tool.name': 'book' },
        ],
        ...[{ 'hookspan.step.index': 1 }, { 'gen_ai.tool.name': 'find' }, { none: undefined }],
      ) as fc.Arbitrary<Record<string, unknown>>,
    ),
    failed: maybe(fc.boolean()),
    kind: fc.constantFrom(undefined, undefined, undefined, 'internal', 'client'),
    parent: maybe(fc.constantFrom('step', 'step 0', 'invoke_agent *', 'invoke_agent helper')),
    under: maybe(fc.constantFrom('invoke_agent root', 'invoke_agent helper', 'step*')),
  }),
  { maxLength: 3 },
)

export function sayAll(wanted: readonly WantedSpan[]): ExpectedSpan[] {
  return wanted.map(({ name, written, ...more }) => {
    if (written === 'text') return name
    const as =
      written === 'expression' ? new RegExp(`^${name.replaceAll('*', '.*').replaceAll('?', '.')}`, 'g') : name
    return {
      name: as,
      ...(Object.fromEntries(Object.entries(more).filter(([, value]) => value !== undefined)) as object),
    }
  })
}

/** Whether there is a span of its own for each: tries every one. */
export function hasAll(wanted: readonly WantedSpan[], spans: readonly KnownSpan[]): boolean {
  const [first, ...rest] = wanted
  if (first === undefined) return true
  return spans.some((span, at) => isMeant(first, span) && hasAll(rest, spans.toSpliced(at, 1)))
}

const isNamed = (glob: string, { name, title }: KnownSpan) => globbed(glob, name) || globbed(glob, title)

function isMeant(
  { name, written, attributes = {}, failed, kind, parent, under }: WantedSpan,
  span: KnownSpan,
): boolean {
  if (written === 'text') return isNamed(name, span)
  // An expression is looked for in the title, from its beginning on.
  if (written === 'expression' ? !globbed(`${name}*`, span.title) : !isNamed(name, span)) return false
  const [above] = span.above
  return (
    Object.entries(attributes).every(([key, value]) => span.attributes[key] === value) &&
    (failed ?? span.failed) === span.failed &&
    (kind ?? 'internal') === 'internal' &&
    (parent === undefined || (above !== undefined && isNamed(parent, above))) &&
    (under === undefined || span.above.some((one) => isNamed(under, one)))
  )
}
