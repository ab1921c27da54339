/** Two runs side by side. */
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { formatCost, formatCount, formatDuration } from '../../src/viewer/model/format.ts'
import type { DiffRow, DiffUnit } from '../../src/viewer/model/run-diff.ts'
import type { RunSummary } from '../../src/viewer/model/span.ts'
import { useKeys, useLoaded, useSource } from './hooks.ts'
import { Icon } from './icons.tsx'
import { Badge, Button, Empty, StatusMark, Text } from './parts.tsx'
import { go, listRoute, pathOf, type Route } from './route.ts'

export function CompareView({ route }: { route: Extract<Route, { page: 'compare' }> }) {
  const source = useSource()
  const [onlyChanges, setOnlyChanges] = useState(false)
  const { value, error } = useLoaded(() => source.diff(route.a, route.b), [route.a, route.b])
  useKeys({
    Escape: () => go(listRoute()),
    d: () => setOnlyChanges((before) => !before),
  })
  if (error)
    return (
      <main>
        <Empty title="These runs cannot be compared">
          <p>{error}</p>
        </Empty>
      </main>
    )
  if (!value) return <main class="compare-page" aria-busy="true" />
  const rows = value.rows.filter((row) => !onlyChanges || row.kind !== 'same')
  return (
    <main class="compare-page">
      <header class="compare-head">
        <div class="run-title">
          <a class="back" href="/" aria-label="All runs">
            ‹
          </a>
          <h1>Compare</h1>
          <p class="input">
            {value.same} the same, {value.changed} changed, {value.removed} only in A, {value.added} only in B
          </p>
          <div class="actions">
            <button
              type="button"
              class={`chip ${onlyChanges ? 'on' : ''}`}
              aria-pressed={onlyChanges}
              onClick={() => setOnlyChanges(!onlyChanges)}
            >
              Only differences
            </button>
            <Button onClick={() => go({ page: 'compare', a: route.b, b: route.a })}>Swap</Button>
          </div>
        </div>
        <div class="sides">
          <Side name="A" run={value.a} />
          <Side name="B" run={value.b} other={value.a} />
        </div>
      </header>
      <div class="compare-rows" tabIndex={0} role="region" aria-label="Aligned calls">
        {rows.length === 0 && (
          <Empty title="No differences">
            <p>Both runs did and said the same.</p>
          </Empty>
        )}
        <ol>
          {rows.map((row, index) => (
            <CompareRow key={index} row={row} a={value.a} b={value.b} />
          ))}
        </ol>
      </div>
    </main>
  )
}

function Side({ name, run, other }: { name: string; run: RunSummary; other?: RunSummary }) {
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
          {other && <Delta value={run.durationMs - other.durationMs} format={formatDuration} />}
        </span>
        <span>
          {formatCount(tokens(run))} tokens{' '}
          {other && <Delta value={tokens(run) - tokens(other)} format={formatCount} />}
        </span>
        <span>
          {formatCost(run.costUsd)}{' '}
          {other && <Delta value={run.costUsd - other.costUsd} format={formatCost} />}
        </span>
        <span>
          {run.llmCalls} + {run.toolCalls} calls
        </span>
      </p>
    </section>
  )
}

/** More is marked as worse: all that is compared here costs something. */
function Delta({ value, format }: { value: number; format: (value: number) => string }) {
  if (Math.abs(value) < 1e-9) return null
  return (
    <span class={`delta ${value > 0 ? 'more' : 'less'}`}>
      {value > 0 ? '+' : '−'}
      {format(Math.abs(value))}
    </span>
  )
}

const KIND_WORDS: Record<DiffRow['kind'], string> = {
  same: 'same',
  changed: 'changed',
  added: 'only in B',
  removed: 'only in A',
}

function CompareRow({ row, a, b }: { row: DiffRow; a: RunSummary; b: RunSummary }) {
  const heads = (
    <>
      <Unit unit={row.a} run={a} linked={row.changes.length === 0} />
      <span class={`kind kind-${row.kind}`}>{KIND_WORDS[row.kind]}</span>
      <Unit unit={row.b} run={b} other={row.a} linked={row.changes.length === 0} />
    </>
  )
  if (row.changes.length === 0)
    return (
      <li class={`pair pair-${row.kind}`}>
        <div class="heads">{heads}</div>
      </li>
    )
  return (
    <li class={`pair pair-${row.kind}`}>
      <details>
        <summary class="heads">{heads}</summary>
        <p class="unit-links">
          {row.a && (
            <UnitLink unit={row.a} run={a}>
              Open in A
            </UnitLink>
          )}
          {row.b && (
            <UnitLink unit={row.b} run={b}>
              Open in B
            </UnitLink>
          )}
        </p>
        {row.changes.map((change, index) => (
          <div key={index} class="change">
            <h3>{change.what}</h3>
            <pre class="diff">
              {change.lines.map((line, at) => (
                <span key={at} class={`line-${line.kind}`}>
                  {line.kind === 'added' ? '+ ' : line.kind === 'removed' ? '− ' : '  '}
                  <Text>{line.text}</Text>
                  {'\n'}
                </span>
              ))}
            </pre>
          </div>
        ))}
      </details>
    </li>
  )
}

function UnitLink({ unit, run, children }: { unit: DiffUnit; run: RunSummary; children: ComponentChildren }) {
  return (
    <a href={pathOf({ page: 'run', traceId: run.traceId, view: 'timeline', spanId: unit.spanId })}>
      {children}
    </a>
  )
}

function Unit({
  unit,
  run,
  other,
  linked,
}: {
  unit: DiffUnit | undefined
  run: RunSummary
  other?: DiffUnit | undefined
  /** Not inside what itself can be clicked; there the links stand below. */
  linked: boolean
}) {
  if (!unit) return <div class="unit none" />
  return (
    <div class={`unit cat-${unit.category} ${unit.error ? 'bad' : ''}`}>
      <Icon name={unit.category} />
      {linked ? (
        <UnitLink unit={unit} run={run}>
          <Text>{unit.label}</Text>
        </UnitLink>
      ) : (
        <span class="label">
          <Text>{unit.label}</Text>
        </span>
      )}
      {unit.mocked && <Badge kind="mocked">mocked</Badge>}
      {unit.error && <Badge kind="error">error</Badge>}
      <span class="hint preview">
        <Text>{unit.preview}</Text>
      </span>
      <span class="hint num">
        {formatDuration(unit.durationMs)}{' '}
        {other && <Delta value={unit.durationMs - other.durationMs} format={formatDuration} />}
      </span>
      {unit.tokens > 0 && (
        <span class="hint num">
          {formatCount(unit.tokens)} tok{' '}
          {other && <Delta value={unit.tokens - other.tokens} format={formatCount} />}
        </span>
      )}
    </div>
  )
}
