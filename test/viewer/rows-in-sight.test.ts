import { expect, it } from 'vitest'
import { isPassedGate, rowsInSight } from '../../src/viewer/model/rows-in-sight.ts'
import { buildTree, emptyRow, type TreeNode } from '../../src/viewer/model/tree.ts'

const row = (spanId: string, parentSpanId: string, more: object = {}) => ({
  ...emptyRow(spanId, spanId),
  category: 'other' as const,
  parentSpanId,
  ...more,
})
const gate = (spanId: string, decision: string) =>
  row(spanId, 'b', { category: 'gate', gates: [{ id: spanId, timeUs: 0, decision, enforced: true }] })

/** a > (b > (c, passed, denied), d) */
const tree = buildTree([
  row('a', ''),
  row('b', 'a'),
  row('c', 'b'),
  gate('passed', 'proceed'),
  gate('x', 'deny'),
  row('d', 'a'),
])!
const ids = (nodes: Iterable<TreeNode>) => [...nodes].map((node) => node.row.spanId)
const none = () => false

it('shows the rows that match and the way to them, whatever is folded', () => {
  const { rows, way, matches } = rowsInSight(tree, {
    matches: ({ row }) => row.spanId === 'c',
    isCollapsed: () => true,
  })
  expect(ids(rows)).toEqual(['a', 'b', 'c'])
  expect(ids(way).sort()).toEqual(['a', 'b'])
  expect(matches).toBe(1)
})

it('shows what is kept in any case, with the way to it', () => {
  const { rows, matches } = rowsInSight(tree, {
    matches: ({ row }) => row.spanId === 'd',
    isCollapsed: none,
    keeps: ({ row }) => row.spanId === 'c',
  })
  expect(ids(rows)).toEqual(['a', 'b', 'c', 'd'])
  expect(matches).toBe(1)
})

it('folds gates that let a call pass, and no other', () => {
  const { rows } = rowsInSight(tree, { hides: isPassedGate, isCollapsed: none })
  expect(ids(rows)).toEqual(['a', 'b', 'c', 'x', 'd'])
})

it('without a filter shows all that is not folded', () => {
  expect(ids(rowsInSight(tree, { isCollapsed: ({ row }) => row.spanId === 'b' }).rows)).toEqual([
    'a',
    'b',
    'd',
  ])
})
