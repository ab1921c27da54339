/** Numbers and texts as people read them; the page and the command line write them the same way. */
import type { CompactionFacts, HumanFacts, RunStatus } from './span.ts'

/** The limits are those of the rounded numbers: 999.7 ms are a second, and 119.6 s two minutes. */
export function formatDuration(ms: number): string {
  if (!Number.isFinite(ms) || ms < 0) return '–'
  if (ms === 0) return '0 ms'
  if (ms < 0.9995) return `${(ms * 1000).toFixed(0)} µs`
  if (ms < 9.95) return `${ms.toFixed(1)} ms`
  if (ms < 999.5) return `${ms.toFixed(0)} ms`
  if (ms < 59_950) return `${(ms / 1000).toFixed(ms < 9_995 ? 2 : 1)} s`
  const seconds = Math.round(ms / 1000)
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} m ${seconds % 60} s`
  return `${Math.floor(minutes / 60)} h ${minutes % 60} m`
}

/** A moment among others that are so far apart: with as many digits as tell them apart. */
export function formatMoment(ms: number, apartMs: number): string {
  const unitMs = ms < 999.5 ? 1 : 1000
  const digits = Math.min(6, Math.ceil(-Math.log10(apartMs / unitMs)))
  const usual = unitMs === 1 ? (ms < 9.95 ? 1 : 0) : ms < 9_995 ? 2 : ms < 59_950 ? 1 : 0
  const isLong = ms >= 3_600_000 && apartMs < 60_000
  if (ms <= 0 || !Number.isFinite(digits) || (digits <= usual && !isLong)) return formatDuration(ms)
  if (unitMs === 1) return `${ms.toFixed(digits)} ms`
  const rounded = Number((ms / 1000).toFixed(Math.max(0, digits)))
  const minutes = Math.floor(rounded / 60)
  const seconds = `${(rounded - minutes * 60).toFixed(Math.max(0, digits))} s`
  if (minutes === 0) return seconds
  return minutes < 60
    ? `${minutes} m ${seconds}`
    : `${Math.floor(minutes / 60)} h ${minutes % 60} m ${seconds}`
}

/** With commas. Not `toLocaleString`: the first call of that loads all of ICU, some 20 ms before the page is there. */
export function formatWhole(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ',')
}

export function formatCount(count: number): string {
  if (count < 10_000) return formatWhole(Math.round(count))
  if (count < 999_500) return `${(count / 1000).toFixed(count < 99_950 ? 1 : 0)}k`
  return `${(count / 1_000_000).toFixed(1)}M`
}

export function counted(count: number, one: string): string {
  return `${formatWhole(count)} ${count === 1 ? one : `${one}s`}`
}

export function formatCost(usd: number): string {
  if (usd === 0) return '–'
  if (usd < 0.01) return `$${usd.toPrecision(2)}`
  return `$${usd.toFixed(usd < 1 ? 3 : 2)}`
}

/** One that failed left nothing to count; only what it was to make smaller is told. */
export function formatCompaction({ tokensBefore, tokensAfter }: CompactionFacts): string {
  if (tokensBefore === undefined) return ''
  const before = formatCount(tokensBefore)
  return tokensAfter === undefined ? `${before} tokens` : `${before} → ${formatCount(tokensAfter)} tokens`
}

const ANSWERS: Readonly<Record<string, string>> = {
  approve: 'approved',
  edit: 'changed and approved',
  reject: 'rejected, run stopped',
  rejectAndContinue: 'rejected',
  timeout: 'nobody answered',
}

/** What came of asking, by whom and after how long: `rejected by ines (claimed, page) after 5.40 s`. */
export function formatAnswer(facts: HumanFacts): string {
  const { action = '', waitedMs } = facts
  const said = Object.hasOwn(ANSWERS, action) ? ANSWERS[action] : action
  return [said, formatAnswerer(facts), waitedMs && `after ${formatDuration(waitedMs)}`]
    .filter(Boolean)
    .join(' ')
}

/** Who answered, how far that is known and by what way: `by ann (proved, http)`. Empty where nothing says. */
export function formatAnswerer({ approver = '', identity, channel }: HumanFacts): string {
  const known = [identity, channel].filter(Boolean).join(', ')
  // A name is what its giver writes: it does not say by itself that it was proved.
  const name = /["()]/.test(approver) ? JSON.stringify(approver) : approver
  return [name && `by ${name}`, known && `(${known})`].filter(Boolean).join(' ')
}

export function formatBytes(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`
  if (bytes < 1024 ** 2) return `${(bytes / 1024).toFixed(1)} KB`
  if (bytes < 1024 ** 3) return `${(bytes / 1024 ** 2).toFixed(1)} MB`
  return `${(bytes / 1024 ** 3).toFixed(1)} GB`
}

const STATUS_WORDS: Record<RunStatus, string> = {
  running: 'running',
  waiting: 'waiting',
  interrupted: 'interrupted',
  failed: 'failed',
  denied: 'denied',
  with_errors: 'with errors',
  ok: 'done',
}

/** Why a run ended, where its status says the same. */
export const TOLD_BY_STATUS: ReadonlySet<string> = new Set(['done', 'error', 'denied', 'interrupted'])

/** As a person reads it; `status:` of a query takes it, too. */
export function statusWord(status: RunStatus): string {
  return STATUS_WORDS[status]
}

export function formatAgo(ms: number): string {
  if (ms < 5_000) return 'now'
  if (ms < 60_000) return `${Math.floor(ms / 1000)} s ago`
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min ago`
  if (ms < 86_400_000) return `${Math.floor(ms / 3_600_000)} h ago`
  return `${Math.floor(ms / 86_400_000)} d ago`
}

const BIDI: Record<string, string> = {
  '\u061c': 'ALM',
  '\u200e': 'LRM',
  '\u200f': 'RLM',
  '\u202a': 'LRE',
  '\u202b': 'RLE',
  '\u202c': 'PDF',
  '\u202d': 'LRO',
  '\u202e': 'RLO',
  '\u2066': 'LRI',
  '\u2067': 'RLI',
  '\u2068': 'FSI',
  '\u2069': 'PDI',
}

/** What acts on a terminal, and what turns the text around it. */
export const ACTING = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu

/**
 * Text from a span with what would act made visible: control characters (terminal escapes among them) as their
 * pictures, direction overrides by name. Line breaks and tabs stay.
 */
export function visibleText(text: string): string {
  return text.replace(ACTING, (char) => {
    if (char === '\n' || char === '\t') return char
    if (char === '\r') return ''
    const code = char.charCodeAt(0)
    if (code < 0x20) return String.fromCharCode(0x2400 + code)
    return code === 0x7f ? '␡' : code < 0xa0 ? '�' : `⟦${BIDI[char]}⟧`
  })
}

/** Of a store whose disk is full, say. */
export function notStored(why: string): string {
  return `Spans cannot be stored: ${why}. Senders are told to try again.`
}
