/** Reads runs and spans out of the tables. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { readText } from '../model/attributes.ts'
import type { DigestDetail } from '../model/digest.ts'
import type { Attributes, RunSummary, SpanCategory, SpanRecord, SpanRow } from '../model/span.ts'
import { logAsEvent, plainAttributes, plainSpan } from '../otlp/plain.ts'
import type { OtlpLogRecord, OtlpResource, OtlpScope, OtlpSpan } from '../otlp/types.ts'
import { parseFilter } from './filter.ts'
import { mayStillEnd } from './liveness.ts'
import { type Payload, unpackSpan } from './payload.ts'

export interface RunKey {
  id: number
  traceId: string
  receivedMs: number
  /** Spans came since the run was last summarised. */
  dirty: boolean
}

export interface RunList {
  runs: RunSummary[]
  total: number
}

export interface SearchHit {
  traceId: string
  spanId: string
  name: string
  category: SpanCategory
  startUs: number
}

interface OriginFacts {
  resource: Attributes
  service: string
  otlpResource: OtlpResource
  otlpScope: OtlpScope
}

const RUN_COLUMNS = `trace_id, start_us, end_us, duration_ms, status, title, agent, service, model, conversation_id, reason,
  input_preview, spans, steps, llm_calls, tool_calls, mocked_calls, errors, waiting, input_tokens, output_tokens,
  cached_tokens, cost_usd, agents, tools, models`
const ROW_COLUMNS = `span_id, parent_id, seq, origin, name, category, start_us, end_us, error, label, input_tokens,
  output_tokens, cached_tokens, reasoning_tokens, cost_usd, outcome, mocked, call_id, preview, detail`

export class Reader {
  readonly #db: DatabaseSync
  readonly #findRun: StatementSync
  readonly #rows: StatementSync
  readonly #payload: StatementSync
  readonly #payloads: StatementSync
  readonly #logs: StatementSync
  readonly #origin: StatementSync
  readonly #origins = new Map<number, OriginFacts>()

