import type { ExecutionClaim, RunClaim, SettledExecution } from '../gates/index.ts'
import { HookspanError } from '../internal/errors.ts'
import { assertFields } from '../internal/expect.ts'
import { snapshot } from '../internal/snapshot.ts'
import {
  type ApprovalRecord,
  type ApprovalStore,
  asOf,
  byAge,
  isOpen,
  isOver,
  RETENTION,
  type Retention,
} from './store.ts'

const DEFAULT_KEEP_MS = 3_600_000

/**
 * Keeps requests in the process, as long as it lives: for tests, and for runs that wait in it.
 *
 * @throws HookspanError `INVALID_OPTION`.
 */
export function memoryStore(options: Retention = {}): ApprovalStore {
  assertFields<Retention>(options, RETENTION, 'memoryStore')
  const { keepMs = DEFAULT_KEEP_MS } = options
  /** Since when each that is over is, the first one first. */
  const overSince = new Map<string, number>()
  const over = (id: string) => {
    overSince.delete(id)
    overSince.set(id, Date.now())
  }
  const forget = () => {
    const until = Date.now() - keepMs
    for (const [id, since] of overSince) {
      if (since >= until) break
      for (const kept of [overSince, records, results]) kept.delete(id)
    }
  }
  const records = new Map<string, ApprovalRecord>()
  const results = new Map<string, SettledExecution>()
  const runs = new Map<string, RunClaim>()
  const watchers = new Set<(id: string) => void>()
  const close = (id: string, change: Partial<ApprovalRecord>, open: (record: ApprovalRecord) => boolean) => {
    const record = records.get(id)
    if (record === undefined) return undefined
    if (!open(record)) return { record, closed: false }
    const next: ApprovalRecord = { ...record, ...change }
    records.set(id, next)
    if (isOver(next.status, next.answer)) over(id)
    for (const watcher of watchers) watcher(id)
    return { record: next, closed: true }
  }
  return {
    async add(request) {
      forget()
      const known = records.get(request.id)
      if (known !== undefined) return known
      const record: ApprovalRecord = { request: snapshot(request), status: 'pending' }
      records.set(request.id, record)
      return record
    },
    async get(id) {
      return records.get(id)
    },
    async closed(ids) {
      return ids.filter((id) => records.get(id)?.status !== 'pending')
    },
    async list({ status, rootOperationId, limit = 100 } = {}, now = undefined) {
      return [...records.values()]
        .map((record) => asOf(record, now))
        .filter((record) => status === undefined || record.status === status)
        .filter(({ request }) => rootOperationId === undefined || request.rootOperationId === rootOperationId)
        .sort(byAge)
        .slice(0, limit)
    },
    async answer(id, answer, now) {
      const change = { status: 'answered', answer: snapshot(answer), closedAt: now } as const
      return close(id, change, (record) => isOpen(record, now))
    },
    async close(id, status, now) {
      return close(id, { status, closedAt: now }, (record) => record.status === 'pending')
    },
    async claim(id): Promise<ExecutionClaim> {
      const record = records.get(id)
      if (record?.status !== 'answered') throw notAnswered(id)
      const result = results.get(id)
      if (result !== undefined) return { state: 'done', result }
      if (record.execution !== undefined) return { state: 'unknown' }
      records.set(id, { ...record, execution: 'claimed' })
      over(id)
      return { state: 'run' }
    },
    async settle(id, result) {
      const record = records.get(id)
      if (record?.execution === undefined) throw notAnswered(id)
      results.set(id, snapshot(result))
      records.set(id, { ...record, execution: 'settled' })
      over(id)
    },
    async claimRun(key): Promise<RunClaim> {
      const known = runs.get(key)
      if (known !== undefined) return known
      runs.set(key, { state: 'held' })
      return { state: 'run' }
    },
    async settleRun(key, result) {
      if (result === undefined) runs.delete(key)
      else runs.set(key, { state: 'done', result: snapshot(result) })
    },
    async watch(onClosed) {
      watchers.add(onClosed)
      return () => void watchers.delete(onClosed)
    },
  }
}

export function notAnswered(id: string): HookspanError {
  return new HookspanError('APPROVAL_NOT_FOUND', `There is no approved request "${id}" to run for.`)
}
