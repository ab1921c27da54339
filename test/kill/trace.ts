import { idsOfOperation } from 'hookspan/tracing'
import type { ExpectStatic } from 'vitest'

/** What the worker writes down when a span starts, and again when it ends: only what has ended is exported. */
export interface SpanLine {
  readonly at: 'start' | 'end'
  readonly pid: number
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  readonly parentId?: string
}

/** The run's own span is not among them: who parks a run leaves its end to the one that goes on. */
const ASKED = `step
  chat stateless
  execute_tool delete_order
    human_intervention`

const RESUMED = `invoke_agent support
  step
    execute_tool delete_order
      human_intervention
  step
    chat stateless`

/**
 * A trace holds together when
 * - all its spans have the one trace id that follows from the operation's id;
 * - its root, with the span id that follows from it, was exported, by the process that ended the run;
 * - a span is missing only because it was open in the process that was killed; no other process leaves one behind;
 * - from each exported span the way up leads to the root over such missing ones and no other gap;
 * - no span id is used twice, but for that of a run, which was begun anew or ended under its old operation id.
 */
export function expectTogether(expect: ExpectStatic, lines: readonly SpanLine[], killed: number): void {
  const root = idsOfOperation('run-1')
  expect(new Set(lines.map(({ traceId }) => traceId))).toEqual(new Set([root.traceId]))

  const exported = lines.filter(({ at }) => at === 'end')
  const exportedIds = new Set(exported.map(({ spanId }) => spanId))
  const started = lines.filter(({ at }) => at === 'start')
  expect(exported.filter(({ parentId }) => parentId === undefined)[0]?.spanId).toBe(root.spanId)
  for (const { spanId, pid, name } of started) {
    if (!exportedIds.has(spanId)) expect({ name, pid }).toEqual({ name, pid: killed })
  }

  const parents = new Map(started.map(({ spanId, parentId }) => [spanId, parentId]))
  for (const span of exported) {
    const way = [span.name]
    let id: string | undefined = span.spanId
    while (id !== root.spanId && id !== undefined && parents.has(id)) {
      id = parents.get(id)
      way.push(id ?? 'no parent')
    }
    expect({ way, ends: id }).toEqual({ way, ends: root.spanId })
  }

  const ids = exported.filter(({ name }) => !name.startsWith('invoke_agent')).map(({ spanId }) => spanId)
  expect(ids.length).toBe(new Set(ids).size)
}

/** The same, and the processes that lived have told the whole run, each of its spans once. */
export function expectWhole(expect: ExpectStatic, lines: readonly SpanLine[], killed: number): void {
  expectTogether(expect, lines, killed)
  const exported = lines.filter(({ at }) => at === 'end')
  const trees = [...new Set(exported.map(({ pid }) => pid))]
    .filter((pid) => pid !== killed)
    .map((pid) => treeOf(exported.filter((span) => span.pid === pid)))
  // A process that was killed after the run had ended left nothing to tell.
  const all = [...trees, treeOf(exported.filter(({ pid }) => pid === killed))]
  expect(all).toEqual(expect.arrayContaining([ASKED, RESUMED]))
  for (const tree of trees) expect([ASKED, RESUMED]).toContain(tree)
}

/** The names of the spans, indented by their depth, siblings in the order of their names. */
function treeOf(spans: readonly SpanLine[]): string {
  const ids = new Set(spans.map(({ spanId }) => spanId))
  const below = (id: string | undefined, depth: number): string[] =>
    spans
      .filter(({ parentId }) => (id === undefined ? !parentId || !ids.has(parentId) : parentId === id))
      .sort((a, b) => a.name.localeCompare(b.name))
      .flatMap(({ name, spanId }) => [`${'  '.repeat(depth)}${name}`, ...below(spanId, depth + 1)])
  return below(undefined, 0).join('\n')
}
