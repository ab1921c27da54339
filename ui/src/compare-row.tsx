/** What two runs did in the same place. */
import type { ComponentChildren } from 'preact'
import { badEnd, type DiffChange, type DiffUnit } from '../../src/viewer/model/diff-changes.ts'
import { formatCount, formatDuration } from '../../src/viewer/model/format.ts'
import { type DiffRow, isDifference, wordsOf } from '../../src/viewer/model/run-diff.ts'
import type { RunSummary } from '../../src/viewer/model/span.ts'
import { Icon } from './icons.tsx'
import { Badge, Text } from './parts.tsx'
import { pathOf } from './route.ts'

/** More is marked as worse: all that is compared here costs something. What is within the noise is not told. */
export function Delta({
  value,
  of,
  noise,
  format,
}: {
  value: number
  of: number
  noise: number
  format: (value: number) => string
}) {
  const by = value - of
  if (Math.abs(by) < 1e-9 || Math.abs(by) <= noise * Math.max(value, of)) return null
  return (
    <span class={`delta ${by > 0 ? 'more' : 'less'}`}>
      {by > 0 ? '+' : '−'}
      {format(Math.abs(by))}
    </span>
  )
}

interface Props {
  row: DiffRow
  a: RunSummary
  b: RunSummary
  /** The share of words that may differ. */
  noise: number
  /** Here the runs part. */
  diverges: boolean
  /** It is stood on. */
  at: boolean
  open: boolean
  onToggle: (open: boolean) => void
}

export function CompareRow({ row, a, b, noise, diverges, at, open, onToggle }: Props) {
  const folds = row.changes.length > 0
  const differs = isDifference(row, noise)
  const heads = (
    <>
      <Unit unit={row.a} run={a} noise={noise} linked={!folds} />
      <Kinds row={row} noise={noise} />
      <Unit unit={row.b} run={b} other={row.a} noise={noise} linked={!folds} />
    </>
  )
  return (
    <li
      class={`pair pair-${row.kind} ${differs ? '' : 'muted'} ${diverges ? 'diverges' : ''} ${at ? 'at' : ''}`}
    >
      {diverges && <p class="parting">Diverges here: {wordsOf(row).join(', ')}</p>}
      {folds ? (
        <details open={open} onToggle={(event) => event.currentTarget.open !== open && onToggle(!open)}>
          <summary class="heads">{heads}</summary>
          {open && <Changes row={row} a={a} b={b} noise={noise} />}
        </details>
      ) : (
        <div class="heads">{heads}</div>
      )}
    </li>
  )
}

/** What kind of difference it is, in the middle. */
function Kinds({ row, noise }: { row: DiffRow; noise: number }) {
  const isNoise = ({ difference }: DiffChange) => noise > 0 && difference <= noise
  if (row.kind !== 'changed')
    return (
      <span class={`kinds kind kind-${row.moved ? 'moved' : row.kind}`}>
        {row.kind === 'same' ? 'same' : wordsOf(row)[0]}
      </span>
    )
  return (
    <span class="kinds">
      {row.changes.map((change, index) => (
        <span
          key={index}
          class={`kind ${change.inherited || isNoise(change) ? 'kind-muted' : 'kind-changed'}`}
          title={
            change.inherited
              ? 'It differs by what the runs said or were given before'
              : `${Math.round(change.difference * 100)}% of the words`
          }
        >
          {change.what}
          {change.inherited ? ' inherited' : ` ${Math.max(1, Math.round(change.difference * 100))}%`}
        </span>
      ))}
    </span>
  )
}

function Changes({ row, a, b, noise }: Pick<Props, 'row' | 'a' | 'b' | 'noise'>) {
  return (
    <>
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
      {row.changes.map((change, index) => {
        const muted = change.inherited || (noise > 0 && change.difference <= noise)
        return (
          <details key={index} class={`change ${muted ? 'muted' : ''}`} open={!muted}>
            <summary>
              <h3>{change.what}</h3>
              {change.inherited && <span class="hint">only by what was said or given before</span>}
            </summary>
            <pre class="diff">
              {change.lines.map((line, at) => (
                <span key={at} class={`line-${line.kind}`}>
                  {line.kind === 'added' ? '+ ' : line.kind === 'removed' ? '− ' : '  '}
                  <Text>{line.text}</Text>
                  {'\n'}
                </span>
              ))}
            </pre>
          </details>
        )
      })}
    </>
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
  noise,
  linked,
}: {
  unit: DiffUnit | undefined
  run: RunSummary
  other?: DiffUnit | undefined
  noise: number
  /** Not inside what itself can be clicked; there the links stand below. */
  linked: boolean
}) {
  if (!unit) return <div class="unit none" />
  const end = badEnd(unit)
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
      {end && <Badge kind={end === 'failed' ? 'error' : 'denied'}>{end === 'failed' ? 'error' : end}</Badge>}
      <span class="hint preview">
        <Text>{unit.preview}</Text>
      </span>
      <span class="hint num">
        {formatDuration(unit.durationMs)}{' '}
        {other && (
          <Delta value={unit.durationMs} of={other.durationMs} noise={noise} format={formatDuration} />
        )}
      </span>
      {unit.tokens > 0 && (
        <span class="hint num">
          {formatCount(unit.tokens)} tok{' '}
          {other && <Delta value={unit.tokens} of={other.tokens} noise={noise} format={formatCount} />}
        </span>
      )}
      {unit.reply && (
        <span class="reply">
          <Text>{unit.reply}</Text>
        </span>
      )}
    </div>
  )
}
