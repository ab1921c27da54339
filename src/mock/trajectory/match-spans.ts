import { a, assertFields, type Fields, shape, expected as wrong } from '../../internal/expect.ts'
import { matchesGlob } from '../../internal/glob.ts'
import { nearestName } from '../../internal/nearest-name.ts'
import { fewLines, oneLine } from '../../internal/short-text.ts'
import { spanTitle } from '../../spans/names.ts'
import { differences, formatDifference } from '../match/difference.ts'
import { bestAssignment } from './assignment.ts'
import { spansOfEvents } from './event-spans.ts'
import { eventsOfTree } from './humans.ts'
import { assertNoSlipOf, assertNotMisspelt } from './misspelt.ts'
import { unreadable } from './read-trajectory.ts'
import { type PlainSpan, readSpans } from './spans.ts'

/** A span as a test expects it. A text is a glob over its name; a step is named `step`, and `step 0` by its position, too. */
export type ExpectedSpan =
  | string
  | {
      /** A glob, or an expression. */
      readonly name?: string | RegExp
      /** At least these; values may be matchers. */
      readonly attributes?: Readonly<Record<string, unknown>>
      readonly kind?: 'internal' | 'client' | 'server' | 'producer' | 'consumer'
      /** Whether its status is ERROR. */
      readonly failed?: boolean
      /** Name of the span right above it: a glob. */
      readonly parent?: string
      /** Name of any span above it: a glob. */
      readonly under?: string
    }

export interface SpansResult {
  readonly pass: boolean
  readonly report: string
}

/**
 * Whether a trace has these spans, each expectation by a span of its own; further spans are allowed. Events, and a run
 * whose events are recorded, have the spans that would have been made of them.
 *
 * @throws HookspanError `TRAJECTORY_UNREADABLE` for what is no spans.
 */
export function matchSpans(source: object, expected: readonly ExpectedSpan[]): SpansResult {
  const spans = typeof source === 'object' && source !== null ? spansOf(source) : undefined
  if (spans === undefined) {
    const events = 'an AgentRun whose events are recorded (recordEvents(dispatcher), or the `trace` fixture)'
    throw unreadable(`spans, OTLP or Jaeger JSON, events, or ${events}`, source)
  }
  assertExpectedSpans(expected)
  const byId = new Map(spans.map((span) => [span.spanId, span]))
  const wanted = expected.map((one) => (typeof one === 'string' ? { name: one } : one))
  const problems = wanted.map((one) => spans.map((span) => compare(one, span, byId)))
  const assigned = bestAssignment(problems.map((row) => row.map(({ length }) => (length === 0 ? 1 : 0))))
  const lines = wanted.map((one, row) => {
    const at = assigned[row] ?? -1
    if (at >= 0) return [`= ${shownTitle(spans[at])}`]
    const rows = problems[row] ?? []
    const meant = typeof one.name === 'string' ? nearestName(one.name, spans.map(titleOf)) : undefined
    const far = (index: number) => {
      const isNamedOther = rows[index]?.[0]?.startsWith('name:') && titleOf(spans[index]) !== meant
      return (rows[index]?.length ?? 0) + (isNamedOther ? 100 : 0)
    }
    const nearest = rows.reduce((best, _, index) => (far(index) < far(best) ? index : best), 0)
    const hint = rows[nearest]?.map((problem) => `    ${oneLine(problem)}`) ?? []
    const near = spans[nearest] ? `; nearest: ${shownTitle(spans[nearest])}` : ''
    return [`- ${oneLine(describeSpan(one))}    no span of its own${near}`, ...hint]
  })
  const pass = assigned.every((column) => column >= 0)
  const tree = pass ? [] : spans.map((span) => `  ${'  '.repeat(depth(span, byId))}${shownTitle(span)}`)
  const news = lines.filter((_, row) => (assigned[row] ?? -1) < 0)
  return {
    pass,
    report: [
      `Spans ${pass ? 'are' : 'are not'} as expected`,
      ...fewLines(lines.flat(), news.flat()),
      ...(pass ? [] : ['Spans:', ...fewLines(tree)]),
    ].join('\n'),
  }
}

