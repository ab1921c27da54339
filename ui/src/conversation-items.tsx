/** What a conversation is made of, as it is drawn. */
import type {
  CompactionItem,
  HumanItem,
  MessageItem,
  StepItem,
  ToolItem,
} from '../../src/viewer/model/conversation-items.ts'
import {
  counted,
  formatAnswer,
  formatCompaction,
  formatCount,
  formatDuration,
} from '../../src/viewer/model/format.ts'
import type { Piece } from '../../src/viewer/model/message-pieces.ts'
import { Icon } from './icons.tsx'
import { Picture } from './markdown.tsx'
import { Badge, Text } from './parts.tsx'
import { gateKind } from './row-name.tsx'
import { LongText, Value } from './value.tsx'

type OnSelect = (spanId: string) => void

/** Where a model is called: its number, what it was sent, and what of that is new. */
export function StepLine({ item, onSelect }: { item: StepItem; onSelect: OnSelect }) {
  const facts = [
    item.messages > 0 && `${counted(item.messages, 'message')}, ${item.added} new`,
    item.gone > 0 && `${item.gone} gone`,
    item.inputTokens + item.outputTokens > 0 &&
      `${formatCount(item.inputTokens)} → ${formatCount(item.outputTokens)} tokens`,
    item.durationMs > 0 && formatDuration(item.durationMs),
  ]
  return (
    <button
      type="button"
      class="step-line"
      title="What the model saw here"
      onClick={() => onSelect(item.spanId)}
    >
      <b class="step-number">{item.step}</b>
      <Text>{item.model || 'model call'}</Text>
      <span class="hint">{facts.filter(Boolean).join(' · ')}</span>
      {item.cachedTokens > 0 && item.inputTokens > 0 && (
        <Badge kind="cache">{Math.round((item.cachedTokens / item.inputTokens) * 100)}% cached</Badge>
      )}
      {item.ended && (
        <Badge kind="human">
          <Text>{`ended by ${item.ended}`}</Text>
        </Badge>
      )}
    </button>
  )
}

const ROLE_NAMES: Record<string, string> = {
  system: 'System',
  developer: 'System',
  user: 'User',
  human: 'User',
  assistant: 'Assistant',
  model: 'Assistant',
  ai: 'Assistant',
  'not recorded': 'Not recorded',
}

export function MessageBlock({ item, onSelect }: { item: MessageItem; onSelect: OnSelect }) {
  const role = Object.hasOwn(ROLE_NAMES, item.role) ? ROLE_NAMES[item.role]! : item.role
  return (
    <article class={`bubble role-${role.toLowerCase().replace(/[^a-z]/g, '')}`}>
      <header>
        <h3>
          <Text>{role}</Text>
        </h3>
        <button type="button" class="to-span" onClick={() => onSelect(item.spanId)}>
          Span
        </button>
      </header>
      {item.pieces.map((piece, index) => (
        <PieceBlock key={index} piece={piece} onWhole={() => onSelect(item.spanId)} />
      ))}
    </article>
  )
}

function PieceBlock({ piece, onWhole }: { piece: Piece; onWhole?: (() => void) | undefined }) {
  if (piece.type === 'reasoning')
    return (
      <details class="reasoning">
        <summary>Reasoning</summary>
        <LongText text={piece.text} cutChars={piece.cutChars} onWhole={onWhole} />
      </details>
    )
  if (piece.type === 'data')
    return piece.cutChars > 0 ? (
      <LongText text={piece.text} cutChars={piece.cutChars} onWhole={onWhole} mono />
    ) : (
      <Value value={piece.text} />
    )
  if (piece.type === 'media')
    return (
      <p class="media">
        <Picture src={piece.src} words={piece.text} />
      </p>
    )
  return <LongText text={piece.text} cutChars={piece.cutChars} onWhole={onWhole} />
}

const OUTCOME_KINDS: Record<string, 'error' | 'human'> = {
  errored: 'error',
  waiting: 'human',
  parked: 'human',
}

export function ToolCard({ item, onSelect }: { item: ToolItem; onSelect: OnSelect }) {
  const whole = item.spanId ? () => onSelect(item.spanId) : undefined
  return (
    <article class={`tool-card ${item.error ? 'bad' : ''}`}>
      <header>
        <Icon name="tool" />
        <h3>
          <Text>{item.name || 'tool'}</Text>
        </h3>
        {item.mocked && <Badge kind="mocked">mocked</Badge>}
        {item.outcome && item.outcome !== 'completed' && item.outcome !== 'mocked' && (
          <Badge kind={OUTCOME_KINDS[item.outcome] ?? 'denied'}>
            <Text>{item.outcome}</Text>
          </Badge>
        )}
        {item.gates
          .filter((gate) => gate.decision !== 'proceed')
          .map((gate, index) => (
            <Badge key={index} kind={gateKind(gate)}>
              <Text>{`${gate.id}: ${gate.enforced ? '' : 'shadow '}${gate.decision.replace('_', ' ')}`}</Text>
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
        {item.asked && (
          <div>
            <h4>The model asked for</h4>
            <PieceBlock piece={item.asked} onWhole={whole} />
          </div>
        )}
        {item.args.text && (
          <div>
            <h4>{item.asked ? 'Called with' : 'Arguments'}</h4>
            <PieceBlock piece={item.args} onWhole={whole} />
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
              <PieceBlock piece={item.result} onWhole={whole} />
            </div>
          )
        )}
      </div>
    </article>
  )
}

export function HumanLine({ item, onSelect }: { item: HumanItem; onSelect: OnSelect }) {
  const said = item.action
    ? formatAnswer(item)
    : item.state === 'running'
      ? 'waiting for an answer'
      : 'asked, no answer recorded'
  return (
    <button type="button" class="line human" onClick={() => onSelect(item.spanId)}>
      <Icon name="human" />
      Approval
      <Badge kind="human">
        <Text>{said}</Text>
      </Badge>
      {item.reason && (
        <span class="hint">
          <Text>{item.reason}</Text>
        </span>
      )}
    </button>
  )
}

export function CompactionBlock({ item, onSelect }: { item: CompactionItem; onSelect: OnSelect }) {
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
