/** Everything about one span. */
import { useMemo, useState } from 'preact/hooks'
import { formatCost, formatCount, formatDuration } from '../../src/viewer/model/format.ts'
import { mockRule } from '../../src/viewer/model/mock-rule.ts'
import type { SpanRecord, SpanRow } from '../../src/viewer/model/span.ts'
import { endOf } from '../../src/viewer/model/timing.ts'
import { flatten, type TreeNode } from '../../src/viewer/model/tree.ts'
import { useLoaded, useSource } from './hooks.ts'
import { Icon } from './icons.tsx'
import { Button, CopyButton, LongText, Text } from './parts.tsx'
import { pathOf } from './route.ts'
import { RowName } from './row-name.tsx'
import { SpanDetails } from './span-details.tsx'

interface Props {
  traceId: string
  spanId: string
  tree: TreeNode
  nowUs: number
  version: number
  onSelect: (spanId: string) => void
}

export function SpanPanel({ traceId, spanId, tree, nowUs, version, onSelect }: Props) {
  const source = useSource()
  const row = useMemo(() => flatten(tree).find((node) => node.row.spanId === spanId)?.row, [tree, spanId])
  const ended = row?.endUs ?? 0
  const { value, error } = useLoaded(
    () => source.span(traceId, spanId),
    [traceId, spanId, ended, ended === 0 ? version : 0],
  )
  const [raw, setRaw] = useState(false)
  const whole = async () => JSON.stringify((await source.span(traceId, spanId, true)).span, null, 2)
  // What is shown may be cut; what is copied is not.
  const rule = async () => mockRule((await source.span(traceId, spanId, true)).span) ?? ''
  return (
    <aside class="panel" aria-label="Span">
      <header>
        <div class="panel-title">
          {row && <Icon name={row.category} />}
          <h2 class="name">{row ? <RowName row={row} plain /> : 'Span'}</h2>
          <Button icon="close" title="Close (Esc)" onClick={() => onSelect('')} />
        </div>
        {row && <PanelFacts row={row} nowUs={nowUs} />}
        <div class="actions">
          <CopyButton text={whole} title="The whole span as JSON">
            JSON
          </CopyButton>
          {row?.category === 'tool' && (
            <CopyButton text={rule} title="This call as a rule for mockTools">
              mock() rule
            </CopyButton>
          )}
          <CopyButton
            text={() =>
              new URL(pathOf({ page: 'run', traceId, view: 'timeline', spanId }), location.href).href
            }
            title="A link to this span"
          >
            Link
          </CopyButton>
          <button
            type="button"
            class={`chip ${raw ? 'on' : ''}`}
            aria-pressed={raw}
            onClick={() => setRaw(!raw)}
          >
            Raw
          </button>
        </div>
      </header>
      <div class="panel-body" tabIndex={0} role="region" aria-label="Span details">
        {error && <p class="notice error">{error}</p>}
        {value &&
          (raw ? <Raw span={value.span} /> : <SpanDetails span={value.span} row={row} cut={value.cut} />)}
      </div>
    </aside>
  )
}

function PanelFacts({ row, nowUs }: { row: SpanRow; nowUs: number }) {
  const facts: [string, string][] = [['Duration', formatDuration((endOf(row, nowUs) - row.startUs) / 1000)]]
  if (row.inputTokens)
    facts.push([
      'In',
      `${formatCount(row.inputTokens)}${row.cachedTokens ? ` (${formatCount(row.cachedTokens)} cached)` : ''}`,
    ])
  if (row.outputTokens)
    facts.push([
      'Out',
      `${formatCount(row.outputTokens)}${row.reasoningTokens ? ` (${formatCount(row.reasoningTokens)} reasoning)` : ''}`,
    ])
  if (row.costUsd) facts.push(['Cost', formatCost(row.costUsd)])
  if (row.human?.waitedMs) facts.push(['Waited', formatDuration(row.human.waitedMs)])
  if (row.human?.approver) facts.push(['By', row.human.approver])
  if (row.outcome) facts.push(['Outcome', row.outcome])
  return (
    <dl class="panel-facts">
      {facts.map(([name, text]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            <Text>{text}</Text>
          </dd>
        </div>
      ))}
    </dl>
  )
}

function Raw({ span }: { span: SpanRecord }) {
  return <LongText text={JSON.stringify(span, null, 2)} mono />
}
