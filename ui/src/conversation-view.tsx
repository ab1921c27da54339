/** The run as the chat it was. */
import type {
  AgentItem,
  CompactionItem,
  ConversationItem,
  HumanItem,
  MessageItem,
  ToolItem,
} from '../../src/viewer/model/conversation-items.ts'
import { formatCompaction, formatCount, formatDuration } from '../../src/viewer/model/format.ts'
import type { Piece } from '../../src/viewer/model/message-pieces.ts'
import { useLoaded, useSource } from './hooks.ts'
import { Icon } from './icons.tsx'
import { Badge, Empty, LongText, Text, Value } from './parts.tsx'
import { gateKind } from './row-name.tsx'

interface Props {
  traceId: string
  version: number
  selected: string
  onSelect: (spanId: string) => void
}

export function ConversationView({ traceId, version, selected, onSelect }: Props) {
  const source = useSource()
  const { value, error } = useLoaded(() => source.conversation(traceId), [traceId, version])
  if (error) return <p class="notice error">{error}</p>
  if (!value) return null
  if (value.items.length === 0)
    return (
      <Empty title="Nothing was said">
        <p>No model was called and no tool was used in this run.</p>
      </Empty>
    )
  return (
    <div class="conversation" tabIndex={0} role="region" aria-label="Conversation">
      <h2 class="sr">Conversation</h2>
      {!value.hasContent && (
        <p class="notice">
          Messages were not captured, so only what happened is shown. With hookspan,{' '}
          <code>captureContent: true</code> records them.
        </p>
      )}
      <Items items={value.items} selected={selected} onSelect={onSelect} />
    </div>
  )
}

type Select = Pick<Props, 'selected' | 'onSelect'>

function Items({ items, ...select }: { items: ConversationItem[] } & Select) {
  return (
    <ol class="items">
      {items.map((item, index) => (
        <li
          key={index}
          class={`item item-${item.kind} ${item.spanId !== '' && item.spanId === select.selected ? 'selected' : ''}`}
        >
          <Item item={item} {...select} />
        </li>
      ))}
    </ol>
  )
}

function Item({ item, ...select }: { item: ConversationItem } & Select) {
  switch (item.kind) {
    case 'message':
      return <MessageBlock item={item} onSelect={select.onSelect} />
    case 'tool':
      return <ToolCard item={item} onSelect={select.onSelect} />
    case 'human':
      return <HumanLine item={item} onSelect={select.onSelect} />
    case 'compaction':
      return <CompactionBlock item={item} onSelect={select.onSelect} />
    case 'agent':
      return <AgentBlock item={item} {...select} />
    case 'bare':
      return (
        <button type="button" class="line" onClick={() => select.onSelect(item.spanId)}>
          <Icon name="llm" />
          <Text>{item.model || 'model call'}</Text>
          <span class="hint">
            {formatCount(item.inputTokens)} → {formatCount(item.outputTokens)} tokens
          </span>
        </button>
      )
    case 'error':
      return (
        <button type="button" class="line bad" onClick={() => select.onSelect(item.spanId)}>
          <Icon name="error" />
          <Text>{item.text}</Text>
        </button>
      )
  }
}

const ROLE_NAMES: Record<string, string> = {
  system: 'System',
  developer: 'System',
  user: 'User',
  human: 'User',
  assistant: 'Assistant',
  model: 'Assistant',
  ai: 'Assistant',
}

function MessageBlock({ item, onSelect }: { item: MessageItem; onSelect: Props['onSelect'] }) {
  const role = Object.hasOwn(ROLE_NAMES, item.role) ? ROLE_NAMES[item.role]! : item.role
  return (
    <article class={`bubble role-${role.toLowerCase().replace(/[^a-z]/g, '')}`}>
      <header>
        <h3>
          <Text>{role}</Text>
        </h3>
        {item.model && (
          <span class="hint">
            <Text>{item.model}</Text>
          </span>
        )}
        {item.outputTokens ? (
          <span class="hint">
            {formatCount(item.inputTokens ?? 0)} → {formatCount(item.outputTokens)}
          </span>
        ) : null}
        {item.cachedTokens && item.inputTokens ? (
          <Badge kind="cache">{Math.round((item.cachedTokens / item.inputTokens) * 100)}% cached</Badge>
        ) : null}
        {item.durationMs ? <span class="hint">{formatDuration(item.durationMs)}</span> : null}
        <button type="button" class="to-span" onClick={() => onSelect(item.spanId)}>
          Span
        </button>
      </header>
      {item.pieces.map((piece, index) => (
        <PieceBlock key={index} piece={piece} />
      ))}
    </article>
  )
}

