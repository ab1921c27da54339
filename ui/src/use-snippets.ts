/** Where the words of a search are, in the runs of a page that it found. */
import { useEffect, useState } from 'preact/hooks'
import type { Snippet } from '../../src/viewer/model/snippet.ts'
import { useSource } from './hooks.ts'
import type { RunPage } from './source.ts'

const NONE: Readonly<Record<string, Snippet>> = {}
/** Runs in one question. */
const AT_ONCE = 50
/** A run further down shows what it began with. */
const MOST = 400

/** By run. They come after the list, which does not wait for them. */
export function useSnippets(query: string, page: RunPage | undefined): Readonly<Record<string, Snippet>> {
  const source = useSource()
  const [found, setFound] = useState({ query: '', snippets: NONE })
  useEffect(() => {
    if (!page?.words) return
    let wanted = true
    const ask = async () => {
      const known = found.query === query ? found.snippets : NONE
      const missing = page.runs.slice(0, MOST).flatMap(({ traceId }) => (known[traceId] ? [] : [traceId]))
      for (let from = 0; from < missing.length && wanted; from += AT_ONCE) {
        const some = await source.snippets(query, missing.slice(from, from + AT_ONCE)).catch(() => NONE)
        if (!wanted) return
        setFound((before) => ({
          query,
          snippets: before.query === query ? { ...before.snippets, ...some } : some,
        }))
      }
    }
    void ask()
    return () => {
      wanted = false
    }
  }, [page])
  return page?.words && found.query === query ? found.snippets : NONE
}
