/** Everything about one span. */
import { type ComponentChildren, Fragment } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { readText } from '../../src/viewer/model/attributes.ts'
import {
  formatCompaction,
  formatCost,
  formatCount,
  formatDuration,
  formatWhole,
  visibleText,
} from '../../src/viewer/model/format.ts'
import { type Message, type MessagePart, modelCall, toolCallFacts } from '../../src/viewer/model/messages.ts'
import { mockRule } from '../../src/viewer/model/mock-rule.ts'
import type { AttributeValue, SpanRecord, SpanRow } from '../../src/viewer/model/span.ts'
import { endOf } from '../../src/viewer/model/timing.ts'
import { flatten, type TreeNode } from '../../src/viewer/model/tree.ts'
import { useLoaded, useSource } from './hooks.ts'
import { Icon } from './icons.tsx'
import { Badge, Button, CopyButton, LongText, Text, Value } from './parts.tsx'
import { pathOf } from './route.ts'
import { gateKind, RowName } from './timeline.tsx'

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
          <h2>{row ? <RowName row={row} plain /> : 'Span'}</h2>
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
          (raw ? <Raw span={value.span} /> : <Rendered span={value.span} row={row} cut={value.cut} />)}
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

function Rendered({
  span,
  row,
  cut,
}: {
  span: SpanRecord
  row: SpanRow | undefined
  cut: Record<string, number>
}) {
  const category = row?.category
  return (
    <>
      {span.status.code === 2 && (
        <Section title="Error" kind="bad">
          <LongText
            text={
              span.status.message || readText(span.attributes, 'errorType') || 'The span ended with an error.'
            }
            mono
          />
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
                {gate.durationMs !== undefined && <span class="hint">{formatDuration(gate.durationMs)}</span>}
              </li>
            ))}
          </ul>
        </Section>
      )}
      {category === 'llm' && <ModelContent span={span} />}
      {category === 'tool' && <ToolContent span={span} />}
      {category === 'agent' && <ModelContent span={span} />}
      {category === 'compact' && row?.compaction && (
        <Section title="Compaction">
          <p>
            {formatCompaction(row.compaction)}
            {row.compaction.messagesBefore !== undefined &&
              `, ${row.compaction.messagesBefore}${row.compaction.messagesAfter === undefined ? '' : ` → ${row.compaction.messagesAfter}`} messages`}
          </p>
          <LongText text={readText(span.attributes, 'compactionSummary')} />
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

function ModelContent({ span }: { span: SpanRecord }) {
  const call = useMemo(() => modelCall(span), [span])
  return (
    <>
      {call.output.length > 0 && (
        <Section title="Output">
          <Messages messages={call.output} />
        </Section>
      )}
      {call.input.length > 0 && (
        <Section title="Input" count={call.input.length}>
          <Messages messages={call.input} />
        </Section>
      )}
      {call.tools.length > 0 && (
        <Section title="Tools offered" count={call.tools.length} shut>
          {call.tools.map((tool, index) => (
            <details key={index} class="event">
              <summary>
                <Text>{tool.name}</Text>
                <span class="hint">about {formatCount(Math.ceil(tool.chars / 4))} tokens</span>
              </summary>
              <Value value={tool.value} />
            </details>
          ))}
        </Section>
      )}
    </>
  )
}

function ToolContent({ span }: { span: SpanRecord }) {
  const facts = useMemo(() => toolCallFacts(span), [span])
  return (
    <>
      {facts.args !== null && (
        <Section title="Arguments">
          <Value value={facts.args} />
        </Section>
      )}
      {facts.result !== null && (
        <Section title="Result">
          <Value value={facts.result} />
        </Section>
      )}
      {facts.args === null && facts.result === null && (
        <p class="hint pad">Arguments and result were not captured.</p>
      )}
    </>
  )
}

function Messages({ messages }: { messages: Message[] }) {
  return (
    <>
      {messages.map((message, index) => (
        <div key={index} class={`message role-${/^\w+$/.test(message.role) ? message.role : 'other'}`}>
          <h4>
            <Text>{message.role}</Text>
          </h4>
          {message.parts.map((part, at) => (
            <Part key={at} part={part} />
          ))}
          {message.parts.length === 0 && <p class="hint">empty</p>}
        </div>
      ))}
    </>
  )
}

function Part({ part }: { part: MessagePart }) {
  switch (part.type) {
    case 'text':
      return <LongText text={part.text} />
    case 'reasoning':
      return (
        <details class="reasoning">
          <summary>Reasoning</summary>
          <LongText text={part.text} />
        </details>
      )
    case 'tool_call':
      return (
        <div class="call">
          <h5>
            <Icon name="tool" />
            <Text>{part.name}</Text>
          </h5>
          <Value value={part.arguments} />
        </div>
      )
    case 'tool_result':
      return (
        <div class="call">
          <h5>
            Result{' '}
            <code>
              <Text>{part.id}</Text>
            </code>
          </h5>
          <Value value={part.result} />
        </div>
      )
    case 'compaction':
      return (
        <div class="call">
          <h5>
            <Icon name="compact" />
            Compaction
          </h5>
          <LongText text={part.text} />
        </div>
      )
    case 'media':
      return (
        <p class="hint">
          <Text>{`${part.modality} ${part.reference}`}</Text>
        </p>
      )
    default:
      return <Value value={part.value} />
  }
}

function Section({
  title,
  count,
  kind,
  shut,
  children,
}: {
  title: string
  count?: number
  kind?: string
  shut?: boolean
  children: ComponentChildren
}) {
  return (
    <details class={`section ${kind ?? ''}`} open={!shut}>
      <summary>
        <h3>{title}</h3>
        {count !== undefined && <span class="hint">{count}</span>}
      </summary>
      {children}
    </details>
  )
}

function Table({
  values,
  cut,
  prefix,
}: {
  values: Record<string, AttributeValue>
  cut: Record<string, number>
  prefix: string
}) {
  const entries = Object.entries(values)
  if (entries.length === 0) return <p class="hint">none</p>
  return (
    <dl class="attributes">
      {entries.map(([key, value]) => (
        <div key={key}>
          <dt>
            <Key>{key}</Key>
          </dt>
          <dd>
            {typeof value === 'string' && value.length <= 160 && !/^\s*[[{]/.test(value) ? (
              <Text>{value}</Text>
            ) : (
              <Value value={value} />
            )}
            {cut[prefix + key] !== undefined && (
              <small class="cut">
                cut; {formatWhole(cut[prefix + key]!)} characters in all, copy as JSON to have them
              </small>
            )}
          </dd>
        </div>
      ))}
    </dl>
  )
}

/** A long name breaks after a dot or an underscore, not in the middle of a word. */
function Key({ children }: { children: string }) {
  return (
    <bdi>
      {visibleText(children)
        .split(/(?<=[._])/)
        .map((part, index) => (
          <Fragment key={index}>
            {index > 0 && <wbr />}
            {part}
          </Fragment>
        ))}
    </bdi>
  )
}

function Raw({ span }: { span: SpanRecord }) {
  return <LongText text={JSON.stringify(span, null, 2)} mono />
}
