/** Where a run is copied to: the viewer that runs, or the file that it would read. */
import { fromColumns, type RowColumns } from '../../viewer/model/columns.ts'
import type { SpanRow } from '../../viewer/model/span.ts'
import { receiveTraces } from '../../viewer/otlp/receive.ts'
import { defaultDatabaseFile } from '../../viewer/store/open-database.ts'
import { Store } from '../../viewer/store/store.ts'
import { noViewerAt, whoAnswers } from '../../viewer/who-answers.ts'

export interface TargetFlags {
  db?: string
  url?: string
}

export interface PullTarget {
  /** For people. */
  readonly name: string
  /** Of those spans of a run that are there, as far as that may be read. */
  spanIds(traceId: string): Promise<ReadonlySet<string>>
  /** @throws Error where not every span was taken. */
  add(otlpJson: string): Promise<void>
  close(): void
}

const USUAL_URL = 'http://127.0.0.1:4318'

/** @throws Error when the one that is named is no viewer, or one that shows runs of elsewhere. */
export async function openPullTarget({ db, url }: TargetFlags): Promise<PullTarget> {
  if (db !== undefined) return new FileTarget(db)
  const asked = (url ?? USUAL_URL).replace(/\/+$/, '')
  const { name } = (await whoAnswers(asked, url === undefined ? 1_000 : 10_000)) ?? {}
  if (name === 'hookspan-viewer') return new ViewerTarget(asked)
  if (url === undefined) return new FileTarget(defaultDatabaseFile())
  if (name !== 'hookspan-page') throw noViewerAt(url)
  throw new Error(
    `The viewer at ${url} shows runs of elsewhere, read only. Name another with --url, or a file with --db.`,
  )
}

class FileTarget implements PullTarget {
  readonly name: string
  readonly #store: Store

  constructor(file: string) {
    this.name = file
    this.#store = new Store({ file })
  }

  async spanIds(traceId: string): Promise<ReadonlySet<string>> {
    return endedIds(this.#store.run(traceId)?.rows ?? [])
  }

  async add(otlpJson: string): Promise<void> {
    const { items, rejected, reason } = receiveTraces(Buffer.from(otlpJson), 'json')
    this.#store.addSpans(items)
    if (rejected > 0) throw notTaken(rejected, reason)
  }

  close(): void {
    this.#store.close()
  }
}

class ViewerTarget implements PullTarget {
  readonly name: string

  constructor(url: string) {
    this.name = url
  }

  /** Beyond loopback it may be read with its token alone: then all is sent, which changes nothing that is there. */
  async spanIds(traceId: string): Promise<ReadonlySet<string>> {
    const response = await fetch(`${this.name}/api/runs/${traceId}`)
    if (!response.ok) return new Set()
    const { columns } = (await response.json()) as { columns: RowColumns }
    return endedIds(fromColumns(columns))
  }

  async add(otlpJson: string): Promise<void> {
    const response = await fetch(`${this.name}/v1/traces`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: otlpJson,
    })
    const answer = (await response.json().catch(() => ({}))) as {
      message?: string
      partialSuccess?: { rejectedSpans?: string; errorMessage?: string }
    }
    if (!response.ok)
      throw new Error(`The viewer at ${this.name} answered ${response.status}: ${answer.message ?? ''}`)
    const rejected = Number(answer.partialSuccess?.rejectedSpans ?? 0)
    if (rejected > 0) throw notTaken(rejected, answer.partialSuccess?.errorMessage ?? '')
  }

  close(): void {}
}

/** One that is there as it began is there in part. */
function endedIds(rows: readonly Pick<SpanRow, 'spanId' | 'endUs'>[]): ReadonlySet<string> {
  return new Set(rows.filter(({ endUs }) => endUs > 0).map(({ spanId }) => spanId))
}

function notTaken(rejected: number, reason: string): Error {
  return new Error(`${rejected} spans of the run were not taken: ${reason}`)
}
