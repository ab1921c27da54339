/** Two runs side by side. */
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { counted, formatCost, formatCount, formatDuration } from '../../src/viewer/model/format.ts'
import { divergenceAt, isDifference, wordsOf } from '../../src/viewer/model/run-diff.ts'
import type { RunSummary } from '../../src/viewer/model/span.ts'
import { CompareRow, Delta } from './compare-row.tsx'
import { useKeys, useLoaded, useSource } from './hooks.ts'
import { usePageTitle } from './page-title.ts'
import { Button, Empty, NotComparable, StatusMark, Text } from './parts.tsx'
import { go, listRoute, pathOf, type Route } from './route.ts'
import { LongText } from './value.tsx'

/** What is left out as noise, in percent of the words. */
const NOISES = [0, 5, 15, 30]

export function CompareView({ route }: { route: Extract<Route, { page: 'compare' }> }) {
  const source = useSource()
  const [onlyChanges, setOnlyChanges] = useState(false)
  /** Index in all rows of the one that is stood on. */
  const [cursor, setCursor] = useState(-1)
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set())
  const list = useRef<HTMLOListElement>(null)
  const { value, error } = useLoaded(() => source.diff(route.a, route.b), [route.a, route.b])
  const noise = (route.noise ?? 0) / 100
  const rows = value?.rows ?? []
  const parting = useMemo(() => divergenceAt(rows, noise), [rows, noise])
  const differences = useMemo(
    () => rows.flatMap((row, at) => (isDifference(row, noise) ? [at] : [])),
    [rows, noise],
  )
  useLayoutEffect(() => {
    if (cursor >= 0) list.current?.querySelector('.pair.at')?.scrollIntoView({ block: 'center' })
  }, [cursor])
  const toggle = (at: number, on = !open.has(at)) =>
    setOpen((before) => new Set(on ? [...before, at] : [...before].filter((one) => one !== at)))
  const step = (by: 1 | -1) => {
    const next = by > 0 ? differences.find((at) => at > cursor) : differences.findLast((at) => at < cursor)
    setCursor(next ?? (by > 0 ? (differences[0] ?? -1) : (differences.at(-1) ?? -1)))
  }
  const toParting = () => {
    setCursor(parting)
    if (parting >= 0) toggle(parting, true)
  }
  const swap = () => go({ ...route, a: route.b, b: route.a })
  useKeys({
    Escape: () => setOpen(new Set()),
    u: () => go(listRoute()),
    d: () => setOnlyChanges((before) => !before),
    n: () => step(1),
    N: () => step(-1),
    j: () => step(1),
    k: () => step(-1),
    f: toParting,
    w: swap,
    Enter: (event) => {
      if (!(event.target as HTMLElement).closest('a, button, summary, select') && cursor >= 0) toggle(cursor)
    },
  })
  usePageTitle(value ? `Compare: ${value.a.title} | ${value.b.title}` : 'Compare')
  if (error) return <NotComparable why={error} />
  if (!value) return <main class="compare-page" aria-busy="true" />
  const shown = rows
    .map((row, at) => ({ row, at }))
    .filter(({ row }) => !onlyChanges || isDifference(row, noise))
  return (
    <main class="compare-page">
      <header class="compare-head">
        <div class="run-title">
          <a class="back" href={pathOf(listRoute())} aria-label="All runs">
            ‹
          </a>
          <h1>Compare</h1>
          <p class="input">
            {counted(differences.length, 'difference')} in {counted(rows.length, 'call')}
            {parting >= 0 && ', '}
            {parting >= 0 && (
              <button type="button" class="more" title="Go there (f)" onClick={toParting}>
                the first at call {parting + 1}: {wordsOf(rows[parting]!).join(', ')}
              </button>
            )}
          </p>
          <div class="actions">
            <label class="noise">
              <span>Noise</span>
              <select
                value={String(route.noise ?? 0)}
                title="Texts that differ by no more of their words count as the same"
                onChange={(event) => go({ ...route, noise: Number(event.currentTarget.value) }, true)}
              >
                {[...new Set([...NOISES, route.noise ?? 0])].map((percent) => (
                  <option key={percent} value={String(percent)}>
                    {percent === 0 ? 'none' : `up to ${percent}%`}
                  </option>
                ))}
              </select>
            </label>
            <button
              type="button"
              class={`chip ${onlyChanges ? 'on' : ''}`}
              aria-pressed={onlyChanges}
              title="Only differences (d)"
              onClick={() => setOnlyChanges(!onlyChanges)}
            >
              Only differences
            </button>
            <Button title="The other way round (w)" onClick={swap}>
              Swap
            </Button>
          </div>
        </div>
        <div class="sides">
          <Side name="A" run={value.a} noise={noise} />
          <Side name="B" run={value.b} other={value.a} noise={noise} />
        </div>
      </header>
      <div class="compare-rows" tabIndex={0} role="region" aria-label="Aligned calls">
        <Answers answers={value.answers} />
        {shown.length === 0 && (
          <Empty title="No differences">
            <p>Both runs did and said the same{noise > 0 ? ', but for noise' : ''}.</p>
          </Empty>
        )}
        <ol ref={list}>
          {shown.map(({ row, at }) => (
            <CompareRow
              key={at}
              row={row}
              a={value.a}
              b={value.b}
              noise={noise}
              diverges={at === parting}
              at={at === cursor}
              open={open.has(at)}
              onToggle={(on) => toggle(at, on)}
            />
          ))}
        </ol>
      </div>
    </main>
  )
}

/** What both said at the end, side by side. */
function Answers({ answers: { a, b } }: { answers: { a: string; b: string } }) {
  if (!a && !b) return null
  return (
    <details class="final-answers" open>
      <summary>
        <h2>Final answers</h2>
        <span class="hint">{a === b ? 'the same' : ''}</span>
      </summary>
      <div class="answer-pair" tabIndex={0} role="region" aria-label="Final answers">
        {[a, b].map((text, index) => (
          <section key={index} aria-label={`Answer of ${index === 0 ? 'A' : 'B'}`}>
            {text ? <LongText text={text} /> : <p class="hint">none</p>}
          </section>
        ))}
      </div>
    </details>
  )
}

function Side({
  name,
  run,
  other,
  noise,
}: {
  name: string
  run: RunSummary
  other?: RunSummary
  noise: number
}) {
  const tokens = (of: RunSummary) => of.inputTokens + of.outputTokens
  return (
    <section class="side" aria-label={`Run ${name}`}>
      <h2>
        <i>{name}</i>
        <a href={pathOf({ page: 'run', traceId: run.traceId, view: 'timeline', spanId: '' })}>
          <Text>{run.title || run.traceId.slice(0, 8)}</Text>
        </a>
        <StatusMark status={run.status} />
      </h2>
      <p class="preview">
        <Text>{run.inputPreview || ' '}</Text>
      </p>
      <p class="numbers">
        <span>
          {formatDuration(run.durationMs)}{' '}
          {other && (
            <Delta value={run.durationMs} of={other.durationMs} noise={noise} format={formatDuration} />
          )}
        </span>
        <span>
          {formatCount(tokens(run)).replace(/^0$/, '–')} tokens{' '}
          {other && <Delta value={tokens(run)} of={tokens(other)} noise={noise} format={formatCount} />}
        </span>
        <span>
          {formatCost(run.costUsd)}{' '}
          {other && <Delta value={run.costUsd} of={other.costUsd} noise={noise} format={formatCost} />}
        </span>
        <span>
          {run.llmCalls} + {run.toolCalls} calls
        </span>
      </p>
    </section>
  )
}