/** Whether a span that must not be there is one that could be, by its name, those above it, and its attributes. */
export function assertNoSpanSlip(source: object, expected: readonly ExpectedSpan[]): void {
  const spans = spansOf(source) ?? []
  const keys = spans.flatMap(({ attributes }) => Object.keys(attributes))
  const seen = Map.groupBy(spans, ({ name }) => firstWord(name))
  for (const one of expected) {
    const { name, parent, under, attributes = {} } = typeof one === 'string' ? { name: one } : one
    for (const title of [name, parent, under]) {
      if (typeof title !== 'string') continue
      const what = firstWord(title)
      assertNoSlipOf('No span is named', what, [...seen.keys()])
      // Not of models, whose names differ by a sign.
      const rest = title.slice(what.length + 1)
      if (what === 'execute_tool') assertNotMisspelt(source, [rest])
      const agents = seen.get('invoke_agent')?.map((span) => span.name.slice('invoke_agent '.length)) ?? []
      if (what === 'invoke_agent') assertNoSlipOf('No agent ran that is named', rest, agents)
    }
    for (const key of Object.keys(attributes)) assertNoSlipOf('No span has the attribute', key, keys)
  }
}

const firstWord = (text: string) => text.split(' ', 1)[0] as string

function spansOf(source: object): PlainSpan[] | undefined {
  if (Array.isArray(source) && source.length === 0) return []
  const spans = readSpans(unwrap(source))
  if (spans !== undefined) return spans
  const events = eventsOfTree(source)
  return events && spansOfEvents(events)
}

/** A misspelt expectation would hold for every span. */
function assertExpectedSpans(expected: unknown): void {
  if (!Array.isArray(expected)) {
    throw wrong('a list of expected spans', expected)
  }
  for (const [index, one] of expected.entries()) {
    if (a.name.fits(one)) continue
    assertFields<Exclude<ExpectedSpan, string>>(one, FIELDS, `expected[${index}]`)
  }
}

const FIELDS: Fields<Exclude<ExpectedSpan, string>> = {
  name: shape('a non-empty string or a RegExp', (name) => a.name.fits(name) || name instanceof RegExp),
  attributes: a.object,
  kind: a.oneOf('client', 'internal', 'server', 'producer', 'consumer'),
  failed: a.boolean,
  parent: a.name,
  under: a.name,
}

function unwrap(source: object): unknown {
  const { spans } = source as { spans?: unknown }
  return Array.isArray(spans) && spans.length === 0 ? { data: [] } : source
}

function compare(
  { name, attributes, kind, failed, parent, under }: Exclude<ExpectedSpan, string>,
  span: PlainSpan,
  byId: ReadonlyMap<string, PlainSpan>,
): string[] {
  const above = ancestors(span, byId)
  const found: string[] = []
  if (
    name !== undefined &&
    !(typeof name === 'string' ? isNamed(span, name) : titleOf(span).search(name) >= 0)
  ) {
    found.push(`name: expected ${name}, got ${titleOf(span)}`)
  }
  if (attributes !== undefined) {
    found.push(
      ...differences(attributes, span.attributes, 'partial').map((one) =>
        formatDifference(one, 'attributes'),
      ),
    )
  }
  if (kind !== undefined && kind !== span.kind) found.push(`kind: expected ${kind}, got ${span.kind}`)
  if (failed !== undefined && failed !== span.failed)
    found.push(`failed: expected ${failed}, got ${span.failed}`)
  if (parent !== undefined && !isNamed(above[0], parent)) {
    found.push(`parent: expected ${parent}, got ${titleOf(above[0]) || 'none'}`)
  }
  if (under !== undefined && !above.some((one) => isNamed(one, under))) {
    found.push(`under: expected ${under}, got ${above.map(titleOf).join(' < ') || 'none'}`)
  }
  return found
}

function isNamed(span: PlainSpan | undefined, glob: string): boolean {
  return matchesGlob(glob, span?.name ?? '') || matchesGlob(glob, titleOf(span))
}

function titleOf(span: PlainSpan | undefined): string {
  return span === undefined ? '' : spanTitle(span.name, span.attributes)
}

function shownTitle(span: PlainSpan | undefined): string {
  return oneLine(titleOf(span))
}

function ancestors(span: PlainSpan, byId: ReadonlyMap<string, PlainSpan>): PlainSpan[] {
  const found = new Set<PlainSpan>()
  for (let at = byId.get(span.parentId ?? ''); at !== undefined && !found.has(at); ) {
    found.add(at)
    at = byId.get(at.parentId ?? '')
  }
  return [...found]
}

/** As far as a line has place for. */
const MAX_DEPTH = 40

function depth(span: PlainSpan, byId: ReadonlyMap<string, PlainSpan>): number {
  return Math.min(ancestors(span, byId).length, MAX_DEPTH)
}

function describeSpan({ name, attributes, parent, under }: Exclude<ExpectedSpan, string>): string {
  const where = parent ? ` below ${parent}` : under ? ` under ${under}` : ''
  const what = attributes ? ` with ${Object.keys(attributes).join(', ')}` : ''
  return `${name ?? 'any span'}${what}${where}`
}
