/** What the page is called in tabs, bookmarks and the history: what it shows, and first of all how many people are waited for. */
import { useLayoutEffect } from 'preact/hooks'
import { countAsked } from '../../src/viewer/model/approval.ts'
import { visibleText } from '../../src/viewer/model/format.ts'

const MOST_CHARS = 80

let shown = ''
let waiting = 0

function write(): void {
  const name = visibleText(shown).replace(/\s+/g, ' ').trim()
  const short = name.length > MOST_CHARS ? `${name.slice(0, MOST_CHARS - 1)}…` : name
  document.title = `${waiting > 0 ? `(${countAsked(waiting)}) ` : ''}${short ? `${short} · ` : ''}hookspan`
}

/** Of the view that is shown; empty for the list of all runs. */
export function usePageTitle(title: string): void {
  useLayoutEffect(() => {
    shown = title
    write()
  }, [title])
}

/** So many requests wait for an answer, whatever is shown. */
export function useWaitingInTitle(requests: number): void {
  useLayoutEffect(() => {
    waiting = requests
    write()
  }, [requests])
}
