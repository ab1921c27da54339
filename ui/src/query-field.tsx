/** Where runs are searched: with the keys that there are, and the values that are in sight, offered as one types. */
import type { RefObject } from 'preact'
import { useId, useMemo } from 'preact/hooks'
import { statusWord } from '../../src/viewer/model/format.ts'
import { QUERY_KEYS } from '../../src/viewer/model/query-keys.ts'
import type { UseKind } from '../../src/viewer/model/run-uses.ts'
import { RUN_STATUSES, type RunSummary } from '../../src/viewer/model/span.ts'
import { Icon } from './icons.tsx'

const MOST_OFFERED = 12
/** Of what runs in the list tell the names. */
const LISTED: Partial<Record<UseKind, 'tools' | 'models' | 'agents'>> = {
  tool: 'tools',
  model: 'models',
  agent: 'agents',
}

export function QueryField({
  query,
  runs,
  field,
  onQuery,
  onEnter,
  label = 'Search runs',
}: {
  query: string
  runs: readonly RunSummary[]
  field: RefObject<HTMLInputElement | null>
  onQuery: (query: string) => void
  onEnter?: () => void
  label?: string
}) {
  const offered = useId()
  const offers = useMemo(() => offersFor(query, runs), [query, runs])
  return (
    <label class="search">
      <Icon name="search" />
      <span class="sr">{label}</span>
      <input
        ref={field}
        type="search"
        list={`query-offers${offered}`}
        value={query}
        placeholder="Search, or agent:support cost>1"
        onInput={(event) => onQuery(event.currentTarget.value)}
        onKeyDown={(event) => {
          // Not what ends the composing of a letter.
          if (event.key !== 'Enter' || event.isComposing || !onEnter) return
          event.currentTarget.blur()
          event.stopPropagation()
          onEnter()
        }}
        spellcheck={false}
        autocomplete="off"
      />
      <datalist id={`query-offers${offered}`} class="query-offers">
        {offers.map(({ value, says }) => (
          <option key={value} value={value} label={says} />
        ))}
      </datalist>
      <kbd>/</kbd>
    </label>
  )
}

/** The whole query with its last word completed. */
export function offersFor(query: string, runs: readonly RunSummary[]): { value: string; says: string }[] {
  const [, before = '', minus = '', word = ''] = /^(.*?)(-?)(\S*)$/.exec(query) ?? []
  if (word === '') return []
  const [key, value] = word.split(/:(.*)/s) as [string, string | undefined]
  const found =
    value === undefined
      ? Object.entries(QUERY_KEYS)
          // Those with a dot are many: they are offered once it is typed.
          .filter(([name]) => key.includes('.') || !name.includes('.'))
          .map(([name, { kind, says }]) => ({
            word: `${name}${kind === 'number' ? '>' : ':'}`,
            says,
          }))
      : valuesOf(key.toLowerCase(), runs).map((one) => ({
          word: `${key}:${/\s/.test(one) ? `"${one}"` : one}`,
          says: '',
        }))
  return found
    .filter((offer) => offer.word !== word && offer.word.toLowerCase().startsWith(word.toLowerCase()))
    .slice(0, MOST_OFFERED)
    .map((offer) => ({ value: `${before}${minus}${offer.word}`, says: offer.says }))
}

function valuesOf(key: string, runs: readonly RunSummary[]): string[] {
  const known = Object.hasOwn(QUERY_KEYS, key) ? QUERY_KEYS[key] : undefined
  if (key === 'status') return RUN_STATUSES.map((status) => statusWord(status).replaceAll(' ', '-'))
  if (known?.kind === 'number') return ['yes', 'no']
  const of = known?.kind === 'text' ? known.of : known?.kind === 'use' ? LISTED[known.use] : undefined
  if (of === undefined) return []
  const seen = runs.flatMap((run) => run[of]).filter((value) => typeof value === 'string' && value !== '')
  return [...new Set(seen as string[])].sort()
}
