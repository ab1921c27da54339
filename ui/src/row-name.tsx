/** A span in words, for the timeline's row and the panel's title. */
import { formatAnswer, formatCompaction, formatCount } from '../../src/viewer/model/format.ts'
import { rowTitle } from '../../src/viewer/model/row-title.ts'
import type { GateDecision, SpanRow } from '../../src/viewer/model/span.ts'
import { Badge, Text } from './parts.tsx'

/** What the row is about, in words; the span's raw name is in its panel. */
export function RowName({
  row,
  plain,
  tries,
}: {
  row: SpanRow
  plain?: boolean
  /** More than one where it failed before. */
  tries?: number | undefined
}) {
  const gate = row.category === 'gate' ? row.gates?.[0] : undefined
  return (
    <>
      <Text class="what">{rowTitle(row)}</Text>
      {row.category === 'human' && (
        <Badge kind="human">
          {row.human?.action ? (
            <Text>{formatAnswer(row.human)}</Text>
          ) : row.state === 'running' ? (
            'waiting'
          ) : (
            <Text>{row.outcome || 'asked'}</Text>
          )}
        </Badge>
      )}
      {row.compaction?.tokensBefore !== undefined && (
        <Badge kind="compact">{formatCompaction(row.compaction)}</Badge>
      )}
      {gate && (
        <Badge kind={gateKind(gate)} title={gate.code}>
          {gate.enforced ? '' : 'shadow: '}
          <Text>{gate.decision.replace('_', ' ')}</Text>
        </Badge>
      )}
      {tries !== undefined && <Badge title="The same failed before, and was tried again">try {tries}</Badge>}
      {row.mocked && <Badge kind="mocked">mocked</Badge>}
      {(row.outcome === 'denied' || row.outcome === 'rejected' || row.outcome === 'skipped') && (
        <Badge kind="denied">{row.outcome}</Badge>
      )}
      {(row.outcome === 'waiting' || row.outcome === 'parked') && row.category !== 'human' && (
        <Badge kind="human">{row.outcome}</Badge>
      )}
      {row.state === 'running' && row.category !== 'human' && row.outcome !== 'waiting' && (
        <Badge kind="running">running</Badge>
      )}
      {row.state === 'interrupted' && <Badge kind="error whole">interrupted</Badge>}
      {row.error && !plain && (
        <Badge kind="error">
          <Text>{row.errorText || 'error'}</Text>
        </Badge>
      )}
      {row.category === 'tool' && !row.error && !plain && <Text class="hint">{row.preview}</Text>}
      {row.category === 'llm' && row.inputTokens > 0 && !plain && (
        <span class="hint">
          {formatCount(row.inputTokens)} → {formatCount(row.outputTokens)}
        </span>
      )}
      {row.category === 'llm' && row.cachedTokens > 0 && !plain && (
        <Badge kind="cache" title="Input tokens read from the prompt cache">
          {Math.round((row.cachedTokens / Math.max(1, row.inputTokens)) * 100)}% cached
        </Badge>
      )}
    </>
  )
}

/** Red for what was refused, amber for what a person decides, grey for what only would have been. */
export function gateKind(gate: GateDecision): string | undefined {
  if (gate.decision === 'proceed') return undefined
  if (!gate.enforced) return 'shadow'
  return gate.decision === 'require_approval' ? 'human' : gate.decision === 'deny' ? 'denied' : 'cache'
}
