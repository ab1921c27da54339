/** Everything that happened, in order of time. */
import { useMemo, useState } from 'preact/hooks'
import type { LogEntry } from '../../src/viewer/model/event-log.ts'
import { formatWhole } from '../../src/viewer/model/format.ts'
import { useFollowed, useSource } from './hooks.ts'
import { Icon } from './icons.tsx'
import { Badge, Text } from './parts.tsx'

const SHOWN = 500
const KIND_WORDS: Record<LogEntry['kind'], string> = {
  start: 'starts',
  end: 'ends',
  event: 'event',
  gate: 'gate',
}

export function EventsView({
  traceId,
  version,
  startUs,
  selected,
  onSelect,
}: {
  traceId: string
  version: number
  startUs: number
  selected: string
  onSelect: (spanId: string) => void
}) {
  const source = useSource()
  const [filter, setFilter] = useState('')
  const [limit, setLimit] = useState(SHOWN)
  const { value, error } = useFollowed(() => source.events(traceId), [traceId], version, 0)
  const entries = useMemo(() => {
    const text = filter.trim().toLowerCase()
    return (value ?? []).filter(
      (entry) => !text || `${entry.name} ${entry.text} ${entry.kind}`.toLowerCase().includes(text),
    )
  }, [value, filter])
  return (
    <div class="events" tabIndex={0} role="region" aria-label="Events">
      <div class="timeline-tools">
        <label class="search small">
          <Icon name="search" />
          <span class="sr">Filter events</span>
          <input
            type="search"
            value={filter}
            placeholder="Filter events"
            onInput={(event) => setFilter(event.currentTarget.value)}
            spellcheck={false}
            autocomplete="off"
          />
        </label>
        <span class="found" role="status">
          {value ? `${formatWhole(entries.length)} events` : ''}
        </span>
      </div>
      {error && <p class="notice error">{error}</p>}
      <ol class="event-list">
        {entries.slice(0, limit).map((entry, index) => (
          <li key={index}>
            <button
              type="button"
              class={`event-line ${entry.spanId === selected ? 'selected' : ''} ${entry.error ? 'bad' : ''} cat-${entry.category}`}
              onClick={() => onSelect(entry.spanId)}
            >
              <span class="at">{offset(entry.timeUs - startUs)}</span>
              <Icon name={entry.kind === 'gate' ? 'gate' : entry.category} />
              <Badge kind={entry.kind === 'gate' ? 'shadow' : undefined}>{KIND_WORDS[entry.kind]}</Badge>
              <span class="what">
                <Text>{entry.name}</Text>
              </span>
              <span class="hint">
                <Text>{entry.text}</Text>
              </span>
            </button>
          </li>
        ))}
      </ol>
      {entries.length > limit && (
        <button type="button" class="more pad" onClick={() => setLimit(limit + SHOWN * 4)}>
          Show more of {formatWhole(entries.length)}
        </button>
      )}
    </div>
  )
}

/** Fixed places, so that the column can be read down. */
function offset(us: number): string {
  return `+${(us / 1_000_000).toFixed(3)} s`
}
