/** Everything about one span. */
import { useEffect, useMemo, useState } from 'preact/hooks'
import { NAMES, readText } from '../../src/viewer/model/attributes.ts'
import { formatBytes, formatCost, formatCount, formatDuration } from '../../src/viewer/model/format.ts'
import { mockRule } from '../../src/viewer/model/mock-rule.ts'
import type { SpanRecord, SpanRow } from '../../src/viewer/model/span.ts'
import { endOf } from '../../src/viewer/model/timing.ts'
import { flatten, type TreeNode } from '../../src/viewer/model/tree.ts'
import { useLoaded, useSource } from './hooks.ts'
import { Icon } from './icons.tsx'
import { Button, CopyButton, Text } from './parts.tsx'
import { pathOf } from './route.ts'
import { RowName } from './row-name.tsx'
import { SpanDetails } from './span-details.tsx'
import { LongText } from './value.tsx'

/** So much of what is cut at first is read without being asked for. */
const WHOLE_CHARS = 2_000_000

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
  const [all, setAll] = useState(false)
  const { value, error } = useLoaded(
    () => source.span(traceId, spanId, all),
    [traceId, spanId, all, ended, ended === 0 ? version : 0],
  )
  const longChars = Object.values(value?.cut ?? {}).reduce((sum, chars) => sum + chars, 0)
  // Cut JSON is no JSON: what is not too much is read whole.
  useEffect(() => {
    if (longChars > 0 && longChars <= WHOLE_CHARS) setAll(true)
  }, [longChars])
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
        {row && <PanelFacts row={row} nowUs={nowUs} standIn={standInOf(value?.span)} />}
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
        {longChars > WHOLE_CHARS && (
          <p class="notice">
            Long values are cut here.{' '}
            <button type="button" class="more" onClick={() => setAll(true)}>
              Read all {formatBytes(longChars)}
            </button>
          </p>
        )}
        {value &&
          (raw ? (
            <Raw span={value.span} />
          ) : (
            <SpanDetails
              span={value.span}
              row={row}
              cut={value.cut}
              version={ended === 0 ? version : 0}
              onSelect={onSelect}
            />
          ))}
      </div>
    </aside>
  )
}

/** What answered in the place of a tool or a model. */
function standInOf(span: SpanRecord | undefined): string {
  if (!span) return ''
  const rule = readText(span.attributes, NAMES.mockRule)
  return [readText(span.attributes, NAMES.mockSource), rule && `rule ${rule}`].filter(Boolean).join(', ')
}

function PanelFacts({ row, nowUs, standIn }: { row: SpanRow; nowUs: number; standIn: string }) {
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
  if (row.costUsd) facts.push(['Cost', `${formatCost(row.costUsd)}${row.costEstimated ? ', estimated' : ''}`])
  if (row.human?.waitedMs) facts.push(['Waited', formatDuration(row.human.waitedMs)])
  if (row.human?.approver) facts.push(['By', row.human.approver])
  if (row.human?.identity) facts.push(['Identity', row.human.identity])
  if (row.human?.channel) facts.push(['Channel', row.human.channel])
  if (row.outcome) facts.push(['Outcome', row.outcome])
  if (standIn) facts.push(['Mocked by', standIn])
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
