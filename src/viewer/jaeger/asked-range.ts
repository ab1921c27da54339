/** What of a query Jaeger can be asked: services, and when. The rest is looked for in what it gives. */
import { parseFilter } from '../store/filter.ts'

export interface AskedRange {
  /** The same for the same question, at whatever time it is asked. */
  key: string
  fromMs: number
  /** Absent: until now, and on. */
  toMs: number | undefined
  /** No time was said. */
  isDefault: boolean
  fits(service: string): boolean
  /** Which services was said. */
  namesServices: boolean
  /** It is searched for words, which Jaeger cannot. */
  hasWords: boolean
}

/** Jaeger wants a time range. This one is taken where none is said. */
const DEFAULT_RANGE_MS = 24 * 3_600_000
const RANGE_TERM = /(^|\s)(service|since|after|before):("[^"]*"|\S+)/gi

export function askedRange(query: string, nowMs: number): AskedRange {
  const { bounds, text } = parseFilter(query, nowMs)
  const { fromMs, toMs, services } = bounds
  const patterns = services.map(patternOf)
  return {
    key: (query.match(RANGE_TERM) ?? []).map((term) => term.trim()).join(' '),
    fromMs: fromMs ?? (toMs ?? nowMs) - DEFAULT_RANGE_MS,
    toMs,
    isDefault: fromMs === undefined,
    fits: (service) => patterns.every((pattern) => pattern.test(service)),
    namesServices: services.length > 0,
    hasWords: text.trim() !== '',
  }
}

/** As the list's own filter compares: anywhere in the name, in whatever case; `*` stands for anything. */
function patternOf(service: string): RegExp {
  const parts = service.split('*').map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(parts.join('.*'), 'is')
}