function PieceBlock({ piece }: { piece: Piece }) {
  if (piece.type === 'reasoning')
    return (
      <details class="reasoning">
        <summary>Reasoning</summary>
        <LongText text={piece.text} cutChars={piece.cutChars} />
      </details>
    )
  if (piece.type === 'data')
    return piece.cutChars > 0 ? (
      <LongText text={piece.text} cutChars={piece.cutChars} mono />
    ) : (
      <Value value={piece.text} />
    )
  if (piece.type === 'media')
    return (
      <p class="media">
        <Text>{piece.text}</Text>
      </p>
    )
  return <LongText text={piece.text} cutChars={piece.cutChars} />
}

function ToolCard({ item, onSelect }: { item: ToolItem; onSelect: Props['onSelect'] }) {
  return (
    <article class={`tool-card ${item.error ? 'bad' : ''}`}>
      <header>
        <Icon name="tool" />
        <h3>
          <Text>{item.name || 'tool'}</Text>
        </h3>
        {item.mocked && <Badge kind="mocked">mocked</Badge>}
        {item.outcome && item.outcome !== 'completed' && item.outcome !== 'mocked' && (
          <Badge kind={item.outcome === 'errored' ? 'error' : 'denied'}>{item.outcome}</Badge>
        )}
        {item.gates
          .filter((gate) => gate.decision !== 'proceed')
          .map((gate, index) => (
            <Badge key={index} kind={gateKind(gate)}>
              <Text>{`${gate.id}: ${gate.decision.replace('_', ' ')}`}</Text>
            </Badge>
          ))}
        {item.state === 'running' && <Badge kind="running">running</Badge>}
        {item.state === 'requested' && <Badge>asked for, no span</Badge>}
        {item.durationMs > 0 && <span class="hint">{formatDuration(item.durationMs)}</span>}
        {item.spanId && (
          <button type="button" class="to-span" onClick={() => onSelect(item.spanId)}>
            Span
          </button>
        )}
      </header>
      <div class="io">
        {item.args.text && (
          <div>
            <h4>Arguments</h4>
            <PieceBlock piece={item.args} />
          </div>
        )}
        {item.error ? (
          <div class="bad">
            <h4>Error</h4>
            <LongText text={item.error} mono />
          </div>
        ) : (
          item.result && (
            <div>
              <h4>Result</h4>
              <PieceBlock piece={item.result} />
            </div>
          )
        )}
      </div>
    </article>
  )
}

function HumanLine({ item, onSelect }: { item: HumanItem; onSelect: Props['onSelect'] }) {
  const said = item.action
    ? `${item.action}${item.approver ? ` by ${item.approver}` : ''}${item.waitedMs ? ` after ${formatDuration(item.waitedMs)}` : ''}`
    : item.state === 'running'
      ? 'waiting for an answer'
      : 'no answer recorded'
  return (
    <button type="button" class="line human" onClick={() => onSelect(item.spanId)}>
      <Icon name="human" />
      Approval
      <Badge kind="human">
        <Text>{said}</Text>
      </Badge>
    </button>
  )
}

function CompactionBlock({ item, onSelect }: { item: CompactionItem; onSelect: Props['onSelect'] }) {
  return (
    <article class="compaction">
      <button type="button" class="line" onClick={() => onSelect(item.spanId)}>
        <Icon name="compact" />
        {item.error ? 'Compaction failed' : 'Context compacted'}
        {item.tokensBefore !== undefined && <Badge kind="compact">{formatCompaction(item)}</Badge>}
        {item.messagesBefore !== undefined && item.messagesAfter !== undefined && (
          <span class="hint">
            {item.messagesBefore} → {item.messagesAfter} messages
          </span>
        )}
        {item.error && (
          <Badge kind="error">
            <Text>{item.error}</Text>
          </Badge>
        )}
      </button>
      {item.summary.text && (
        <div class="summary">
          <h4>Summary that replaced them</h4>
          <LongText text={item.summary.text} cutChars={item.summary.cutChars} />
        </div>
      )}
      {item.dropped.length > 0 && (
        <details>
          <summary>
            {item.dropped.length === 1 ? '1 message' : `${item.dropped.length} messages`} went
          </summary>
          <ul class="dropped">
            {item.dropped.map((text, index) => (
              <li key={index}>
                <Text>{text}</Text>
              </li>
            ))}
          </ul>
        </details>
      )}
    </article>
  )
}

function AgentBlock({ item, ...select }: { item: AgentItem } & Select) {
  return (
    <details class="agent-block" open>
      <summary>
        <Icon name="agent" />
        <Text>{item.label}</Text>
        {item.state === 'running' && <Badge kind="running">running</Badge>}
        {item.error && (
          <Badge kind="error">
            <Text>{item.error}</Text>
          </Badge>
        )}
      </summary>
      <Items items={item.items} {...select} />
    </details>
  )
}
