import type { RunSummary, SpanRow } from '../../viewer/model/span.ts'
import type { RunSource } from '../../viewer/run-source.ts'
import { charsThatTell } from '../../viewer/text/chars-that-tell.ts'

/** Others are looked at while they go on. */
const RECENT = 50
const MOST_OPEN = 1_000
/** Of more of them it is forgotten what was told. */
const MOST_SEEN = 2_000
/** Of a run that is over, spans may still end that died with it: it is looked for them only now and then. */
const LOOKS_AT_DEAD = 10

interface SeenRun {
  seq: number
  summary: string
  startUs: number
  goesOn: boolean
  /** How each of its spans was told. */
  told: Map<string, string>
}

export interface News {
  run: RunSummary
  row: SpanRow
}

/** What runs do from one look to the next: each span when it begins, and when it ends, once. */
export class Following {
  readonly #source: RunSource
  readonly #query: string
  readonly #recent: number
  readonly #seen = new Map<string, SeenRun>()
  #looks = 0
  /** What began before the oldest of the first look, or of those it has forgotten, is no news, unless it goes on. */
  #sinceUs = Number.NEGATIVE_INFINITY

  constructor(source: RunSource, query: string, recent: number = RECENT) {
    this.#source = source
    this.#query = query
    this.#recent = recent
  }

  /** To be called when the viewer was not there for a while: it may be another one. */
  startOver(): void {
    for (const run of this.#seen.values()) run.seq = 0
  }

  /** The first look gives nothing: what there is by then is no news. `idChars`: how much of an id tells one run from all others that were seen. */
  async look(): Promise<{ news: News[]; problems: string[]; idChars: number }> {
    const newest = await this.#source.listRuns(this.#query, this.#recent)
    const open = await this.#source.listRuns(`${this.#query} status:running,waiting`, MOST_OPEN)
    const listed = new Map([...open.runs, ...newest.runs].map((run) => [run.traceId, run]))
    const isFirst = this.#looks++ === 0
    if (isFirst && newest.runs.length === this.#recent) this.#sinceUs = newest.runs.at(-1)!.startUs
    const news: News[] = []
    for (const traceId of new Set([...this.#seen.keys(), ...listed.keys()])) {
      if (this.#isToBeAsked(this.#seen.get(traceId), listed.get(traceId)))
        news.push(...(await this.#ask(traceId, isFirst)))
    }
    this.#forgetSome(listed)
    news.sort((a, b) => a.run.startUs - b.run.startUs)
    const idChars = charsThatTell([...this.#seen.keys()])
    return { news: isFirst ? [] : news, problems: newest.problems ?? [], idChars }
  }

  #isToBeAsked(seen: SeenRun | undefined, summary: RunSummary | undefined): boolean {
    if (!seen || seen.goesOn) return true
    if (!summary) return false
    if (seen.summary !== JSON.stringify(summary)) return true
    return this.#looks % LOOKS_AT_DEAD === 0 && [...seen.told.values()].some((how) => how !== ENDED)
  }

  #forgetSome(listed: ReadonlyMap<string, RunSummary>): void {
    for (const [traceId, { goesOn, startUs }] of this.#seen) {
      if (this.#seen.size <= MOST_SEEN) return
      if (goesOn || listed.has(traceId)) continue
      this.#seen.delete(traceId)
      this.#sinceUs = Math.max(this.#sinceUs, startUs)
    }
  }

  async #ask(traceId: string, isFirst: boolean): Promise<News[]> {
    const known = this.#seen.get(traceId)
    const run = await this.#source.run(traceId, known?.seq ?? 0)
    if (!run) {
      this.#seen.delete(traceId)
      return []
    }
    const { summary, rows, seq } = run
    const goesOn = summary.status === 'running' || summary.status === 'waiting'
    const told = known?.told ?? new Map<string, string>()
    const fresh = rows.filter((row) => told.get(row.spanId) !== howOf(row))
    for (const row of fresh) told.set(row.spanId, howOf(row))
    this.#seen.set(traceId, {
      seq,
      summary: JSON.stringify(summary),
      startUs: summary.startUs,
      goesOn,
      told,
    })
    const isOld = !known && !goesOn && summary.startUs <= this.#sinceUs
    return isFirst || isOld ? [] : fresh.map((row) => ({ run: summary, row }))
  }
}

const ENDED = 'ended'

function howOf({ endUs, state, outcome }: SpanRow): string {
  return endUs > 0 ? ENDED : `${state} ${outcome}`
}
