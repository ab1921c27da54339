import type { CheckpointStore, CheckpointWrite } from 'hookspan/agent'

interface Kept {
  readonly records: string[]
  about: string
  token?: string
}

/** A store of checkpoints that a user may have written: the four functions, in memory. */
export class KeptRuns implements CheckpointStore {
  readonly runs = new Map<string, Kept>()
  /** Told before each record is kept; what it throws keeps it from being kept. */
  onAppend: (write: CheckpointWrite, number: number) => void = () => {}

  async claim(operationId: string) {
    const run = this.runs.get(operationId) ?? { records: [], about: '{}' }
    if (run.token !== undefined) return { state: 'held' as const }
    this.runs.set(operationId, run)
    run.token = crypto.randomUUID()
    return { state: 'claimed' as const, token: run.token, records: [...run.records] }
  }

  async append(operationId: string, token: string, write: CheckpointWrite) {
    const run = this.#of(operationId, token)
    if (run === undefined) throw new Error('held by another')
    this.onAppend(write, run.records.length)
    run.records.push(write.record)
    run.about = write.about
  }

  async release(operationId: string, token: string, { finished }: { finished: boolean }) {
    const run = this.#of(operationId, token)
    if (run === undefined) return
    delete run.token
    if (finished || run.records.length === 0) this.runs.delete(operationId)
  }

  async list() {
    return [...this.runs].map(([operationId, { about, token }]) => {
      return { operationId, savedAt: 0, held: token !== undefined, about }
    })
  }

  #of(operationId: string, token: string): Kept | undefined {
    const run = this.runs.get(operationId)
    return run?.token === token ? run : undefined
  }

  /** What another process finds when the one that had the run died after so many records. */
  static after(records: readonly string[], operationId: string): KeptRuns {
    const store = new KeptRuns()
    store.runs.set(operationId, { records: [...records], about: '{}' })
    return store
  }
}
