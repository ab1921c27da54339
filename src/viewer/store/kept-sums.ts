/** Sums over all runs, kept in blocks of runs: who asks again has only those made anew in which something changed. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { InTurns } from '../model/in-turns.ts'
import { USE_KINDS, type UseKind } from '../model/run-uses.ts'
import { type RunFigures, SELECTED_FIGURES } from './run-columns.ts'
import { RunCounter } from './run-numbers.ts'
import { mergeInto, type RunUses, type SummingUses, sortDurations } from './run-uses.ts'

/** A block is made in some milliseconds. */
const RUNS_IN_BLOCK = 1024
/** Durations take four bytes each. Of a store with more of them, sums are made anew each time. */
const MOST_DURATIONS = 12_000_000

type Blocks<T> = Map<number, T>

export class KeptSums {
  readonly #uses: RunUses
  readonly #figures: StatementSync
  readonly #bounds: StatementSync
  readonly #version: StatementSync
  readonly #numbersOf: Blocks<RunCounter> = new Map()
  readonly #usesOf: Readonly<Record<UseKind, Blocks<SummingUses>>> = {
    tool: new Map(),
    model: new Map(),
    agent: new Map(),
    gate: new Map(),
    human: new Map(),
  }
  #durations = 0
  #madeBefore = 0
  #seenVersion = Number.NaN

  constructor(db: DatabaseSync, uses: RunUses) {
    this.#uses = uses
    this.#figures = db.prepare(`SELECT ${SELECTED_FIGURES} FROM run WHERE id BETWEEN ? AND ?`)
    this.#bounds = db.prepare('SELECT (SELECT min(id) FROM run) AS first, (SELECT max(id) FROM run) AS last')
    this.#version = db.prepare('PRAGMA data_version')
  }

  /** To be called when what is summed of a run was stored or removed. */
  changed(run: number): void {
    const block = blockOf(run)
    this.#numbersOf.delete(block)
    for (const kind of USE_KINDS) this.#drop(kind, block)
  }

  *numbers(): InTurns<RunCounter> {
    const all = new RunCounter()
    for (const block of this.#blocks()) {
      const isKept = this.#numbersOf.has(block)
      all.merge(this.#numbersIn(block))
      if (!isKept) yield
    }
    return all
  }

  *uses(kind: UseKind): InTurns<SummingUses> {
    const all: SummingUses = new Map()
    for (const block of this.#blocks()) {
      const isKept = this.#usesOf[kind].has(block)
      mergeInto(all, this.#usesIn(kind, block))
      if (!isKept) yield
    }
    return all
  }

  /**
   * Makes what most ask for first, for about so long, so that nobody waits for all of it; says whether there is more. Once for each
   * block, and not of the newest, which changes with every run.
   */
  *making(budgetMs: number): InTurns<boolean> {
    const untilMs = performance.now() + budgetMs
    for (const block of [...this.#blocks()].slice(0, -1)) {
      if (block < this.#madeBefore) continue
      if (performance.now() > untilMs) return true
      this.#numbersIn(block)
      this.#usesIn('tool', block)
      this.#madeBefore = block + 1
      yield
    }
    return false
  }

  #numbersIn(block: number): RunCounter {
    const kept = this.#numbersOf.get(block)
    if (kept) return kept
    const counter = new RunCounter()
    counter.add(this.#figures.all(...rangeOf(block)) as unknown as RunFigures[])
    this.#numbersOf.set(block, counter)
    return counter
  }

  #usesIn(kind: UseKind, block: number): SummingUses {
    const kept = this.#usesOf[kind].get(block)
    if (kept) return kept
    const sums = this.#uses.between(kind, ...rangeOf(block))
    sortDurations(sums)
    this.#keep(kind, block, sums)
    return sums
  }

  /** Blocks that there are; what another process changed is not known, so nothing is kept then. */
  *#blocks(): Generator<number> {
    const { data_version: version } = this.#version.get() as { data_version: number }
    if (version !== this.#seenVersion) this.#forget()
    this.#seenVersion = version
    const { first, last } = this.#bounds.get() as { first: number | null; last: number | null }
    if (first === null || last === null) return
    for (let block = blockOf(first); block <= blockOf(last); block++) yield block
  }

  #keep(kind: UseKind, block: number, sums: SummingUses): void {
    const durations = durationsIn(sums)
    if (this.#durations + durations > MOST_DURATIONS) {
      for (const other of USE_KINDS) {
        if (other === kind) continue
        for (const kept of [...this.#usesOf[other].keys()]) this.#drop(other, kept)
      }
    }
    if (this.#durations + durations > MOST_DURATIONS) return
    this.#usesOf[kind].set(block, sums)
    this.#durations += durations
  }

  #drop(kind: UseKind, block: number): void {
    const sums = this.#usesOf[kind].get(block)
    if (!sums) return
    this.#durations -= durationsIn(sums)
    this.#usesOf[kind].delete(block)
  }

  #forget(): void {
    this.#numbersOf.clear()
    for (const kind of USE_KINDS) this.#usesOf[kind].clear()
    this.#durations = 0
  }
}

const blockOf = (run: number): number => Math.floor(run / RUNS_IN_BLOCK)
const rangeOf = (block: number): [number, number] => [block * RUNS_IN_BLOCK, (block + 1) * RUNS_IN_BLOCK - 1]

function durationsIn(sums: SummingUses): number {
  let count = 0
  for (const { durations } of sums.values()) for (const part of durations) count += part.length
  return count
}
