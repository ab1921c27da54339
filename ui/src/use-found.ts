/** Searching in one run. */
import { useEffect, useMemo, useState } from 'preact/hooks'
import { flatten, type TreeNode } from '../../src/viewer/model/tree.ts'
import { useSource } from './hooks.ts'
import type { Found } from './source.ts'

const NOTHING: Found = { spanIds: [], indexing: 0 }

/**
 * Ids of what matches: rows by what they show, and spans by any word in them; and how many spans were not searched
 * yet. Those are searched for again until there are none.
 */
export function useFound(
  query: string,
  tree: TreeNode,
  traceId: string,
): { found: ReadonlySet<string> | undefined; indexing: number } {
  const source = useSource()
  const [inContent, setInContent] = useState(NOTHING)
  const text = query.trim().toLowerCase()
  useEffect(() => {
    setInContent(NOTHING)
    if (text.length < 2) return
    let timer: ReturnType<typeof setTimeout>
    let wanted = true
    const ask = async () => {
      const reply = await source.search(text, traceId).catch(() => NOTHING)
      if (!wanted) return
      setInContent(reply)
      if (reply.indexing > 0) timer = setTimeout(ask, 1000)
    }
    timer = setTimeout(ask, 150)
    return () => {
      wanted = false
      clearTimeout(timer)
    }
  }, [text, traceId])
  const found = useMemo(() => {
    if (!text) return undefined
    const shown = flatten(tree).filter(({ row }) =>
      `${row.name} ${row.label} ${row.preview} ${row.outcome} ${row.errorText}`.toLowerCase().includes(text),
    )
    return new Set([...shown.map((node) => node.row.spanId), ...inContent.spanIds])
  }, [text, tree, inContent])
  return { found, indexing: inContent.indexing }
}
