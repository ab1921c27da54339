/** Everything that happened in a run, one line each, in order of time. */

import { GATE_EVENT, NAMES, readBoolean, readText } from './attributes.ts'
import { oneLine } from './digest.ts'
import { finish, type InTurns } from './in-turns.ts'
import type { Attributes, SpanCategory, SpanRecord, SpanRow } from './span.ts'

export interface LogEntry {
  timeUs: number
  kind: 'start' | 'end' | 'event' | 'gate'
  spanId: string
  category: SpanCategory
  name: string
  text: string
  error: boolean
}

const MAX_TEXT = 240

export function eventLog(rows: readonly SpanRow[], records: Iterable<SpanRecord>): LogEntry[] {
  return finish(logging(rows, records))
}

/** `eventLog`, giving way to others now and then. */
export function* logging(rows: readonly SpanRow[], records: Iterable<SpanRecord>): InTurns<LogEntry[]> {
  const log: LogEntry[] = []
  const byId = new Map<string, SpanRow>()
  for (const row of rows) {
    byId.set(row.spanId, row)
    const base = { spanId: row.spanId, category: row.category, name: row.name }
    log.push({ ...base, timeUs: row.startUs, kind: 'start', text: row.preview, error: false })
    if (row.endUs > 0) {
      const text = row.error ? row.errorText || 'failed' : row.outcome
      log.push({ ...base, timeUs: row.endUs, kind: 'end', text, error: row.error })
    }
  }
  for (const record of records) {
    yield
    const row = byId.get(record.spanId)
    for (const event of record.events) {
      const isGate = event.name === GATE_EVENT
      log.push({
        timeUs: event.timeUs || record.startUs,
        kind: isGate ? 'gate' : 'event',
        spanId: record.spanId,
        category: isGate ? 'gate' : (row?.category ?? 'other'),
        name: isGate ? readText(event.attributes, NAMES.gateId) : event.name,
        text: isGate ? gateText(event.attributes) : attributesText(event.attributes),
        error: event.name === 'exception',
      })
    }
  }
  const order = { start: 0, gate: 1, event: 1, end: 2 }
  return log.sort((a, b) => a.timeUs - b.timeUs || order[a.kind] - order[b.kind])
}

function gateText(attributes: Attributes): string {
  const enforced = readBoolean(attributes, NAMES.gateEnforced) === false ? '(shadow)' : ''
  return [
    readText(attributes, NAMES.gateDecision).replace('_', ' '),
    readText(attributes, NAMES.gateCode),
    enforced,
  ]
    .filter(Boolean)
    .join(' ')
}

function attributesText(attributes: Attributes): string {
  const pairs = Object.entries(attributes).map(
    ([key, value]) =>
      `${key}=${typeof value === 'string' ? value.slice(0, MAX_TEXT) : JSON.stringify(value)}`,
  )
  return oneLine(pairs.join(' '), MAX_TEXT)
}
