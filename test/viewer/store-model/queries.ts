/** Random terms of the query language, each with what it means. */
import type { NaiveUse } from './naive-run.ts'
import { type Found, isLike, type Term } from './naive-store.ts'
import type { Random } from './random.ts'

const STATUSES = ['ok', 'with_errors', 'failed', 'denied', 'interrupted', 'waiting', 'running']
const TEXT_KEYS = {
  title: 'title',
  service: 'service',
  conversation: 'conversationId',
  reason: 'reason',
  note: 'note',
  trace: 'traceId',
} as const
const LIST_KEYS = { agent: 'agents', tool: 'tools', model: 'models', label: 'labels' } as const
const NUMBER_KEYS = {
  duration: ['durationMs'],
  tokens: ['inputTokens', 'outputTokens'],
  input: ['inputTokens'],
  output: ['outputTokens'],
  cached: ['cachedTokens'],
  cost: ['costUsd'],
  errors: ['errors'],
  mocked: ['mockedCalls'],
  waiting: ['waiting'],
  steps: ['steps'],
  calls: ['toolCalls'],
  spans: ['spans'],
} as const
const USE_KEYS: [kind: string, counts: string[]][] = [
  ['tool', ['calls', 'failed', 'denied', 'mocked']],
  ['model', ['calls', 'failed', 'mocked']],
  ['agent', ['calls', 'failed', 'denied']],
  ['gate', ['calls', 'denied', 'asked', 'changed', 'skipped', 'shadow', 'shadowDenied']],
  ['human', ['calls', 'approved', 'changed', 'denied', 'failed', 'asked']],
]

/** Of what the runs have, mostly, so that it finds something. */
export function randomTerm(random: Random, all: readonly Found[]): Term {
  const term = (() => {
    const some = random.pick(all)
    switch (random.between(0, 9)) {
      case 0:
        return statusTerm(random)
      case 1:
      case 2:
        return listTerm(random, some)
      case 3:
        return textTerm(random, some)
      case 4:
        return timeTerm(random, some)
      case 5:
      case 6:
        return numberTerm(random, some)
      case 7:
        return resourceTerm(random)
      default:
        return useTerm(random, some)
    }
  })()
  if (!random.chance(0.25)) return term
  return { text: `-${term.text}`, isTrue: (run) => !term.isTrue(run) }
}

function statusTerm(random: Random): Term {
  if (random.chance(0.15)) {
    const mark = random.pick(['good', 'bad', 'none'])
    return { text: `mark:${mark}`, isTrue: ({ summary }) => summary.mark === (mark === 'none' ? '' : mark) }
  }
  const some = random.shuffled([...STATUSES, 'done']).slice(0, random.between(1, 3))
  const means = some.flatMap((status) => (status === 'done' ? ['ok', 'with_errors'] : [status]))
  return { text: `status:${some.join(',')}`, isTrue: ({ summary }) => means.includes(summary.status) }
}

function listTerm(random: Random, { summary }: Found): Term {
  const key = random.pick(Object.keys(LIST_KEYS) as (keyof typeof LIST_KEYS)[])
  const of = LIST_KEYS[key]
  const asked = part(random, random.pick([...summary[of], 'search', ',', '[', '\\', 'e*r']))
  return {
    text: written(key, asked),
    isTrue: (run) => run.summary[of].some((one) => isLike(one, asked, false)),
  }
}

function textTerm(random: Random, { summary }: Found): Term {
  const key = random.pick(Object.keys(TEXT_KEYS) as (keyof typeof TEXT_KEYS)[])
  const of = TEXT_KEYS[key]
  const isWhole = key === 'reason'
  const asked = isWhole ? summary[of] || 'done' : part(random, summary[of] || 'x')
  return { text: written(key, asked), isTrue: (run) => isLike(run.summary[of], asked, isWhole) }
}

