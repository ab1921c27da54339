/**
 * The runs list's query language: words are searched for in every span; `key:value`, `key>value`, `key<value`,
 * `key>=value` and `key<=value` narrow by what the list shows. `-` before any of them excludes. What is not understood is
 * searched for as words, and said.
 */

import { nearestName } from '../../internal/nearest-name.ts'
import { lengthMs, timeMs } from '../../internal/when.ts'
import { QUERY_KEYS, SORT_KEYS } from '../model/query-keys.ts'
import { USE_KINDS } from '../model/run-uses.ts'
import { RUN_STATUSES, type RunStatus } from '../model/span.ts'
import { columnOf, isList } from './run-columns.ts'
import { wordQuery } from './words.ts'

export interface Filter {
  where: string[]
  params: (string | number)[]
  /** What to search for in the spans, empty for nothing. */
  text: string
  /** What looked like `key:value` and was searched for as words: a sentence each. */
  problems: string[]
  /** What of it narrows where runs are looked for, where they are fetched from elsewhere. */
  bounds: FilterBounds
}

export interface FilterBounds {
  /** When runs started: from then on, and before then. */
  fromMs?: number
  toMs?: number
  /** Of each, a part of its name, or the whole with `*` for anything. All of them have to fit. */
  services: string[]
}

/** As people call them, beside the names that JSON has. Who is done may have had errors on the way. */
const STATUSES: ReadonlyMap<string, readonly RunStatus[]> = new Map([
  ['done', ['ok', 'with_errors']],
  ['error', ['failed']],
  ['with-errors', ['with_errors']],
  ['with errors', ['with_errors']],
])
/** What of a key's values is not stored as it is written. */
const WORDS: Readonly<Record<string, ReadonlyMap<string, readonly string[]>>> = {
  status: STATUSES,
  mark: new Map([['none', ['']]]),
}
/** Keys that know all their values: of them several are taken, with commas between them. */
const CHOICES: Readonly<Record<string, readonly string[]>> = {
  status: [...RUN_STATUSES, ...STATUSES.keys()],
  mark: ['good', 'bad', 'none'],
}
/** Of each resource that spans of the run came from, once. */
const OF_RESOURCE = `EXISTS (
  SELECT 1 FROM origin, json_each(origin.resource, '$.attributes') AS pair
  WHERE origin.id IN (SELECT chunk.origin FROM chunk WHERE chunk.run = run.id) AND json_extract(pair.value, '$.key') = ?
    AND coalesce(json_extract(pair.value, '$.value.stringValue'), json_extract(pair.value, '$.value.intValue'),
      json_extract(pair.value, '$.value.doubleValue'),
      iif(json_extract(pair.value, '$.value.boolValue'), 'true', 'false')) LIKE ? ESCAPE '\\')`
const USE_KEY = new RegExp(`^(${USE_KINDS.join('|')})\\.`)
/** Their values match whole. */
const WHOLE = new Set(['status', 'reason', 'resource', 'mark'])
const YES = new Set(['yes', 'true', 'y'])
const NO = new Set(['no', 'false', 'n'])

interface Term {
  readonly term: string
  readonly minus: string
  readonly key: string
  readonly operator: string
  readonly value: string
}

export function parseFilter(query: string, nowMs: number = Date.now()): Filter {
  const filter: Filter = { where: [], params: [], text: '', problems: [], bounds: { services: [] } }
  const words: string[] = []
  for (const term of query.match(/-?[a-z.]+(?:[<>]=|[:<>])"[^"]*"|"[^"]*"|\S+/gi) ?? []) {
    if (!narrow(filter, term, nowMs)) words.push(term.replaceAll('"', ''))
  }
  filter.text = words.join(' ')
  if (hasSignsAlone(filter.text))
    filter.problems.push(`${filter.text}: words are searched for, of letters and digits. It narrows nothing.`)
  return filter
}

/** Not of what may be the beginning of a term. */
function hasSignsAlone(text: string): boolean {
  return /[^\s-]/.test(text) && wordQuery(text) === undefined
}

