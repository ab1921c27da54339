/** What the tables of tools, models, agents, gates and people show: the page and the terminal, from one list. */
import { formatCost, formatCount, formatDuration, formatWhole } from './format.ts'
import { share } from './run-numbers.ts'
import type { UseCount, UseKind, UseSum } from './run-uses.ts'

export interface UseColumn {
  head: string
  says: string
  /** By which the table is sorted. */
  value: (use: UseSum) => number
  text: (use: UseSum) => string
  /** Behind the text, smaller: what share of all that is. */
  note?: (use: UseSum) => string
  /** What runs behind the number have: a key of the query language is made of it. */
  count?: UseCount
  /** Where it is not null: something to look after. */
  isBad?: boolean
}

function counted(head: string, count: UseCount, says: string, isBad = false): UseColumn {
  return {
    head,
    says,
    value: (use) => use[count],
    text: (use) => formatWhole(use[count]),
    ...(count !== 'calls' && { note: (use: UseSum) => (use[count] > 0 ? share(use[count], use.calls) : '') }),
    count,
    isBad,
  }
}

function lasting(head: string, of: 'p50' | 'p95', says: string): UseColumn {
  return {
    head,
    says,
    value: (use) => use.durationMs?.[of] ?? -1,
    text: (use) => (use.durationMs ? formatDuration(use.durationMs[of]) : '–'),
  }
}

const tokens = (head: string, count: UseCount): UseColumn => ({
  head,
  says: `${head}, of all calls`,
  value: (use) => use[count],
  text: (use) => formatCount(use[count]),
})

const P50 = lasting('p50', 'p50', 'Half of the calls that were made took no longer')
const P95 = lasting('p95', 'p95', '95 of 100 calls that were made took no longer')

const COST: UseColumn = {
  head: 'Cost',
  says: 'As the spans tell it, else estimated from tokens',
  value: (use) => use.costUsd,
  text: (use) => formatCost(use.costUsd),
}

export const USE_COLUMNS: Readonly<Record<UseKind, readonly UseColumn[]>> = {
  tool: [
    counted('Calls', 'calls', 'How often it was called'),
    counted('Failed', 'failed', 'Calls that failed, of all', true),
    counted('Denied', 'denied', 'Calls that a gate or a person refused, of all', true),
    counted('Mocked', 'mocked', 'Calls that were mocked, of all'),
    P50,
    P95,
    { ...COST, says: 'Of calls of models inside of it, as those of a sub-agent' },
  ],
  model: [
    counted('Calls', 'calls', 'How often it was asked'),
    counted('Failed', 'failed', 'Calls that failed, of all', true),
    counted('Mocked', 'mocked', 'Calls that were mocked, of all'),
    P50,
    P95,
    tokens('Tokens in', 'inputTokens'),
    {
      ...tokens('Cached', 'cachedTokens'),
      says: 'Of the tokens in, read from a cache',
      value: (use) => (use.inputTokens > 0 ? use.cachedTokens / use.inputTokens : -1),
      text: (use) => share(use.cachedTokens, use.inputTokens),
    },
    tokens('Tokens out', 'outputTokens'),
    COST,
  ],
  agent: [
    counted('Times', 'calls', 'How often it ran'),
    counted('Failed', 'failed', 'Ended with an error, of all', true),
    counted('Denied', 'denied', 'Stopped by a gate or a person, of all', true),
    lasting('p50', 'p50', 'Half of the times it took no longer'),
    lasting('p95', 'p95', '95 of 100 times it took no longer'),
    tokens('Tokens in', 'inputTokens'),
    tokens('Tokens out', 'outputTokens'),
    COST,
  ],
  gate: [
    counted('Decisions', 'calls', 'How often it decided, in shadow, too'),
    counted('Denied', 'denied', 'Enforced refusals, of all decisions', true),
    counted('Asked', 'asked', 'Had a person asked, of all decisions'),
    counted('Changed', 'changed', 'Changed what it decided on, of all decisions'),
    counted('Skipped', 'skipped', 'Had it left out, of all decisions'),
    counted('In shadow', 'shadow', 'Decisions that were not enforced, of all'),
    counted('Would deny', 'shadowDenied', 'Refusals that were not enforced, of all decisions', true),
    lasting('p50', 'p50', 'Half of the decisions took no longer'),
    lasting('p95', 'p95', '95 of 100 decisions took no longer'),
  ],
  human: [
    counted('Questions', 'calls', 'How often the person was asked'),
    counted('Approved', 'approved', 'Of all questions'),
    counted('Edited', 'changed', 'Approved with other arguments, of all questions'),
    counted('Rejected', 'denied', 'Of all questions'),
    counted('Not answered', 'failed', 'Nobody answered in time, of all questions', true),
    counted('Open', 'asked', 'Still waiting, of all questions'),
    lasting('Waited p50', 'p50', 'Half of the answers took no longer'),
    lasting('Waited p95', 'p95', '95 of 100 answers took no longer'),
  ],
}

/** In sentences and titles. */
export const USE_WORDS: Readonly<Record<UseKind, { one: string; all: string; error: string }>> = {
  tool: { one: 'Tool', all: 'Tools', error: 'Top error' },
  model: { one: 'Model', all: 'Models', error: 'Top error' },
  agent: { one: 'Agent', all: 'Agents', error: 'Top error' },
  gate: { one: 'Gate', all: 'Gates', error: 'Top reason' },
  human: { one: 'Person', all: 'People', error: 'Top failure' },
}

/** Of the query language. */
export function useKey(kind: UseKind, count: UseCount | 'error'): string {
  return `${kind}.${count.toLowerCase()}`
}

/** Runs in which `name` did so at least once, as a term of the query language. */
export function useTerm(kind: UseKind, count: UseCount, name: string): string {
  return term(useKey(kind, count), name)
}

/** Runs in which `name` failed, or refused, in this way. */
export function useErrorTerm(kind: UseKind, name: string, error: string): string {
  return term(useKey(kind, 'error'), `${name}: ${error}`)
}

function term(key: string, given: string): string {
  const value = given.replaceAll('"', '*')
  return `${key}:${/[\s*]/.test(value) || value === '' ? `"${value}"` : value}`
}
