/** Answers about many runs, each within a time: what is not made by then is told, and who asks again has it. */
import type { InTurns } from '../model/in-turns.ts'
import type { RunNumbers } from '../model/run-numbers.ts'
import type { UseKind, UseSums } from '../model/run-uses.ts'
import { measuresOf, RunSet, type SetDiff } from '../model/set-diff.ts'
import type { Snippet } from '../model/snippet.ts'
import type { RunSummary } from '../model/span.ts'
import { parseFilter } from './filter.ts'
import type { FoundByWords, Page, Reader, RunKey, RunList, SearchHit } from './reader.ts'
import type { Summaries } from './summaries.ts'
import { wordQuery } from './words.ts'

/**
 * Nobody waits longer for what is made meanwhile, all of it together: sums of what came, spans that are looked through, sums of
 * what is in sight. Each with a time of its own, an answer took the sum of them.
 */
const ANSWER_MS = 250
/** Of that, as much at most for each of the first two, so that something is left for what comes after them. */
const SUM_SHARE = 0.5
const LOOK_SHARE = 0.75
/** Of the runs in sight so many are summed all the same: on a busy machine all time may be gone before the first. */
const SUMMED_AT_LEAST = 4
/** Of more it is not told when they are summed: who sees so many is told of some of them. */
const MOST_BEHIND = 500
/** Who was told that there is more asks again within this time. */
const ASKED_AGAIN_MS = 1500

export interface SearchResult {
  hits: SearchHit[]
  /** Spans that were not searched yet: who asks again has them searched. */
  indexing: number
}

export class Answers {
  readonly #reader: Reader
  readonly #summaries: Summaries
  readonly #answerMs: number
  readonly #sum: (nowMs: number, budgetMs: number) => InTurns<boolean>
  /** Runs that were shown as they stood before their last spans. */
  readonly #shownBehind = new Set<string>()
  #searchedUntilMs = 0

  /** `sum` sums runs for about so long, and says whether there are more. */
  constructor(
    reader: Reader,
    summaries: Summaries,
    sum: (nowMs: number, budgetMs: number) => InTurns<boolean>,
    answerMs: number = ANSWER_MS,
  ) {
    this.#reader = reader
    this.#summaries = summaries
    this.#sum = sum
    this.#answerMs = answerMs
  }

  *listing(query: string, page: Page, nowMs: number): InTurns<RunList> {
    const untilMs = this.#untilMs()
    const { areSummed, indexing, found } = yield* this.#ready(query, nowMs, untilMs)
    const { runs, total, problems, words } = yield* this.#reader.listRuns(query, page, found)
    // Where nothing can be kept, or so much came, what is in sight is summed all the same.
    if (!areSummed) yield* this.#sumInSight(runs, nowMs, untilMs)
    return { runs, total, indexing, problems, words }
  }

  *counting(query: string, nowMs: number): InTurns<RunNumbers> {
    const { found } = yield* this.#ready(query, nowMs)
    return yield* this.#reader.numbers(query, found)
  }

