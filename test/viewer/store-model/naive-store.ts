/** What a store has to answer, from all that it was sent. */
import type { AskedInRun, RunSummary } from '../../../src/viewer/model/span.ts'
import { NaiveRun, type NaiveUse, UNSPACED, wordsIn } from './naive-run.ts'
import { type Attributes, RESOURCES, type SentLog, type SentSpan } from './sent.ts'

export class NaiveStore {
  readonly runs = new Map<string, NaiveRun>()
  asked: ReadonlyMap<string, AskedInRun> = new Map()

  span(sent: SentSpan, nowMs: number): void {
    const run = this.#run(sent.traceId)
    run.receivedMs = nowMs
    run.arrived.push(sent)
  }

  log(sent: SentLog, nowMs: number): void {
    const run = this.#run(sent.traceId)
    run.receivedMs = nowMs
    if (!run.logs.some((log) => JSON.stringify(log) === JSON.stringify(sent))) run.logs.push(sent)
  }

  #run(traceId: string): NaiveRun {
    const run = this.runs.get(traceId) ?? new NaiveRun(traceId)
    this.runs.set(traceId, run)
    return run
  }
}

export interface Term {
  text: string
  isTrue: (run: Found) => boolean
}

/** A run with what is asked of it. */
export interface Found {
  run: NaiveRun
  summary: RunSummary
  uses: NaiveUse[]
  resources: Attributes[]
}

export function foundRun(run: NaiveRun, nowMs: number, asked: AskedInRun | undefined): Found {
  return {
    run,
    summary: run.summary(nowMs, asked) as RunSummary,
    uses: run.uses(nowMs),
    resources: run.spans.map(({ resource }) => RESOURCES[resource]!),
  }
}

/** Whether the text is like the pattern, whose `*` stands for anything; letters of ASCII in either case. */
export function isLike(text: string, pattern: string, isWhole: boolean): boolean {
  const asked = pattern.split('*').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  const lower = (some: string) => some.replace(/[A-Z]/g, (letter) => letter.toLowerCase())
  const expression = lower(asked.join('[^]*'))
  return new RegExp(isWhole ? `^${expression}$` : expression, 'u').test(lower(text).toWellFormed())
}

/** The spans in which every word is, and the spans of logs in which every word is. */
export function spansWith(run: NaiveRun, typed: string): Set<string> {
  const asked = [...wordsIn([typed])]
  // What is typed last may be the beginning of a word.
  const isOpen = /[\p{L}\p{N}\p{M}\p{Co}]$/u.test(typed)
  const last = isOpen ? wordsOf(typed).at(-1) : undefined
  const isIn = (words: ReadonlySet<string>) =>
    asked.every(
      (word) =>
        words.has(word) ||
        (word === last && [...words].some((other) => other.startsWith(word))) ||
        (UNSPACED.test(word) && [...words].some((other) => other.includes(word))),
    )
  const { spans, logs } = run.words()
  return new Set([
    ...[...spans].filter(([, words]) => isIn(words)).map(([spanId]) => spanId),
    ...logs.filter(({ words }) => isIn(words)).map(({ spanId }) => spanId),
  ])
}

function wordsOf(typed: string): string[] {
  return (typed.match(/[\p{L}\p{N}\p{M}\p{Co}]+/gu) ?? []).flatMap((run) => [...wordsIn([run])])
}