/** False when the term is to be searched for as words. */
function narrow(filter: Filter, term: string, nowMs: number): boolean {
  const parts = /^(-?)([a-z]+(?:\.[a-z]+)?)([<>]=|[:<>])(.+)$/is.exec(term)
  if (!parts) return false
  const [, minus, rawKey, operator, quoted] = parts as unknown as [string, string, string, string, string]
  const key = rawKey.toLowerCase()
  const asked: Term = { term, minus, key, operator, value: quoted.replaceAll('"', '') }
  const found = conditionOf(asked, nowMs)
  if (typeof found === 'string') {
    filter.problems.push(found)
    return false
  }
  if (found === undefined) return false
  filter.where.push(minus ? `NOT (${found.condition})` : `(${found.condition})`)
  filter.params.push(...found.params)
  if (!minus) narrowBounds(filter.bounds, asked, nowMs)
  return true
}

function narrowBounds(bounds: FilterBounds, { key, value }: Term, nowMs: number): void {
  const known = QUERY_KEYS[key]
  if (key === 'service') bounds.services.push(value)
  if (known?.kind !== 'time') return
  const ms = timeUs(known.bound, value, nowMs) / 1000
  if (known.bound === 'to') bounds.toMs = Math.min(bounds.toMs ?? ms, ms)
  else bounds.fromMs = Math.max(bounds.fromMs ?? ms, ms)
}

/** A sentence where it is not understood. Undefined for what only looks like a key, such as a URL. */
function conditionOf(
  asked: Term,
  nowMs: number,
): { condition: string; params: (string | number)[] } | string | undefined {
  const { key, operator, value, term } = asked
  const known = Object.hasOwn(QUERY_KEYS, key) ? QUERY_KEYS[key] : undefined
  if (known === undefined) {
    // An address, or the name and port of a host.
    if (value.startsWith('//') || (key.includes('.') && !USE_KEY.test(key))) return undefined
    const nearest = nearestName(key, Object.keys(QUERY_KEYS))
    return `"${key}" is no key${nearest ? `; did you mean ${nearest}${operator}${value}?` : '.'} It is searched for as words.`
  }
  if (known.kind === 'time') {
    const startUs = operator === ':' ? timeUs(known.bound, value, nowMs) : Number.NaN
    const wants =
      known.bound === 'ago'
        ? 'a length of time, such as 90s, 30m, 2h, 7d or 2w'
        : 'a time, such as 2026-11-22T10:00'
    if (!Number.isFinite(startUs)) return `${term}: ${key}: wants ${wants}. It is searched for as words.`
    return { condition: `start_us ${known.bound === 'to' ? '<' : '>='} ?`, params: [startUs] }
  }
  if (known.kind === 'use' || known.kind === 'useError') {
    if (operator !== ':')
      return `${term}: ${key} takes a name, write ${key}:${value}. It is searched for as words.`
    const fits = value.includes('*') ? "LIKE ? ESCAPE '\\'" : '= ?'
    const did =
      known.kind === 'use'
        ? `run_use.name ${fits} AND run_use.${columnOf(known.count)} > 0`
        : `EXISTS (SELECT 1 FROM json_each(run_use.errors) AS error
            WHERE run_use.name || ': ' || json_extract(error.value, '$[0]') ${fits})`
    return {
      condition: `EXISTS (SELECT 1 FROM run_use WHERE run_use.run = run.id AND run_use.kind = ? AND ${did})`,
      params: [known.use, value.includes('*') ? likePattern(key, value) : value],
    }
  }
  if (known.kind === 'resource') {
    const [, name, wanted] = /^([^=]+)=(.+)$/.exec(value) ?? []
    if (operator !== ':' || name === undefined || wanted === undefined)
      return `${term}: ${key} wants a name and a value, such as resource:service.version=1.4. It is searched for as words.`
    return { condition: OF_RESOURCE, params: [name, likePattern(key, wanted)] }
  }
  if (known.kind === 'text') {
    if (operator !== ':')
      return `${term}: ${key} is text, write ${key}:${value}. It is searched for as words.`
    const choices = CHOICES[key]
    const asked = choices ? value.split(',') : [value]
    for (const one of choices ? asked : []) {
      const lower = one.toLowerCase()
      if (one.includes('*') || choices!.includes(lower)) continue
      const nearest = choices!.find((choice) => choice.startsWith(lower)) ?? nearestName(one, choices!)
      return `"${one}" is no ${key} (${known.says})${nearest ? `; did you mean ${key}:${nearest}?` : '.'} It is searched for as words.`
    }
    const wanted = asked.flatMap((one) => WORDS[key]?.get(one.toLowerCase()) ?? [one])
    if (isList(known.of)) return oneOfList(columnOf(known.of), key, value)
    return {
      condition: joined(
        wanted.map(() => `${columnOf(known.of)} LIKE ? ESCAPE '\\'`),
        'OR',
      ),
      params: wanted.map((one) => likePattern(key, one)),
    }
  }
  const column = `(${known.of.map(columnOf).join(' + ')})`
  if (operator === ':' && (YES.has(value) || NO.has(value)))
    return { condition: `${column} ${YES.has(value) ? '>' : '='} 0`, params: [] }
  const number = UNITS[known.unit](value)
  if (!Number.isFinite(number))
    return `${term}: ${key} is a number (${known.says}). It is searched for as words.`
  return { condition: `${column} ${operator === ':' ? '=' : operator} ?`, params: [number] }
}

