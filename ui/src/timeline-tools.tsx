/** What stands above the timeline: the search in the run, and what of it is shown. */
import { Icon } from './icons.tsx'

interface Switch {
  name: string
  /** None: it does something, and is neither on nor off. */
  on?: boolean
  title?: string
  turn: () => void
}

export function TimelineTools({
  input,
  find,
  onFind,
  onNext,
  told,
  switches,
  part,
  onWhole,
}: {
  input: { current: HTMLInputElement | null }
  find: string
  onFind: (find: string) => void
  onNext: (by: 1 | -1) => void
  /** How much of the run is shown. */
  told: string
  switches: readonly (Switch | false)[]
  /** How long the part is that is zoomed to. */
  part: string | undefined
  onWhole: () => void
}) {
  return (
    <div class="timeline-tools">
      <label class="search small">
        <Icon name="search" />
        <span class="sr">Search in this run</span>
        <input
          ref={input}
          type="search"
          value={find}
          placeholder="Search in this run"
          onInput={(event) => onFind(event.currentTarget.value)}
          onKeyDown={(event) => event.key === 'Enter' && onNext(event.shiftKey ? -1 : 1)}
          spellcheck={false}
          autocomplete="off"
        />
        <kbd>/</kbd>
      </label>
      <span class="found" role="status">
        {told}
      </span>
      {switches.map(
        (one) =>
          one && (
            <button
              key={one.name}
              type="button"
              class={`chip ${one.on ? 'on' : ''}`}
              aria-pressed={one.on}
              title={one.title}
              onClick={one.turn}
            >
              {one.name}
            </button>
          ),
      )}
      {part && (
        <button type="button" class="chip on" title="Show all of it (0)" onClick={onWhole}>
          {part}
          <Icon name="close" />
        </button>
      )}
    </div>
  )
}
