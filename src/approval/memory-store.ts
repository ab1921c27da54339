import type { ExecutionClaim, RunClaim, SettledExecution } from '../gates/index.ts'
import { HookspanError } from '../internal/errors.ts'
import { snapshot } from '../internal/snapshot.ts'
import { type ApprovalRecord, type ApprovalStore, asOf, byAge, isOpen } from './store.ts'

/** Keeps requests as long as the process lives: for tests, and for runs that wait in the process. */
export function memoryStore(): ApprovalStore {
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
    for (const watcher of watchers) watcher(id)
    return { record: next, closed: true }
  }
  return {
    async add(request) {
      const known = records.get(request.id)
      if (known !== undefined) return known
      const record: ApprovalRecord = { request: snapshot(request), status: 'pending' }
      records.set(request.id, record)
      return record
    },
    async get(id) {
      return records.get(id)
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
      return { state: 'run' }
    },
    async settle(id, result) {
      const record = records.get(id)
      if (record?.execution === undefined) throw notAnswered(id)
      results.set(id, snapshot(result))
      records.set(id, { ...record, execution: 'settled' })
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
