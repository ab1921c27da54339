/** The head of a column by which a table can be sorted: by one press that way which is asked for most, by another the other way. */
export function SortHead({
  head,
  name,
  sort,
  greatestFirst,
  onSort,
  class: className,
  title,
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
}) {
  const first = greatestFirst ? `-${name}` : name
  const other = greatestFirst ? name : `-${name}`
  const on = sort === name || sort === `-${name}`
  return (
    <th scope="col" class={className} aria-sort={on ? (sort === name ? 'ascending' : 'descending') : 'none'}>
      <button type="button" title={title} onClick={() => onSort(sort === first ? other : first)}>
        {head}
        <span class="order" aria-hidden="true">
          {on ? (sort === name ? '↑' : '↓') : ''}
        </span>
      </button>
    </th>
  )
}