  constructor(db: DatabaseSync) {
    this.#db = db
    this.#findRun = db.prepare(
      'SELECT id, trace_id, received_ms, dirty FROM run WHERE trace_id >= ? AND trace_id < ? LIMIT 2',
    )
    this.#rows = db.prepare(`SELECT ${ROW_COLUMNS} FROM span WHERE run = ? AND seq > ? ORDER BY start_us`)
    this.#payload = db.prepare('SELECT payload, origin FROM span WHERE run = ? AND span_id = ?')
    this.#payloads = db.prepare('SELECT payload, origin FROM span WHERE run = ? ORDER BY start_us')
    this.#logs = db.prepare('SELECT payload FROM log WHERE run = ? AND span_id = ? ORDER BY id')
    this.#origin = db.prepare('SELECT resource, scope FROM origin WHERE id = ?')
  }

  /** By the whole trace id or the unambiguous beginning of one. */
  findRun(traceId: string): RunKey | undefined {
    const prefix = traceId.toLowerCase()
    if (!/^[0-9a-f]{4,32}$/.test(prefix)) return undefined
    const found = this.#findRun.all(prefix, `${prefix}g`) as unknown as StoredKey[]
    return found.length === 1 ? runKey(found[0]!) : undefined
  }

  waitingTraceOf(callId: string): string | undefined {
    const found = this.#db
      .prepare(
        `SELECT trace_id FROM run JOIN span ON span.run = run.id
         WHERE run.status = 'waiting' AND span.call_id = ? ORDER BY run.id DESC LIMIT 1`,
      )
      .get(callId) as { trace_id: string } | undefined
    return found?.trace_id
  }

  rows(run: RunKey, nowMs: number, sinceSeq = 0): { rows: SpanRow[]; seq: number } {
    const stored = this.#rows.all(run.id, sinceSeq) as unknown as StoredRow[]
    // A recording sent today is not running today: what counts is when its newest span was.
    const newestMs = stored.reduce((newest, row) => Math.max(newest, row.start_us, row.end_us), 0) / 1000
    const silentMs = nowMs - Math.min(run.receivedMs, newestMs)
    const rows = stored.map((row) => this.#row(row, silentMs))
    const seq = stored.reduce((most, row) => Math.max(most, row.seq), sinceSeq)
    return { rows, seq }
  }

  #row(stored: StoredRow, silentMs: number): SpanRow {
    const origin = this.#originOf(stored.origin)
    const detail = stored.detail ? (JSON.parse(stored.detail) as DigestDetail) : undefined
    return {
      spanId: stored.span_id,
      parentSpanId: stored.parent_id,
      name: stored.name,
      category: stored.category as SpanCategory,
      startUs: stored.start_us,
      endUs: stored.end_us,
      state: stored.end_us > 0 ? 'ended' : mayStillEnd(origin.resource, silentMs) ? 'running' : 'interrupted',
      error: stored.error === 1,
      label: stored.label,
      service: origin.service,
      inputTokens: stored.input_tokens,
      outputTokens: stored.output_tokens,
      cachedTokens: stored.cached_tokens,
      reasoningTokens: stored.reasoning_tokens,
      costUsd: stored.cost_usd,
      outcome: stored.outcome,
      mocked: stored.mocked === 1,
      callId: stored.call_id,
      preview: stored.preview,
      errorText: detail?.errorText ?? '',
      gates: detail?.gates,
      compaction: detail?.compaction,
      human: detail?.human,
    }
  }

  /** The whole span, its logs among its events. */
  span(run: RunKey, spanId: string): SpanRecord | undefined {
    const stored = this.#payload.get(run.id, spanId) as StoredPayload | undefined
    return stored && this.#record(run, stored)
  }

  *records(run: RunKey): Generator<SpanRecord> {
    for (const stored of this.#payloads.all(run.id) as unknown as StoredPayload[])
      yield this.#record(run, stored)
  }

  /** The spans as they were sent, for export. */
  *otlpSpans(
    run: RunKey,
  ): Generator<{ originId: number; resource: OtlpResource; scope: OtlpScope; span: OtlpSpan }> {
    for (const stored of this.#payloads.all(run.id) as unknown as StoredPayload[]) {
      const origin = this.#originOf(stored.origin)
      yield {
        originId: stored.origin,
        resource: origin.otlpResource,
        scope: origin.otlpScope,
        span: unpackSpan(stored.payload),
      }
    }
  }

  otlpLogs(run: RunKey): OtlpLogRecord[] {
    const logs = this.#db.prepare('SELECT payload FROM log WHERE run = ? ORDER BY id').all(run.id) as {
      payload: string
    }[]
    return logs.map((log) => JSON.parse(log.payload) as OtlpLogRecord)
  }

  #record(run: RunKey, stored: StoredPayload): SpanRecord {
    const origin = this.#originOf(stored.origin)
    const record = plainSpan(unpackSpan(stored.payload), origin.otlpResource, origin.otlpScope)
    const logs = this.#logs.all(run.id, record.spanId) as { payload: string }[]
    for (const log of logs) record.events.push(logAsEvent(JSON.parse(log.payload) as OtlpLogRecord))
    if (logs.length > 0) record.events.sort((a, b) => a.timeUs - b.timeUs)
    return record
  }

  listRuns(query: string, page: { limit: number; offset: number }): RunList {
    const filter = parseFilter(query)
    const where = [...filter.where]
    const params = [...filter.params]
    if (filter.match) {
      where.push(
        'id IN (SELECT DISTINCT span.run FROM text JOIN span ON span.id = text.rowid WHERE text MATCH ?)',
      )
      params.push(filter.match)
    }
    const condition = where.length > 0 ? `WHERE ${where.join(' AND ')}` : ''
    const total = this.#db.prepare(`SELECT count(*) AS count FROM run ${condition}`).get(...params) as {
      count: number
    }
    const rows = this.#db
      .prepare(`SELECT ${RUN_COLUMNS} FROM run ${condition} ORDER BY start_us DESC LIMIT ? OFFSET ?`)
      .all(...params, page.limit, page.offset) as unknown as StoredRun[]
    return { runs: rows.map(summaryOf), total: total.count }
  }

  summary(run: RunKey): RunSummary {
    return summaryOf(
      this.#db.prepare(`SELECT ${RUN_COLUMNS} FROM run WHERE id = ?`).get(run.id) as unknown as StoredRun,
    )
  }

  /** Spans that hold every word of what was typed, newest first; in one run when `run` is given. */
  search(match: string, limit: number, run?: RunKey): SearchHit[] {
    if (!match) return []
    const inRun = run ? 'AND span.run = ?' : ''
    const params = run ? [match, run.id, limit] : [match, limit]
    const hits = this.#db
      .prepare(
        `SELECT run.trace_id AS traceId, span.span_id AS spanId, span.name, span.category, span.start_us AS startUs
         FROM text JOIN span ON span.id = text.rowid JOIN run ON run.id = span.run
         WHERE text MATCH ? ${inRun} ORDER BY text.rowid DESC LIMIT ?`,
      )
      .all(...params)
    return hits as unknown as SearchHit[]
  }

  #originOf(id: number): OriginFacts {
    const known = this.#origins.get(id)
    if (known) return known
    const stored = this.#origin.get(id) as { resource: string; scope: string } | undefined
    const otlpResource = stored ? (JSON.parse(stored.resource) as OtlpResource) : {}
    const resource = plainAttributes(otlpResource.attributes)
    const facts: OriginFacts = {
      resource,
      service: readText(resource, 'serviceName'),
      otlpResource,
      otlpScope: stored ? (JSON.parse(stored.scope) as OtlpScope) : {},
    }
    if (this.#origins.size >= 1000) this.#origins.clear()
    this.#origins.set(id, facts)
    return facts
  }
}

