/** The viewer that served the page. */

import type { ApprovalOutcome, ApprovalReply, WaitingRequest } from '../../src/viewer/model/approval.ts'
import type { ApprovalContext } from '../../src/viewer/model/approval-context.ts'
import { fromColumns, type RowColumns } from '../../src/viewer/model/columns.ts'
import type { Conversation } from '../../src/viewer/model/conversation-items.ts'
import type { CutSpan } from '../../src/viewer/model/cut.ts'
import type { LogEntry } from '../../src/viewer/model/event-log.ts'
import type { LintReport } from '../../src/viewer/model/lint.ts'
import type { RunDiff } from '../../src/viewer/model/run-diff.ts'
import type { RunNumbers } from '../../src/viewer/model/run-numbers.ts'
import type { RunActs } from '../../src/viewer/model/run-steps.ts'
import type { UseKind, UseSums } from '../../src/viewer/model/run-uses.ts'
import type { Seen } from '../../src/viewer/model/seen.ts'
import type { SetDiff } from '../../src/viewer/model/set-diff.ts'
import type { Snippet } from '../../src/viewer/model/snippet.ts'
import type { Marking } from '../../src/viewer/model/span.ts'
import { noteDate } from './clock.ts'
import {
  type Found,
  type LiveEvent,
  NO_ANSWER,
  type RunData,
  type RunPage,
  type Source,
  type Status,
} from './source.ts'

export class OnlineSource implements Source {
  readonly offline = false
  #token: string
  #expected: { traceId: string; data: Promise<RunData> } | undefined
  /** The beginning of a conversation that came with the page. */
  #firstWords: { traceId: string; words: Conversation } | undefined

  constructor(token: string) {
    this.#token = token
  }

  /** Takes the rows that came with the page, or the run that was asked for with it, or asks before the page is drawn. */
  expect(traceId: string): void {
    const inside = document.getElementById('run-in-sight')
    if (inside) {
      const data = Promise.resolve(runOf(JSON.parse(inside.textContent ?? '') as RunReply))
      this.#expected = { traceId, data }
      const words = document.getElementById('first-words')?.textContent
      if (words) this.#firstWords = { traceId, words: JSON.parse(words) as Conversation }
      return
    }
    const path = `/api/runs/${traceId}?since=0`
    const isAhead = document.querySelector(`link[rel="preload"][href="${path}"]`) !== null
    // With other headers it would be another request.
    const data = (isAhead ? this.#reply(fetch(path)) : this.#ask(path, {})).then(async (response) =>
      runOf((await response.json()) as RunReply),
    )
    data.catch(() => {})
    this.#expected = { traceId, data }
  }

  readonly readOnly = document.querySelector<HTMLMetaElement>('meta[name="read-only"]')?.content ?? ''

  get mayChange(): boolean {
    return this.#token !== '' && this.readOnly === ''
  }

  status = () => this.#get<Status>('/api/status')
  runs = (query: string, limit: number, sort: string) =>
    this.#get<RunPage>(`/api/runs?q=${encodeURIComponent(query)}&limit=${limit}&sort=${sort}`)
  numbers = (query: string) => this.#get<RunNumbers>(`/api/numbers?q=${encodeURIComponent(query)}`)
  uses = (query: string, kind: UseKind) =>
    this.#get<UseSums>(`/api/uses/${kind}?q=${encodeURIComponent(query)}`)
  diffSets = (a: string, b: string) =>
    this.#get<SetDiff>(`/api/sets?a=${encodeURIComponent(a)}&b=${encodeURIComponent(b)}`)
  firstWords(traceId: string): Conversation | undefined {
    const came = this.#firstWords
    this.#firstWords = undefined
    return came && traceId.startsWith(came.traceId) ? came.words : undefined
  }

  async conversation(traceId: string, first = 0): Promise<Conversation> {
    return this.#get<Conversation>(`/api/runs/${traceId}/conversation${first > 0 ? `?first=${first}` : ''}`)
  }
  seen = (traceId: string, spanId: string, all = false) =>
    this.#get<Seen>(`/api/runs/${traceId}/spans/${spanId}/seen${all ? '?all=1' : ''}`)
  events = (traceId: string) => this.#get<LogEntry[]>(`/api/runs/${traceId}/events`)
  lint = (traceId: string) => this.#get<LintReport>(`/api/runs/${traceId}/lint`)
  diff = (a: string, b: string) => this.#get<RunDiff>(`/api/diff?a=${a}&b=${b}`)
  acts = async (traceIds: readonly string[]) =>
    (await this.#get<{ runs: RunActs[] }>(`/api/acts?runs=${traceIds.join()}`)).runs
  span = (traceId: string, spanId: string, full = false) =>
    this.#get<CutSpan>(`/api/runs/${traceId}/spans/${spanId}${full ? '?full=1' : ''}`)

  async run(traceId: string, since: number): Promise<RunData> {
    const expected = this.#expected
    this.#expected = undefined
    if (expected?.traceId === traceId && since === 0) return expected.data
    return runOf(await this.#get<RunReply>(`/api/runs/${traceId}?since=${since}`))
  }

  async search(text: string, traceId: string): Promise<Found> {
    const reply = await this.#get<{ hits: { spanId: string }[]; indexing: number }>(
      `/api/search?q=${encodeURIComponent(text)}&run=${traceId}&limit=1000`,
    )
    return { spanIds: reply.hits.map((hit) => hit.spanId), indexing: reply.indexing }
  }

  async snippets(query: string, traceIds: readonly string[]): Promise<Record<string, Snippet>> {
    const reply = await this.#get<{ snippets: Record<string, Snippet> }>(
      `/api/snippets?q=${encodeURIComponent(query)}&runs=${traceIds.join()}`,
    )
    return reply.snippets
  }

