/**
 * A run as the chat it was. Model calls repeat the whole history; each message is shown once, where it first appeared,
 * and each tool call is one card that gathers what the model asked for, what the tool did and what came back.
 */
import type { Conversation } from './conversation-items.ts'
import { Scope, type Shared } from './conversation-scope.ts'
import { finish, type InTurns } from './in-turns.ts'
import type { SpanRecord, SpanRow } from './span.ts'
import { growingTree, type TreeNode } from './tree.ts'
import { firstCallsIn, isSameCall } from './tree-parts.ts'

type Open = (spanId: string) => SpanRecord | undefined

export function buildConversation(rows: readonly SpanRow[], open: Open): Conversation {
  return finish(conversing(rows, open))
}

/** `buildConversation`, giving way to others now and then. With `atLeast`, it stops when so many items are there. */
export function* conversing(
  rows: readonly SpanRow[],
  open: Open,
  atLeast = Number.POSITIVE_INFINITY,
): InTurns<Conversation> {
  const root = yield* growingTree(rows)
  if (!root) return { items: [], hasContent: false }
  const firstCalls = firstCallsIn(root)
  const shared: Shared = { open, calls: new Map(), firstCalls, hasContent: false, items: 0, imageChars: 0 }
  const top = new Scope(shared, 0)
  top.hear(root.row)
  const heard = new Set([top])
  // Not recursive: what calls what can be twenty thousand deep.
  /** `isAgain`: it tells of the call that it lies in. */
  const stack: { node: TreeNode; scope: Scope; step: string; isAgain: boolean }[] = []
  const enter = (node: TreeNode, scope: Scope, step: string) => {
    for (let index = node.children.length - 1; index >= 0; index--) {
      const child = node.children[index]!
      stack.push({ node: child, scope, step, isAgain: isSameCall(child, node) })
    }
  }
  // The run's own agent is the run: the page shows it as such.
  stack.push({ node: root, scope: top, step: '', isAgain: false })
  for (let next = stack.pop(); next; next = stack.pop()) {
    yield
    if (shared.items >= atLeast) return { items: top.items, hasContent: shared.hasContent, isPart: true }
    const { node, scope } = next
    scope.tellUntil(node.row.startUs)
    const isTold = node === root ? root.row.category !== 'llm' : next.isAgain
    const inner = isTold ? scope : scope.visit(node, next.step)
    if (!inner) continue
    if (node !== root) inner.hear(node.row)
    heard.add(inner)
    enter(node, inner, inner === scope ? stepOf(node.row) || next.step : '')
  }
  for (const scope of heard) scope.tellUntil(Number.POSITIVE_INFINITY)
  return { items: top.items, hasContent: shared.hasContent }
}

/** The number of a step that has one. */
function stepOf(row: SpanRow): string {
  return row.category === 'step' ? (/^step (\d+)$/.exec(row.label || row.name)?.[1] ?? '') : ''
}
