/**
 * The runs list's query language: words are searched for in every span; `key:value`, `key>value`, `key<value`,
 * `key>=value` and `key<=value` narrow by what the list shows. `-` before any of them excludes. What is not understood is searched for as words.
 */

import type { RunStatus, RunSummary } from '../model/span.ts'
import { columnOf } from './run-columns.ts'

export interface Filter {
  where: string[]
  params: (string | number)[]
  /** What to search for in the spans, empty for nothing. */
  text: string
}

const TEXT_KEYS: Record<string, keyof RunSummary> = {
  status: 'status',
  agent: 'agents',
  service: 'service',
  model: 'models',
  tool: 'tools',
  reason: 'reason',
  conversation: 'conversationId',
  conv: 'conversationId',
  trace: 'traceId',
  title: 'title',
}
/** By the sum of the columns. */
const NUMBER_KEYS: Record<string, { of: (keyof RunSummary)[]; unit: (value: string) => number }> = {
  duration: { of: ['durationMs'], unit: durationMs },
  tokens: { of: ['inputTokens', 'outputTokens'], unit: scaled },
  input: { of: ['inputTokens'], unit: scaled },
  output: { of: ['outputTokens'], unit: scaled },
  cached: { of: ['cachedTokens'], unit: scaled },
  cost: { of: ['costUsd'], unit: (value) => Number(value.replace('$', '')) },
  errors: { of: ['errors'], unit: Number },
  mocked: { of: ['mockedCalls'], unit: Number },
  waiting: { of: ['waiting'], unit: Number },
  steps: { of: ['steps'], unit: Number },
  calls: { of: ['toolCalls'], unit: Number },
  spans: { of: ['spans'], unit: scaled },
}
/** As people call them, beside the names that JSON has. Who is done may have had errors on the way. */
const STATUSES: ReadonlyMap<string, readonly RunStatus[]> = new Map([
  ['done', ['ok', 'with_errors']],
  ['error', ['failed']],
  ['with-errors', ['with_errors']],
  ['with errors', ['with_errors']],
])
const YES = new Set(['yes', 'true', 'y'])
const NO = new Set(['no', 'false', 'n'])

export function parseFilter(query: string, nowMs: number = Date.now()): Filter {
  const filter: Filter = { where: [], params: [], text: '' }
  const words: string[] = []
  for (const term of query.match(/-?[a-z]+(?:[<>]=|[:<>])"[^"]*"|"[^"]*"|\S+/gi) ?? []) {
    if (!narrow(filter, term, nowMs)) words.push(term.replaceAll('"', ''))
  }
  filter.text = words.join(' ')
  return filter
}

function narrow(filter: Filter, term: string, nowMs: number): boolean {
  const parts = /^(-?)([a-z]+)([<>]=|[:<>])(.+)$/i.exec(term)
  if (!parts) return false
  const [, minus, rawKey, operator, quoted] = parts as unknown as [string, string, string, string, string]
  const key = rawKey.toLowerCase()
  const value = quoted.replaceAll('"', '')
  const add = (condition: string, ...params: (string | number)[]) => {
    filter.where.push(minus ? `NOT (${condition})` : `(${condition})`)
    filter.params.push(...params)
    return true
  }
  if (key === 'since') {
    const ms = durationMs(value)
    return Number.isFinite(ms) && add('start_us >= ?', (nowMs - ms) * 1000)
  }
  if (Object.hasOwn(TEXT_KEYS, key) && operator === ':') {
    const column = columnOf(TEXT_KEYS[key]!)
    const wanted = key === 'status' ? (STATUSES.get(value.toLowerCase()) ?? [value]) : [value]
    const like = wanted.map(() => `${column} LIKE ? ESCAPE '\\'`).join(' OR ')
    return add(like, ...wanted.map((one) => likePattern(key, one)))
  }
  if (!Object.hasOwn(NUMBER_KEYS, key)) return false
  const { of, unit } = NUMBER_KEYS[key]!
  const column = `(${of.map(columnOf).join(' + ')})`
  if (operator === ':' && (YES.has(value) || NO.has(value)))
    return add(`${column} ${YES.has(value) ? '>' : '='} 0`)
  const number = unit(value)
  return Number.isFinite(number) && add(`${column} ${operator === ':' ? '=' : operator} ?`, number)
}

/** `*` stands for anything; without one, names match anywhere and states match whole. */
function likePattern(key: string, value: string): string {
  const escaped = value.replace(/[\\%_]/g, '\\$&').replaceAll('*', '%')
  return key === 'status' || key === 'reason' ? escaped : `%${escaped}%`
}

function durationMs(value: string): number {
  const parts = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)?$/.exec(value)
  if (!parts) return Number.NaN
  const scale = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }[parts[2] ?? 'ms']!
  return Number(parts[1]) * scale
}

function scaled(value: string): number {
  const parts = /^(\d+(?:\.\d+)?)(k|m)?$/i.exec(value)
  if (!parts) return Number.NaN
  return Number(parts[1]) * ({ k: 1000, m: 1_000_000 }[(parts[2] ?? '').toLowerCase()] ?? 1)
}