export interface StoredKey {
  id: number
  trace_id: string
  received_ms: number
  dirty: number
}

export function runKey(row: StoredKey): RunKey {
  return { id: row.id, traceId: row.trace_id, receivedMs: row.received_ms, dirty: row.dirty === 1 }
}

interface StoredPayload {
  payload: Payload
  origin: number
}

type StoredRow = Record<string, never> & {
  span_id: string
  parent_id: string
  seq: number
  origin: number
  name: string
  category: string
  start_us: number
  end_us: number
  error: number
  label: string
  input_tokens: number
  output_tokens: number
  cached_tokens: number
  reasoning_tokens: number
  cost_usd: number
  outcome: string
  mocked: number
  call_id: string
  preview: string
  detail: string | null
}

interface StoredRun {
  trace_id: string
  start_us: number
  end_us: number
  duration_ms: number
  status: string
  title: string
  agent: string
  service: string
  model: string
  conversation_id: string
  reason: string
  input_preview: string
  spans: number
  steps: number
  llm_calls: number
  tool_calls: number
  mocked_calls: number
  errors: number
  waiting: number
  input_tokens: number
  output_tokens: number
  cached_tokens: number
  cost_usd: number
  agents: string
  tools: string
  models: string
}

function summaryOf(row: StoredRun): RunSummary {
  return {
    traceId: row.trace_id,
    title: row.title,
    agent: row.agent,
    service: row.service,
    model: row.model,
    conversationId: row.conversation_id,
    status: row.status as RunSummary['status'],
    reason: row.reason,
    inputPreview: row.input_preview,
    startUs: row.start_us,
    endUs: row.end_us,
    durationMs: row.duration_ms,
    spans: row.spans,
    steps: row.steps,
    llmCalls: row.llm_calls,
    toolCalls: row.tool_calls,
    mockedCalls: row.mocked_calls,
    errors: row.errors,
    waiting: row.waiting,
    inputTokens: row.input_tokens,
    outputTokens: row.output_tokens,
    cachedTokens: row.cached_tokens,
    costUsd: row.cost_usd,
    agents: JSON.parse(row.agents) as string[],
    tools: JSON.parse(row.tools) as string[],
    models: JSON.parse(row.models) as string[],
  }
}