/** One condition of at least one, by halves: one after the other they would be as deep as they are many, and SQLite takes a thousand. */
export function joined(conditions: readonly string[], operator: 'AND' | 'OR'): string {
  if (conditions.length === 1) return conditions[0]!
  const half = conditions.length >> 1
  return `(${joined(conditions.slice(0, half), operator)} ${operator} ${joined(conditions.slice(half), operator)})`
}

/** Lists are kept as JSON: a look at it says at once which ones have nothing like it, and only the others are taken apart. */
function oneOfList(column: string, key: string, value: string): { condition: string; params: string[] } {
  return {
    condition: `${column} LIKE ? ESCAPE '\\' AND EXISTS (
      SELECT 1 FROM json_each(${column}) AS item WHERE item.value LIKE ? ESCAPE '\\')`,
    params: [likePattern(key, JSON.stringify(value).slice(1, -1)), likePattern(key, value)],
  }
}

/** SQL to order by. What is no key is no order: the newest come first. */
export function orderOf(sort: string): string {
  const descends = sort.startsWith('-')
  const key = sort.replace(/^-/, '')
  const of = Object.hasOwn(SORT_KEYS, key) ? SORT_KEYS[key] : undefined
  if (of === undefined) return 'start_us DESC'
  const direction = descends ? 'DESC' : 'ASC'
  return `${of.map(columnOf).join(' + ')} ${direction}, start_us DESC`
}

/** `*` stands for anything; without one, names match anywhere; states, and names after a key with a dot, match whole. */
function likePattern(key: string, value: string): string {
  const escaped = value.replace(/[\\%_]/g, '\\$&').replaceAll('*', '%')
  return WHOLE.has(key) || key.includes('.') ? escaped : `%${escaped}%`
}

const UNITS: Record<'ms' | 'scaled' | 'usd' | 'plain', (value: string) => number> = {
  ms: durationMs,
  scaled,
  usd: (value) => Number(value.replace('$', '')),
  plain: Number,
}

/** A time without a zone is the viewer's own. */
function timeUs(bound: 'ago' | 'from' | 'to', value: string, nowMs: number): number {
  if (bound === 'ago') return (nowMs - (lengthMs(value) ?? Number.NaN)) * 1000
  return (timeMs(value, 'local') ?? Number.NaN) * 1000
}

/** A number by itself is milliseconds. */
function durationMs(value: string): number {
  return lengthMs(value) ?? lengthMs(`${value}ms`) ?? Number.NaN
}

function scaled(value: string): number {
  const parts = /^(\d+(?:\.\d+)?)(k|m)?$/i.exec(value)
  if (!parts) return Number.NaN
  return Number(parts[1]) * ({ k: 1000, m: 1_000_000 }[(parts[2] ?? '').toLowerCase()] ?? 1)
}
