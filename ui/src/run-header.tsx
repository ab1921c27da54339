/** What a run is and what it came to, above all of its views. */
import { formatCost, formatCount, formatDuration, TOLD_BY_STATUS } from '../../src/viewer/model/format.ts'
import type { RunSummary, SpanRow } from '../../src/viewer/model/span.ts'
import type { TreeNode } from '../../src/viewer/model/tree.ts'
import { useSource } from './hooks.ts'
import { Badge, Button, StatusMark, Text } from './parts.tsx'
import { go, listRoute, pathOf, type Route } from './route.ts'
import { TimeBar } from './time-bar.tsx'
import { Waiting } from './waiting.tsx'
import { WhyLine } from './why.tsx'

export function RunHeader({
  summary,
  rows,
  tree,
  nowUs,
  route,
}: {
  summary: RunSummary
  rows: SpanRow[]
  /** Not until all of it is there. */
  tree: TreeNode | undefined
  nowUs: number
  route: Extract<Route, { page: 'run' }>
}) {
  const source = useSource()
  const running = summary.status === 'running' || summary.status === 'waiting'
  const ms = running ? Math.max(summary.durationMs, (nowUs - summary.startUs) / 1000) : summary.durationMs
  const cached = summary.inputTokens > 0 ? summary.cachedTokens / summary.inputTokens : 0
  const remove = async () => {
    if (!confirm('Remove this run from the viewer?')) return
    await source.remove(summary.traceId)
    go(listRoute())
  }
  return (
    <header class="run-header">
      <div class="run-title">
        {!source.offline && (
          <a class="back" href={pathOf(listRoute())} aria-label="All runs">
            ‹
          </a>
        )}
        <h1>
          <Text>{summary.title || 'unnamed'}</Text>
        </h1>
        <StatusMark status={summary.status} />
        {summary.reason && !TOLD_BY_STATUS.has(summary.reason) && (
          <Badge kind="error">
            <Text>{summary.reason}</Text>
          </Badge>
        )}
        <p class="input">
          <Text>{summary.inputPreview}</Text>
        </p>
        <div class="actions">
          {!source.offline && (
            <>
              <a
                class="button"
                href={`/api/runs/${summary.traceId}/export.html`}
                download
                title="One file that opens offline, with all views"
              >
                HTML
              </a>
              <a class="button" href={`/api/runs/${summary.traceId}/export.json`} download title="OTLP/JSON">
                JSON
              </a>
            </>
          )}
          {source.mayChange && <Button icon="trash" title="Remove this run" onClick={() => void remove()} />}
        </div>
      </div>
      <WhyLine tree={tree} summary={summary} onOpen={(spanId) => go({ ...route, spanId })} />
      <dl class="facts">
        <Fact name="Duration">{formatDuration(ms)}</Fact>
        <Fact name="Tokens in" note={cached > 0 ? `${Math.round(cached * 100)}% cached` : ''}>
          {formatCount(summary.inputTokens)}
        </Fact>
        <Fact name="Tokens out">{formatCount(summary.outputTokens)}</Fact>
        <Fact name="Cost">{formatCost(summary.costUsd)}</Fact>
        <Fact name="Model calls">{summary.llmCalls}</Fact>
        <Fact name="Tool calls" note={summary.mockedCalls > 0 ? `${summary.mockedCalls} mocked` : ''}>
          {summary.toolCalls}
        </Fact>
        <Fact name="Errors" kind={summary.errors > 0 ? 'bad' : ''}>
          {summary.errors}
        </Fact>
        <TimeBar tree={tree} nowUs={nowUs} />
      </dl>
      <Waiting
        traceId={summary.traceId}
        rows={rows}
        nowUs={nowUs}
        onOpen={(spanId) => go({ ...route, spanId })}
      />
    </header>
  )
}

function Fact({
  name,
  note,
  kind,
  children,
}: {
  name: string
  note?: string
  kind?: string
  children: string | number
}) {
  return (
    <div class={`fact ${kind ?? ''}`}>
      <dt>{name}</dt>
      <dd>
        {children}
        {note && <small>{note}</small>}
      </dd>
    </div>
  )
}
