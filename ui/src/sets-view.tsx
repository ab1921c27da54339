/** The runs of one search against those of another: what differs, and how sure that is. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { counted, formatWhole } from '../../src/viewer/model/format.ts'
import { MEASURE_WORDS, type SetMeasure, signed, verdictOf } from '../../src/viewer/model/set-diff.ts'
import type { Estimate } from '../../src/viewer/model/statistics.ts'
import { useFollowed, useKeys, useLive, useLoaded, useSource } from './hooks.ts'
import { usePageTitle } from './page-title.ts'
import { Empty, Notices } from './parts.tsx'
import { QueryField } from './query-field.tsx'
import { go, listRoute, pathOf, type SetsRoute } from './route.ts'

const PAUSE_MS = 2_000

export function SetsView({ route }: { route: SetsRoute }) {
  const { a, b } = route
  const source = useSource()
  const [version, setVersion] = useState(0)
  const fields = { a: useRef<HTMLInputElement>(null), b: useRef<HTMLInputElement>(null) }
  const { value, error } = useFollowed(() => source.diffSets(a, b), [a, b], version, PAUSE_MS)
  // For the names that are offered while one types.
  const { value: page } = useLoaded(() => source.runs('', 50, '-started'), [])
  useLive((event) => {
    if (event.type === 'changed' || event.type === 'connected') setVersion((before) => before + 1)
  })
  useEffect(() => {
    if (!value?.indexing) return
    const timer = setTimeout(() => setVersion((before) => before + 1), PAUSE_MS)
    return () => clearTimeout(timer)
  }, [value])
  useEffect(() => {
    if (a === b) fields.b.current?.focus()
  }, [])
  usePageTitle(`Compare searches: ${a || 'all runs'} | ${b || 'all runs'}`)
  const list = listRoute()
  useKeys({
    u: () => go(list),
    '/': (event) => {
      event.preventDefault()
      fields.a.current?.focus()
    },
    s: () => go({ ...route, a: b, b: a }, true),
  })
  return (
    <main class="runs-page sets-page" aria-busy={value || error ? undefined : true}>
      <div class="toolbar">
        <a class="back" href={pathOf(list)} aria-label="The runs">
          ‹
        </a>
        <h1>Compare searches</h1>
        <button
          type="button"
          class="chip"
          title="A for B, and B for A (s)"
          onClick={() => go({ ...route, a: b, b: a }, true)}
        >
          Swap
        </button>
      </div>
      <div class="set-queries">
        {(['a', 'b'] as const).map((side) => (
          <div key={side} class="set-query">
            <i>{side.toUpperCase()}</i>
            <QueryField
              label={`Search of ${side.toUpperCase()}`}
              query={route[side]}
              runs={page?.runs ?? []}
              field={fields[side]}
              onQuery={(query) => go({ ...route, [side]: query }, true)}
            />
            <a class="hint" href={pathOf({ ...list, query: route[side] })}>
              {value ? counted(value[side].runs, 'run') : ' '}
            </a>
          </div>
        ))}
      </div>
      <Notices error={error} problems={value?.problems} />
      {value && (value.a.ended === 0 || value.b.ended === 0) ? (
        <Empty title="Nothing to compare yet">
          <p>
            {value.a.ended === 0 && value.b.ended === 0 ? 'Neither search' : value.a.ended === 0 ? 'A' : 'B'}{' '}
            has no run that ended. A search may be a time (<code>before:2026-11-22T10:00</code>), a version (
            <code>resource:service.version=1.4</code>), or words that only one of them has.
          </p>
        </Empty>
      ) : (
        value && (
          <div class="table-frame" tabIndex={0} role="region" aria-label="What differs">
            {a === b && <p class="notice">Both searches are the same. Change one of them.</p>}
            <table class="sets">
              <thead>
                <tr>
                  <th scope="col">
                    <span class="on-wide">Of the runs that ended</span>
                    <span class="on-phone">Ended</span>
                  </th>
                  <th scope="col" class="c-num">
                    A <small>{formatWhole(value.a.ended)}</small>
                  </th>
                  <th scope="col" class="c-num">
                    B <small>{formatWhole(value.b.ended)}</small>
                  </th>
                  <th scope="col" class="c-num">
                    B less A
                  </th>
                  <th scope="col" class="c-num c-between">
                    95 % between
                  </th>
                  <th scope="col" class="c-plot">
                    <span class="sr">Drawn</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {value.measures.map((measure) => (
                  <MeasureRow key={measure.key} measure={measure} />
                ))}
              </tbody>
            </table>
            <p class="hint pad">
              An interval that holds zero does not show a difference: it may be chance. Of{' '}
              {value.measures.length} measures, one or more shows a difference by chance in about one of three
              comparisons of sets that have none.
              {value.indexing > 0 && ` ${counted(value.indexing, 'span')} not searched yet.`}
            </p>
          </div>
        )
      )}
    </main>
  )
}

const VERDICT = { more: 'more in B', less: 'less in B', unclear: 'no difference shown' } as const

function MeasureRow({ measure }: { measure: SetMeasure }) {
  const { key, a, b, difference } = measure
  const { name, says, method, format } = MEASURE_WORDS[key]
  const verdict = verdictOf(measure)
  const said = difference ? VERDICT[verdict] : 'too few runs'
  return (
    <tr class={`is-${verdict}`}>
      <th scope="row" title={says}>
        {name}
      </th>
      <td class="c-num">{a === undefined ? '–' : format(a)}</td>
      <td class="c-num">{b === undefined ? '–' : format(b)}</td>
      <td class="c-num">
        <strong>{difference ? signed(key, difference.value) : '–'}</strong>
        <span class="verdict on-phone">{said}</span>
      </td>
      <td class="c-num c-between" title={method}>
        {difference ? `${signed(key, difference.low)} to ${signed(key, difference.high)}` : 'too few runs'}
      </td>
      <td class="c-plot">
        <div>
          {difference && <Plot difference={difference} />}
          <span class="verdict">{difference && said}</span>
        </div>
      </td>
    </tr>
  )
}

const WIDTH = 160
const HEIGHT = 18

/** The interval about its zero, as wide as the further of its ends. */
function Plot({ difference: { value, low, high } }: { difference: Estimate }) {
  const most = Math.max(Math.abs(low), Math.abs(high))
  if (most === 0) return null
  const x = (at: number) => WIDTH / 2 + (at / most) * (WIDTH / 2 - 4)
  return (
    <svg class="plot" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} width={WIDTH} height={HEIGHT} aria-hidden="true">
      <line class="zero" x1={WIDTH / 2} x2={WIDTH / 2} y1="1" y2={HEIGHT - 1} />
      <line class="between" x1={x(low)} x2={x(high)} y1={HEIGHT / 2} y2={HEIGHT / 2} />
      <circle cx={x(value)} cy={HEIGHT / 2} r="3.5" />
    </svg>
  )
}
