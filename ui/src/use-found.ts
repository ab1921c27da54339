/** Searching in one run. */
import { useEffect, useMemo, useState } from 'preact/hooks'
import { criticalPath } from '../../src/viewer/model/timing.ts'
import { flatten, type TreeNode } from '../../src/viewer/model/tree.ts'
import { eachCallOnce } from '../../src/viewer/model/tree-parts.ts'
import { failuresIn } from '../../src/viewer/model/why.ts'
import { useSource } from './hooks.ts'
import type { Found } from './source.ts'

/** What is asked for by kind, as the numbers above the run are. */
const KINDS: Readonly<Record<string, (tree: TreeNode) => TreeNode[]>> = {
  'is:model': (tree) => told(tree, ({ row }) => row.category === 'llm' || row.category === 'embedding'),
  'is:tool': (tree) => told(tree, ({ row }) => row.category === 'tool'),
  'is:mocked': (tree) => told(tree, ({ row }) => row.mocked),
  'is:human': (tree) => told(tree, ({ row }) => row.category === 'human'),
  'is:error': failuresIn,
}
function told(tree: TreeNode, isKind: (node: TreeNode) => boolean): TreeNode[] {
  return eachCallOnce(flatten(tree)).filter(isKind)
}
/** What the run's duration is made of. */
const CRITICAL = 'is:critical'

/** An answer that says what was not searched yet is asked for again so soon. */
const NOT_ALL_MS = 100
/** One that failed, so soon. */
const FAILED_MS = 2000
const NOTHING: Found = { spanIds: [], indexing: 0 }

/**
 * Ids of what matches: rows by what they show, or by `is:` and a kind, and spans by any word in them; and how many spans were not searched
 * yet. Those are searched for again until there are none. `failed`: no words of spans were searched; that is tried again.
 */
export function useFound(
  query: string,
  tree: TreeNode,
  traceId: string,
  nowUs: number,
): { found: ReadonlySet<string> | undefined; indexing: number; failed: boolean } {
  const source = useSource()
  const [inContent, setInContent] = useState(NOTHING)
  const [failed, setFailed] = useState(false)
  const text = query.trim().toLowerCase()
  useEffect(() => {
    setInContent(NOTHING)
    setFailed(false)
    if (text.length < 2 || isKind(text)) return
    let timer: ReturnType<typeof setTimeout>
    let wanted = true
    const ask = async () => {
      const reply = await source.search(text, traceId).catch(() => undefined)
      if (!wanted) return
      setFailed(reply === undefined)
      if (reply !== undefined) setInContent(reply)
      if (reply === undefined) timer = setTimeout(ask, FAILED_MS)
      else if (reply.indexing > 0) timer = setTimeout(ask, NOT_ALL_MS)
    }
    timer = setTimeout(ask, 150)
    return () => {
      wanted = false
      clearTimeout(timer)
    }
  }, [text, traceId])
  const found = useMemo(() => {
    if (!text) return undefined
    if (text === CRITICAL) return criticalPath(tree, nowUs)
    const ofKind = isKind(text) ? KINDS[text]! : undefined
    if (ofKind) return new Set(ofKind(tree).map(({ row }) => row.spanId))
    const shown = flatten(tree).filter(({ row }) =>
      `${row.name} ${row.label} ${row.preview} ${row.outcome} ${row.errorText}`.toLowerCase().includes(text),
    )
    return new Set([...shown.map((node) => node.row.spanId), ...inContent.spanIds])
  }, [text, tree, inContent])
  return { found, indexing: inContent.indexing, failed }
}

const isKind = (text: string): boolean => text === CRITICAL || Object.hasOwn(KINDS, text)
