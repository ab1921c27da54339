import { idsOfOperation } from 'hookspan/tracing'
import type { ExpectStatic } from 'vitest'
import type { EventLine, Line, MarkLine, SpanLine, ToolLine } from './scenario.ts'

/** What is held of a run, whatever was killed in it. */
export interface Held {
  readonly lines: readonly Line[]
  readonly operationId: string
  /** What the run said at its end: the result of each tool. */
  readonly told: string
  /** How often something was killed. */
  readonly kills: number
}

/** Tools that may not be run twice for one call. */
const UNKEYED = ['write', 'note', 'delete']

export function expectHeld(expect: ExpectStatic, { lines, operationId, told, kills }: Held): void {
  const tools = lines.filter((line): line is ToolLine => 'tool' in line)
  const begun = (name: string) => tools.filter(({ tool, phase }) => tool === name && phase === 'begin')
  const booked = lines.filter((line): line is MarkLine => 'mark' in line && line.mark.startsWith('booked'))
  expect(booked.length, 'what was booked under a key').toBe(1)
  expect(new Set(begun('pay').map(({ key }) => key)).size, 'keys of one payment').toBe(1)
  for (const name of UNKEYED) {
    const times = begun(name).length
    expect([name, times < 2], 'a tool without a key').toEqual([name, true])
    // Nobody knows whether it was run, or what of it, and the model was told so.
    const known = told.includes(`${name} done`)
    expect([name, known || told.includes('execution_unknown')]).toEqual([name, true])
    if (known) expect([name, times]).toEqual([name, 1])
  }
  expect(told).toContain('pay done')
  expect(told).not.toMatch(/rejected|timed out|denied by/)

  const events = lines.filter((line): line is EventLine => 'hookType' in line)
  const told_again = new Map<string, number>()
  for (const { operationId: id, hookType, sequence } of events) {
    const key = `${id} ${sequence} ${hookType}`
    told_again.set(key, (told_again.get(key) ?? 0) + 1)
  }
  // Of what was not kept when something was killed, and of nothing else.
  for (const [key, times] of told_again) expect([key, times <= 1 + kills]).toEqual([key, true])
  for (const id of new Set(events.map((event) => event.operationId))) {
    const sequence = [
      ...new Set(events.filter((event) => event.operationId === id).map((event) => event.sequence)),
    ]
    expect(
      sequence.sort((a, b) => a - b),
      `the sequence of ${id}`,
    ).toEqual(sequence.map((_, index) => index))
  }
  const last = events.filter((event) => event.operationId === operationId && event.hookType === 'onComplete')
  expect(last.length, 'onComplete').toBeGreaterThanOrEqual(1)
  expect(last.length, 'onComplete').toBeLessThanOrEqual(1 + kills)

  expectOneTrace(expect, lines, operationId)
}

/** One trace, whose spans all lie below the run's own, over spans that were exported, too. */
export function expectOneTrace(expect: ExpectStatic, lines: readonly Line[], operationId: string): void {
  const spans = lines.filter((line): line is SpanLine => 'span' in line)
  const root = idsOfOperation(operationId)
  expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([root.traceId]))
  const ended = spans.filter(({ span }) => span === 'end')
  const ids = new Set(ended.map(({ spanId }) => spanId))
  expect(ids.has(root.spanId), 'the run has its span').toBe(true)
  const orphans = ended.filter(({ parentId, spanId }) => spanId !== root.spanId && !ids.has(parentId ?? ''))
  expect(
    orphans.map(({ name }) => name),
    'orphans',
  ).toEqual([])
  const roots = ended.filter(({ parentId }) => parentId === undefined)
  expect(new Set(roots.map(({ spanId }) => spanId))).toEqual(new Set([root.spanId]))
}

/** How many events were told to a hook once more. */
export function toldAgain(lines: readonly Line[]): number {
  const events = lines.filter((line): line is EventLine => 'hookType' in line)
  return (
    events.length -
    new Set(events.map((event) => `${event.operationId} ${event.sequence} ${event.hookType}`)).size
  )
}
