/** Which columns the list has, and the views of it that were saved by name. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { keep, readKept } from './kept.ts'
import { Button } from './parts.tsx'
import { go, type ListRoute, pathOf } from './route.ts'
import { chosenColumns, RUN_COLUMNS, withColumn } from './run-columns.tsx'

/** Opens below its button; closed by Escape, by a press outside of it, and by a link in it. */
export function Menu({ name, children }: { name: string; children: preact.ComponentChildren }) {
  const details = useRef<HTMLDetailsElement>(null)
  useEffect(() => {
    const shut = () => {
      if (details.current) details.current.open = false
    }
    const onPress = (event: Event) => {
      if (!details.current?.contains(event.target as Node)) shut()
    }
    const onClick = (event: Event) => {
      const link = (event.target as Element).closest('a')
      if (link && details.current?.contains(link)) shut()
    }
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== 'Escape' || !details.current?.open) return
      shut()
      details.current.querySelector('summary')?.focus()
    }
    addEventListener('pointerdown', onPress)
    addEventListener('click', onClick)
    addEventListener('keydown', onKey)
    return () => {
      removeEventListener('pointerdown', onPress)
      removeEventListener('click', onClick)
      removeEventListener('keydown', onKey)
    }
  }, [])
  return (
    <details class="menu" ref={details} onToggle={() => intoSight(details.current)}>
      <summary class="chip">{name}</summary>
      <div class="menu-body">{children}</div>
    </details>
  )
}

/** Opens to the left where there is no room to the right. */
function intoSight(menu: HTMLDetailsElement | null): void {
  const body = menu?.querySelector('.menu-body')
  if (!menu?.open || !body) return
  menu.classList.remove('leftwards')
  menu.classList.toggle('leftwards', body.getBoundingClientRect().right > innerWidth)
}

export function ColumnsMenu({ route, onReset }: { route: ListRoute; onReset: () => void }) {
  const shown = chosenColumns(route.columns)
  return (
    <Menu name="Columns">
      <fieldset>
        <legend class="sr">Columns of the list</legend>
        {RUN_COLUMNS.map(({ key, head }) => (
          <label key={key}>
            <input
              type="checkbox"
              checked={shown.some((column) => column.key === key)}
              onChange={(event) =>
                go({ ...route, columns: withColumn(route.columns, key, event.currentTarget.checked) }, true)
              }
            />
            {head}
          </label>
        ))}
      </fieldset>
      <Button
        onClick={() => {
          onReset()
          go({ ...route, columns: '' }, true)
        }}
      >
        As they were
      </Button>
    </Menu>
  )
}

const VIEWS = 'hookspan-views'

/** A view is an address: its search, order, grouping and columns. */
export function ViewsMenu({ route }: { route: ListRoute }) {
  const [views, setViews] = useState(() => readKept<Record<string, string>>(VIEWS, {}))
  const [name, setName] = useState('')
  const change = (next: Record<string, string>) => {
    setViews(next)
    keep(VIEWS, next)
  }
  const here = pathOf(route)
  const saved = Object.entries(views).sort(([a], [b]) => (a < b ? -1 : 1))
  return (
    <Menu name={saved.find(([, path]) => path === here)?.[0] ?? 'Views'}>
      {saved.length === 0 && <p class="hint">A view is what is searched for, its order and its columns.</p>}
      <ul>
        {saved.map(([one, path]) => (
          <li key={one}>
            <a href={path} aria-current={path === here ? 'page' : undefined}>
              {one}
            </a>
            <Button
              icon="trash"
              title={`Forget ${one}`}
              onClick={() => change(Object.fromEntries(saved.filter(([other]) => other !== one)))}
            />
          </li>
        ))}
      </ul>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if (name.trim() === '') return
          change({ ...views, [name.trim()]: here })
          setName('')
        }}
      >
        <input
          aria-label="Name of this view"
          placeholder="Name of this view"
          maxLength={60}
          value={name}
          onInput={(event) => setName(event.currentTarget.value)}
        />
        <button type="submit" class="button">
          Save
        </button>
      </form>
    </Menu>
  )
}