  async remove(traceId: string): Promise<void> {
    await this.#ask(`/api/runs/${traceId}`, { method: 'DELETE' })
  }

  async mark(traceId: string, marking: Marking): Promise<void> {
    await this.#ask(`/api/runs/${traceId}/marks`, { method: 'PUT', body: JSON.stringify(marking) })
  }

  async markdown(traceId: string): Promise<string> {
    return (await this.#get<{ markdown: string }>(`/api/runs/${traceId}/markdown`)).markdown
  }

  async importTraces(text: string) {
    const response = await this.#ask('/api/import', { method: 'POST', body: text })
    return (await response.json()) as { runs: string[]; rejected: number; reason: string }
  }

  approvals = () => this.#get<{ requests: WaitingRequest[]; approver?: string }>('/api/approvals')
  approvalContext = (id: string) =>
    this.#get<ApprovalContext>(`/api/approvals/${encodeURIComponent(id)}/context`)

  outcome = (id: string) => this.#get<ApprovalOutcome>(`/api/approvals/${encodeURIComponent(id)}`)

  async respond(id: string, reply: ApprovalReply): Promise<ApprovalOutcome> {
    const body = JSON.stringify(reply)
    const response = await this.#ask(`/api/approvals/${encodeURIComponent(id)}/respond`, {
      method: 'POST',
      body,
    })
    return (await response.json()) as ApprovalOutcome
  }

  /**
   * Server-sent events by hand: `EventSource` cannot send the token. A page that nobody sees does not hear which runs changed; once it
   * is seen it is connected anew.
   */
  live(onEvent: (event: LiveEvent) => void): () => void {
    const stop = new AbortController()
    let turned = new AbortController()
    document.addEventListener('visibilitychange', () => turned.abort(), { signal: stop.signal })
    const listen = async () => {
      while (!stop.signal.aborted) {
        turned = new AbortController()
        const signal = AbortSignal.any([stop.signal, turned.signal])
        try {
          const response = await this.#ask(document.hidden ? '/api/live?hidden' : '/api/live', { signal })
          onEvent({ type: 'connected' })
          let rest = ''
          const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
          for (;;) {
            const { done, value } = await reader.read()
            if (done) break
            rest += value
            const lines = rest.split('\n')
            rest = lines.pop() ?? ''
            for (const line of lines)
              if (line.startsWith('data: ')) onEvent(JSON.parse(line.slice(6)) as LiveEvent)
          }
        } catch {
          // The viewer went away; it is asked again until it is back.
        }
        if (stop.signal.aborted) return
        if (turned.signal.aborted) continue
        onEvent({ type: 'disconnected' })
        await new Promise((resolve) => setTimeout(resolve, 1000))
      }
    }
    void listen()
    return () => stop.abort()
  }

  async #get<T>(path: string): Promise<T> {
    return (await (await this.#ask(path, {})).json()) as T
  }

  async #ask(path: string, init: RequestInit): Promise<Response> {
    const headers = this.#token ? { authorization: `Bearer ${this.#token}` } : undefined
    return this.#reply(fetch(path, { ...init, headers }))
  }

  async #reply(asked: Promise<Response>): Promise<Response> {
    const response = await asked.catch(() => {
      throw new Error(NO_ANSWER)
    })
    noteDate(response.headers.get('date'))
    // Of a viewer that was here before: reading goes on without.
    if (response.status === 401) this.#token = ''
    if (response.status === 431) throw new Error('What is searched for is too long.')
    if (!response.ok) {
      const reply = (await response.json().catch(() => ({}))) as { error?: string }
      throw new Error(reply.error ?? `The viewer answered ${response.status}.`)
    }
    return response
  }
}

type RunReply = Omit<RunData, 'rows'> & { columns: RowColumns }

function runOf({ columns, ...run }: RunReply): RunData {
  return { ...run, rows: fromColumns(columns) }
}
