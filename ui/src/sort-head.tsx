import { useRef } from 'preact/hooks'

/** The head of a column by which a table can be sorted: by one press that way which is asked for most, by another the other way. */
export function SortHead({
  head,
  name,
  sort,
  greatestFirst,
  onSort,
  class: className,
  title,
  column,
  width,
  onWidth,
}: {
  head: string
  /** The column, as `sort` calls it. */
  name: string
  /** By what it is sorted, `-` before it for the greatest first. */
  sort: string
  greatestFirst?: boolean | undefined
  onSort: (sort: string) => void
  class: string
  title?: string | undefined
  /** What it is resized as; it cannot be without. */
  column?: string
  /** In pixels, where it was resized. */
  width?: number | undefined
  onWidth?: (column: string, width: number) => void
}) {
  const first = greatestFirst ? `-${name}` : name
  const other = greatestFirst ? name : `-${name}`
  const on = sort === name || sort === `-${name}`
  return (
    <th
      scope="col"
      class={className}
      aria-sort={on ? (sort === name ? 'ascending' : 'descending') : 'none'}
      style={width === undefined ? undefined : { width: `${width}px` }}
    >
      <button type="button" title={title} onClick={() => onSort(sort === first ? other : first)}>
        {head}
        <span class="order" aria-hidden="true">
          {on ? (sort === name ? '↑' : '↓') : ''}
        </span>
      </button>
      {column !== undefined && onWidth && (
        <Resize head={head} width={width} onWidth={(next) => onWidth(column, next)} />
      )}
    </th>
  )
}

const LEAST_PX = 48
const MOST_PX = 900
const STEP_PX = 16

/** The edge between two columns: dragged, or moved by the arrow keys. */
function Resize({
  head,
  width,
  onWidth,
}: {
  head: string
  width: number | undefined
  onWidth: (width: number) => void
}) {
  const drag = useRef<{ x: number; width: number } | undefined>(undefined)
  const widthOf = (target: EventTarget | null) => (target as HTMLElement).closest('th')!.offsetWidth
  const set = (next: number) => onWidth(Math.round(Math.max(LEAST_PX, Math.min(MOST_PX, next))))
  return (
    <span
      class="resize"
      role="separator"
      aria-orientation="vertical"
      aria-label={`Width of ${head}`}
      aria-valuemin={LEAST_PX}
      aria-valuemax={MOST_PX}
      aria-valuenow={width ?? 100}
      tabIndex={0}
      onPointerDown={(event) => {
        event.preventDefault()
        event.currentTarget.setPointerCapture(event.pointerId)
        drag.current = { x: event.clientX, width: widthOf(event.currentTarget) }
      }}
      onPointerMove={(event) => drag.current && set(drag.current.width + event.clientX - drag.current.x)}
      onPointerUp={() => {
        drag.current = undefined
      }}
      onPointerCancel={() => {
        drag.current = undefined
      }}
      onKeyDown={(event) => {
        const by = event.key === 'ArrowRight' ? STEP_PX : event.key === 'ArrowLeft' ? -STEP_PX : 0
        if (by === 0) return
        event.preventDefault()
        set(widthOf(event.currentTarget) + by)
      }}
    />
  )
}
