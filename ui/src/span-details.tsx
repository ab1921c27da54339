/** A span's content section by section, made readable. */
import { NAMES, readText } from '../../src/viewer/model/attributes.ts'
import { formatCompaction, formatDuration } from '../../src/viewer/model/format.ts'
import type { SpanRecord, SpanRow } from '../../src/viewer/model/span.ts'
import { stackOf } from '../../src/viewer/model/stack.ts'
import { ModelContent, SaidContent, ToolContent } from './call-content.tsx'
import { Icon } from './icons.tsx'
import { Badge, Text } from './parts.tsx'
import { pathOf } from './route.ts'
import { gateKind } from './row-name.tsx'
import { Section, Table } from './section.tsx'
import { LongText } from './value.tsx'

export function SpanDetails({
  span,
  row,
  cut,
  version,
  onSelect,
}: {
  span: SpanRecord
  row: SpanRow | undefined
  cut: Record<string, number>
  version: number
  onSelect: (spanId: string) => void
}) {
  const category = row?.category
  const stack = stackOf(span)
  return (
    <>
      {span.status.code === 2 && (
        <Section title="Error" kind="bad">
          <LongText
            text={
              span.status.message ||
              readText(span.attributes, NAMES.errorType) ||
              'The span ended with an error.'
            }
            mono
          />
          {stack && (
            <details class="event">
              <summary>Stack</summary>
              <LongText text={stack} mono />
            </details>
          )}
        </Section>
      )}
      {row?.gates && row.gates.length > 0 && (
        <Section title="Gates">
          <ul class="gates">
            {row.gates.map((gate, index) => (
              <li key={index}>
                <Icon name="gate" />
                <Text>{gate.id}</Text>
                <Badge kind={gateKind(gate)}>
                  <Text>{gate.decision.replace('_', ' ')}</Text>
                </Badge>
                {!gate.enforced && <Badge kind="shadow">shadow</Badge>}
                {gate.code && (
                  <code>
                    <Text>{gate.code}</Text>
                  </code>
                )}
                {gate.reason && <Text class="gate-reason">{gate.reason}</Text>}
                {gate.durationMs !== undefined && <span class="hint">{formatDuration(gate.durationMs)}</span>}
              </li>
            ))}
          </ul>
        </Section>
      )}
      {category === 'llm' && <ModelContent span={span} version={version} onSelect={onSelect} />}
      {category === 'tool' && <ToolContent span={span} version={version} />}
      {category === 'agent' && <SaidContent span={span} />}
      {category === 'compact' && row?.compaction && (
        <Section title="Compaction">
          <p>
            {formatCompaction(row.compaction)}
            {row.compaction.messagesBefore !== undefined &&
              `, ${row.compaction.messagesBefore}${row.compaction.messagesAfter === undefined ? '' : ` → ${row.compaction.messagesAfter}`} messages`}
          </p>
          <LongText text={readText(span.attributes, NAMES.compactionSummary)} />
        </Section>
      )}
      <Section title="Attributes" count={Object.keys(span.attributes).length}>
        <Table values={span.attributes} cut={cut} prefix="" />
      </Section>
      {span.events.length > 0 && (
        <Section title="Events" count={span.events.length}>
          {span.events.map((event, index) => (
            <details key={index} class="event">
              <summary>
                <Text>{event.name}</Text>
                <span class="hint">+{formatDuration((event.timeUs - span.startUs) / 1000)}</span>
              </summary>
              <Table values={event.attributes} cut={cut} prefix={`events.${index}.`} />
            </details>
          ))}
        </Section>
      )}
      {span.links.length > 0 && (
        <Section title="Links" count={span.links.length}>
          <ul class="links">
            {span.links.map((link, index) => (
              <li key={index}>
                <a
                  href={pathOf({ page: 'run', traceId: link.traceId, view: 'timeline', spanId: link.spanId })}
                >
                  <code>
                    {link.traceId.slice(0, 8)} / {link.spanId}
                  </code>
                </a>
              </li>
            ))}
          </ul>
        </Section>
      )}
      <Section title="Resource" count={Object.keys(span.resource).length} shut>
        <Table values={span.resource} cut={cut} prefix="resource." />
      </Section>
      <p class="ids">
        <span>
          Name{' '}
          <code>
            <Text>{span.name}</Text>
          </code>
        </span>
        <span>
          Span <code>{span.spanId}</code>
        </span>
        <span>
          Trace <code>{span.traceId}</code>
        </span>
        {span.scope.name && (
          <span>
            Scope{' '}
            <code>
              <Text>{`${span.scope.name} ${span.scope.version}`.trim()}</Text>
            </code>
          </span>
        )}
      </p>
    </>
  )
}
