/** Does to real stores on a file what happens in a world, and asks them what they know. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { vi } from 'vitest'
import { finish } from '../../../src/viewer/model/in-turns.ts'
import { receiveTraces } from '../../../src/viewer/otlp/receive.ts'
import { Store } from '../../../src/viewer/store/store.ts'
import { compareAnswers } from './answers.ts'
import { NaiveStore } from './naive-store.ts'
import { arriving, otlpLog, requestOf } from './sent.ts'
import { type Act, BEGIN_MS, type Which } from './world.ts'

/** Nothing is left out for want of time: what an answer lacks is told, and is not what is looked at here. */
const ANSWER_MS = 600_000

export class Player {
  readonly #folder = mkdtempSync(join(tmpdir(), 'hookspan-model-'))
  readonly #stores: (Store | undefined)[] = []
  readonly #naive = new NaiveStore()
  #nowMs = BEGIN_MS
  /** What happened, and how runs stood. */
  readonly seen = new Set<string>()

  /** @throws at the first answer that is another than it has to be. */
  play(acts: readonly Act[]): void {
    vi.useFakeTimers({ toFake: ['Date'], now: this.#nowMs })
    try {
      for (const act of acts) this.#do(act)
    } finally {
      vi.useRealTimers()
      for (const store of this.#stores) store?.close()
      rmSync(this.#folder, { recursive: true })
    }
  }

  #store(which: Which): Store {
    this.#stores[which] ??= new Store({ file: join(this.#folder, 'traces.db'), answerMs: ANSWER_MS })
    return this.#stores[which]
  }

  #do(act: Act): void {
    this.#nowMs += 3
    const nowMs = this.#nowMs
    vi.setSystemTime(nowMs)
    this.seen.add(act.what)
    if (act.what === 'closes') {
      this.#stores[act.which]?.close()
      this.#stores[act.which] = undefined
      return
    }
    const store = this.#store(act.which)
    const naive = this.#naive
    switch (act.what) {
      case 'spans': {
        const { items, rejected, reason } = receiveTraces(requestOf(act.groups, act.format), act.format)
        if (rejected > 0) throw new Error(reason)
        store.addSpans(items, nowMs)
        for (const span of act.groups.flatMap((group) => group.spans))
          naive.span(arriving(span, act.format), nowMs)
        break
      }
      case 'logs':
        finish(
          store.addingLogs(
            act.logs.map((log) => ({
              traceId: log.traceId,
              spanId: log.spanId,
              record: otlpLog(log) as never,
            })),
            nowMs,
          ),
        )
        for (const log of act.logs) naive.log(log, nowMs)
        break
      case 'works':
        store.work(act.ms, nowMs)
        break
      case 'indexes':
        for (let step = 0; step < act.steps; step++) store.work(0, nowMs)
        break
      case 'looks':
        store.run(act.traceId, 0, nowMs)
        store.search(act.typed, 1000)
        store.listRuns(act.typed, { limit: 10, offset: 0 }, nowMs)
        store.uses('', 'tool', nowMs)
        break
      case 'removes':
        store.removeRun(act.traceId)
        naive.runs.delete(act.traceId)
        break
      case 'sweeps': {
        const swept = new Store({ file: store.file, maxAgeMs: act.maxAgeMs })
        swept.sweep(nowMs)
        swept.close()
        for (const [traceId, run] of naive.runs)
          if (run.receivedMs < nowMs - act.maxAgeMs) naive.runs.delete(traceId)
        break
      }
      case 'marks': {
        const { mark, note, labels } = act
        store.mark(act.traceId, { mark, note, labels })
        const run = naive.runs.get(act.traceId)
        if (run) run.marks = { mark, note, labels }
        break
      }
      case 'waits':
        this.#nowMs += act.ms
        break
      case 'is asked':
        for (const status of compareAnswers(store, naive, nowMs, act.seed)) this.seen.add(status)
    }
  }
}
