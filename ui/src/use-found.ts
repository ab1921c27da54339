/** Searching in one run. */
import { useEffect, useMemo, useState } from 'preact/hooks'
import { flatten, type TreeNode } from '../../src/viewer/model/tree.ts'
import { useSource } from './hooks.ts'

/** Ids of what matches: rows by what they show, and spans by any word in them. */
export function useFound(query: string, tree: TreeNode, traceId: string): ReadonlySet<string> | undefined {
  const source = useSource()
  const [inContent, setInContent] = useState<string[]>([])
  const text = query.trim().toLowerCase()
  useEffect(() => {
    setInContent([])
    if (text.length < 2) return
    const timer = setTimeout(() => void source.search(text, traceId).then(setInContent, () => {}), 150)
    return () => clearTimeout(timer)
  }, [text, traceId])
  return useMemo(() => {
    if (!text) return undefined
    const shown = flatten(tree).filter(({ row }) =>
      `${row.name} ${row.label} ${row.preview} ${row.outcome} ${row.errorText}`.toLowerCase().includes(text),
    )
    return new Set([...shown.map((node) => node.row.spanId), ...inContent])
  }, [text, tree, inContent])
}