/** A part of it, perhaps with anything in between. Quotes cannot be written. */
function part(random: Random, text: string): string {
  const chars = [...text.toWellFormed()].slice(0, 80)
  const from = random.between(0, Math.max(0, chars.length - 1))
  const to = random.between(from + 1, chars.length)
  if (random.chance(0.2) && to - from > 2) chars.splice(random.between(from + 1, to - 1), 1, '*')
  const asked = chars.slice(from, to).join('').replaceAll('"', '*').replaceAll('\ufffd', '*')
  return asked.trim() === '' ? '*' : asked
}

function written(key: string, value: string): string {
  return /[\s"]/.test(value) ? `${key}:"${value}"` : `${key}:${value}`
}

function timeTerm(random: Random, { summary }: Found): Term {
  const ms = Math.floor(summary.startUs / 1000) + random.between(-2, 2)
  const time = new Date(ms).toISOString()
  return random.chance(0.5)
    ? { text: `after:${time}`, isTrue: (run) => run.summary.startUs >= ms * 1000 }
    : { text: `before:${time}`, isTrue: (run) => run.summary.startUs < ms * 1000 }
}

function numberTerm(random: Random, { summary }: Found): Term {
  const key = random.pick(Object.keys(NUMBER_KEYS) as (keyof typeof NUMBER_KEYS)[])
  const amountOf = (one: Found['summary']) => NUMBER_KEYS[key].reduce((sum, of) => sum + one[of], 0)
  if (random.chance(0.2)) {
    const yes = random.chance(0.5)
    return {
      text: `${key}:${yes ? 'yes' : 'no'}`,
      isTrue: (run) => (yes ? amountOf(run.summary) > 0 : amountOf(run.summary) === 0),
    }
  }
  // Sums of fractions are not the same to the last digit.
  const isExact = key !== 'cost'
  const asked = isExact ? amountOf(summary) : Math.round(amountOf(summary) * 10_000) / 10_000 + 0.00005
  const operator = random.pick(isExact ? [':', '>', '<', '>=', '<='] : ['>', '<', '>=', '<='])
  const isTrue = (run: Found) => {
    const value = amountOf(run.summary)
    return operator === ':'
      ? value === asked
      : operator === '>'
        ? value > asked
        : operator === '<'
          ? value < asked
          : operator === '>='
            ? value >= asked
            : value <= asked
  }
  return { text: `${key}${operator}${asked}`, isTrue }
}

function resourceTerm(random: Random): Term {
  const [key, value] = random.pick([
    ['service.version', '1.4'],
    ['service.version', '1.*'],
    ['service.version', '1'],
    ['service.name', 'SHOP'],
    ['app.share', '0.25'],
    ['app.on', 'true'],
    ['host.name', 'far away'],
    ['process.pid', '1'],
    ['nothing', '*'],
  ] as const)
  return {
    text: written('resource', `${key}=${value}`),
    isTrue: ({ resources }) =>
      resources.some((one) => one[key] !== undefined && isLike(String(one[key]), value, true)),
  }
}

function useTerm(random: Random, some: Found): Term {
  const [kind, counts] = random.pick(USE_KEYS)
  const names = some.uses.filter((use) => use.kind === kind).map(({ name }) => name)
  const name = random.pick([...names, 'search']).toWellFormed()
  if (random.chance(0.2)) {
    const error = random.pick([...some.uses.flatMap(({ errors }) => errors), 'timed out'])
    const asked = `${name}: ${error}`.replaceAll('"', '*')
    return {
      text: `${kind}.error:"${asked}"`,
      isTrue: ({ uses }) =>
        uses.some((use) => use.kind === kind && use.errors.some((one) => fits(`${use.name}: ${one}`, asked))),
    }
  }
  const count = random.pick(counts)
  const asked = name.replaceAll('"', '*')
  return {
    text: written(`${kind}.${count.toLowerCase()}`, asked),
    isTrue: ({ uses }) =>
      uses.some((use) => use.kind === kind && fits(use.name, asked) && countOf(use, count) > 0),
  }
}

const fits = (text: string, asked: string) =>
  asked.includes('*') ? isLike(text, asked, true) : text === asked
const countOf = ({ counts }: NaiveUse, count: string) => counts[count] ?? 0