  *summingUses(query: string, kind: UseKind, nowMs: number): InTurns<UseSums> {
    const { found, indexing } = yield* this.#ready(query, nowMs)
    return { ...(yield* this.#reader.uses(query, found, kind)), indexing }
  }

  *diffingSets(queryA: string, queryB: string, nowMs: number): InTurns<SetDiff> {
    const sets: RunSet[] = []
    let indexing = 0
    const untilMs = this.#untilMs()
    for (const query of [queryA, queryB]) {
      const ready = yield* this.#ready(query, nowMs, sets.length > 0 ? untilMs : untilMs - this.#answerMs / 2)
      indexing = Math.max(indexing, ready.indexing)
      const set = new RunSet()
      yield* this.#reader.figures(query, ready.found, (runs) => set.add(runs))
      sets.push(set)
    }
    const [a, b] = sets as [RunSet, RunSet]
    yield
    return {
      a: { runs: a.runs, ended: a.ended },
      b: { runs: b.runs, ended: b.ended },
      measures: measuresOf(a, b),
      indexing,
      problems: [...new Set([queryA, queryB].flatMap((query) => parseFilter(query).problems))],
    }
  }

  *searching(
    typed: string,
    limit: number,
    traceId?: string,
    lookMs: number = this.#answerMs * LOOK_SHARE,
  ): InTurns<SearchResult> {
    // Summing notices which spans were replaced: their words are no longer found.
    yield* this.#ifStorable(this.#sum(Date.now(), this.#answerMs * (1 - LOOK_SHARE)))
    const run = traceId ? this.#reader.findRun(traceId) : undefined
    if (traceId && !run) return { hits: [], indexing: 0 }
    this.#searched(true)
    const { hits, unsearched } = yield* this.#reader.search(typed, limit, run, lookMs)
    this.#searched(unsearched > 0)
    return { hits, indexing: unsearched }
  }

  /** Where the words of a query are in each of these runs, by trace id; what is not indexed is not found. */
  *findingSnippets(query: string, traceIds: readonly string[]): InTurns<Record<string, Snippet>> {
    const runs = traceIds.flatMap((traceId) => this.#reader.findRun(traceId) ?? [])
    return yield* this.#reader.snippets(query, runs)
  }

  /** Runs that were shown as they stood before, and are summed by now: whoever sees them may ask again. Each is told once. */
  takeCaughtUp(): Set<string> {
    const caughtUp = new Set<string>()
    for (const traceId of this.#shownBehind) {
      if (this.#reader.findRun(traceId)?.dirty) continue
      this.#shownBehind.delete(traceId)
      caughtUp.add(traceId)
    }
    return caughtUp
  }

  /** Somebody waits for a search, which looks through what is not indexed by itself: the index had better wait. */
  get isSearched(): boolean {
    return performance.now() < this.#searchedUntilMs
  }

  /** Sums what a query may find, as far as time allows, and finds what its words are in. */
  *#ready(
    query: string,
    nowMs: number,
    untilMs: number = this.#untilMs(),
  ): InTurns<{ areSummed: boolean; indexing: number; found: FoundByWords | undefined }> {
    const budgetMs = Math.max(0, untilMs - performance.now())
    const areSummed = (yield* this.#ifStorable(this.#sum(nowMs, budgetMs * SUM_SHARE))) === false
    const hasWords = wordQuery(parseFilter(query).text) !== undefined
    if (hasWords) this.#searched(true)
    const lookMs = Math.max(0, Math.min(budgetMs * LOOK_SHARE, untilMs - performance.now()))
    const found = yield* this.#reader.withWords(query, lookMs)
    if (hasWords) this.#searched(found !== undefined && found.unsearched > 0)
    return { areSummed, indexing: found?.unsearched ?? 0, found }
  }

  *#sumInSight(runs: RunSummary[], nowMs: number, untilMs: number): InTurns<void> {
    let summed = 0
    for (const [index, { traceId }] of runs.entries()) {
      const run: RunKey | undefined = this.#reader.findRun(traceId)
      if (!run?.dirty) continue
      if (summed++ < SUMMED_AT_LEAST || performance.now() < untilMs)
        runs[index] = yield* this.#summaries.of(run, nowMs)
      else if (this.#shownBehind.size < MOST_BEHIND) this.#shownBehind.add(traceId)
    }
  }

  #untilMs(): number {
    return performance.now() + this.#answerMs
  }

  #searched(hasMore: boolean): void {
    this.#searchedUntilMs = hasMore ? performance.now() + ASKED_AGAIN_MS : 0
  }

  /** `undefined` where nothing can be stored: who only looks is answered from what is. */
  *#ifStorable<T>(work: InTurns<T>): InTurns<T | undefined> {
    try {
      return yield* work
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ERR_SQLITE_ERROR') throw error
      return undefined
    }
  }
}
