import type { RunSummary, SpanRow } from '../../src/viewer/model/span.ts'

interface Answer {
  summary: RunSummary
  rows: readonly SpanRow[]
  seq: number
  totalRows?: number
}

/** What a page knows of a run: all that it was told, each time only what changed. */
export class RunMemory {
  #rows = new Map<string, SpanRow>()
  #summary: RunSummary | undefined
  /** To ask with for what changed; 0 for all of it. */
  seq = 0

  /** What is told next is all there is. Until then it is as it was. */
  startOver(): void {
    this.seq = 0
  }

  get rows(): SpanRow[] {
    return [...this.#rows.values()]
  }

  /**
   * Takes the answer to who asked with `since`. `isStale`: what is known is of another time, as of a run that was removed and
   * came again; it is to be asked for as a whole.
   */
  take(since: number, { summary, rows, seq, totalRows }: Answer): { isNews: boolean; isStale: boolean } {
    if (since !== this.seq) return { isNews: false, isStale: true }
    const isWhole = since === 0
    const before = this.#rows
    if (isWhole) this.#rows = new Map()
    let isNews = isWhole && before.size !== rows.length
    for (const row of rows) {
      isNews ||= !isSame(before.get(row.spanId), row)
      this.#rows.set(row.spanId, row)
    }
    isNews ||= !isSame(this.#summary, summary)
    this.#summary = summary
    this.seq = seq
    const isStale = !isWhole && !totalRows && this.#rows.size > summary.spans
    if (isStale) this.startOver()
    return { isNews, isStale }
  }
}

function isSame(before: object | undefined, after: object): boolean {
  return before !== undefined && JSON.stringify(before) === JSON.stringify(after)
}
