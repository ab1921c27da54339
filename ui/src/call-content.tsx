/** What a model or a tool was given, and what it gave back. */
import { useMemo, useState } from 'preact/hooks'
import { modelCall, toolCallFacts } from '../../src/viewer/model/call-content.ts'
import { CHARS_PER_TOKEN } from '../../src/viewer/model/context-size.ts'
import { counted, formatCount } from '../../src/viewer/model/format.ts'
import type { MessagePart } from '../../src/viewer/model/messages.ts'
import type { Seen, SeenMessage } from '../../src/viewer/model/seen.ts'
import type { AttributeValue, SpanRecord } from '../../src/viewer/model/span.ts'
import { ContextBar } from './context-growth.tsx'
import { useFollowed, useLoaded, useSource } from './hooks.ts'
import { Icon } from './icons.tsx'
import { Picture } from './markdown.tsx'
import { Text } from './parts.tsx'
import { Section } from './section.tsx'
import { LongText, Value } from './value.tsx'

interface CallProps {
  span: SpanRecord
  /** Again when it changes: a call that runs has more to tell later. */
  version: number
  onSelect: (spanId: string) => void
}

/** What the model said, and what it saw: what is new since the call before it, and the rest folded. */
export function ModelContent({ span, version, onSelect }: CallProps) {
  const source = useSource()
  const { traceId, spanId } = span
  const { value, error } = useFollowed(() => source.seen(traceId, spanId), [traceId, spanId], version, 0)
  if (error) return <p class="notice error">{error}</p>
  if (!value) return <p class="hint pad">Reading what it was sent …</p>
  return (
    <>
      {value.output.length > 0 && (
        <Section title="Output">
          <Messages messages={value.output} />
        </Section>
      )}
      {value.messages.length > 0 && <Input seen={value} span={span} onSelect={onSelect} />}
      {value.tools.length > 0 && (
        <Section
          title={value.hasOtherTools ? 'Tools offered, others than before' : 'Tools offered'}
          count={value.tools.length}
          shut
        >
          {value.tools.map((tool, index) => (
            <details key={index} class="event">
              <summary>
                <Text>{tool.name}</Text>
                <span class="hint">{size(tool.chars)}</span>
              </summary>
              <Value value={tool.json} />
            </details>
          ))}
        </Section>
      )}
    </>
  )
}

function Input({ seen, span, onSelect }: { seen: Seen; span: SpanRecord; onSelect: (id: string) => void }) {
  const { before, messages, gone } = seen
  const runs = useMemo(() => inRuns(messages), [messages])
  const told = messages.filter(({ role }) => role !== 'not recorded')
  const added = told.filter(({ isNew }) => isNew).length
  return (
    <Section title="What the model saw" count={told.length}>
      <ContextBar chars={seen.chars} />
      {before !== undefined && (
        <p class="since">
          {added === 0 ? 'Nothing is' : `${counted(added, 'message')} ${added === 1 ? 'is' : 'are'}`} new
          since{' '}
          <button type="button" class="more" onClick={() => onSelect(before)}>
            the call before
          </button>
        </p>
      )}
      {gone.length > 0 && (
        <details class="older gone">
          <summary>
            {counted(gone.length, 'message')} of the call before {gone.length === 1 ? 'is' : 'are'} no longer
            there
          </summary>
          <ul class="dropped">
            {gone.map((words, index) => (
              <li key={index}>
                <Text>{words}</Text>
              </li>
            ))}
          </ul>
        </details>
      )}
      {runs.map((run) =>
        run.isNew ? (
          <Messages key={run.from} messages={run.messages} />
        ) : (
          <Older key={run.from} run={run} span={span} />
        ),
      )}
    </Section>
  )
}

interface Run {
  isNew: boolean
  /** Index of its first message. */
  from: number
  messages: SeenMessage[]
}

/** Neighbours of which all are new, or none. */
function inRuns(messages: readonly SeenMessage[]): Run[] {
  const runs: Run[] = []
  for (const [from, message] of messages.entries()) {
    const last = runs.at(-1)
    if (last?.isNew === message.isNew) last.messages.push(message)
    else runs.push({ isNew: message.isNew, from, messages: [message] })
  }
  return runs
}

/** What the call before had, too: how much it is, and its content once somebody asks. */
function Older({ run, span }: { run: Run; span: SpanRecord }) {
  const source = useSource()
  const [open, setOpen] = useState(false)
  const { value, error } = useLoaded(
    async () => (open ? (await source.seen(span.traceId, span.spanId, true)).messages : undefined),
    [open, span.traceId, span.spanId],
  )
  const { from, messages } = run
  const chars = messages.reduce((sum, message) => sum + message.chars, 0)
  return (
    <details class="older" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        {counted(messages.length, 'older message')}
        <span class="hint">{size(chars)}</span>
      </summary>
      {error && <p class="notice error">{error}</p>}
      {open && value && <Messages messages={value.slice(from, from + messages.length)} folded />}
    </details>
  )
}

const size = (chars: number) => `about ${formatCount(Math.ceil(chars / CHARS_PER_TOKEN))} tokens`

/** What a span that is no call of a model says of messages. */
export function SaidContent({ span }: { span: SpanRecord }) {
  const call = useMemo(() => modelCall(span), [span])
  const shown = (messages: typeof call.input): SeenMessage[] =>
    messages.map(({ role, parts }) => ({
      role,
      chars: 0,
      isNew: true,
      first: '',
      parts: parts.map((part) => ({ part, cutChars: 0 })),
    }))
  return (
    <>
      {call.output.length > 0 && (
        <Section title="Output">
          <Messages messages={shown(call.output)} />
        </Section>
      )}
      {call.input.length > 0 && (
        <Section title="Input" count={call.input.length}>
          <Messages messages={shown(call.input)} />
        </Section>
      )}
    </>
  )
}

export function ToolContent({ span, version }: Omit<CallProps, 'onSelect'>) {
  const source = useSource()
  const { traceId, spanId } = span
  const facts = useMemo(() => toolCallFacts(span), [span])
  // It is beside what ran: where it cannot be read, that is all there is.
  const { value } = useFollowed(() => source.seen(traceId, spanId), [traceId, spanId], version, 0)
  return (
    <>
      {value?.asked !== undefined && (
        <Section title="The model asked for">
          <Value value={value.asked} />
        </Section>
      )}
      {facts.args !== null && (
        <Section title={value?.asked === undefined ? 'Arguments' : 'Called with'}>
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

/** Of more, each folds: a conversation may have thousands. */
const OPEN_MESSAGES = 50

function Messages({ messages, folded }: { messages: readonly SeenMessage[]; folded?: boolean }) {
  if (!folded && messages.length <= OPEN_MESSAGES)
    return (
      <>
        {messages.map((message, index) => (
          <OneMessage key={index} message={message} />
        ))}
      </>
    )
  return (
    <>
      {messages.map((message, index) => (
        <FoldedMessage key={index} message={message} />
      ))}
    </>
  )
}

function FoldedMessage({ message }: { message: SeenMessage }) {
  const [open, setOpen] = useState(false)
  return (
    <details class="older one" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <Text class="first">{message.first}</Text>
        <span class="hint">{size(message.chars)}</span>
      </summary>
      {open && <OneMessage message={message} />}
    </details>
  )
}

function OneMessage({ message }: { message: SeenMessage }) {
  return (
    <div class={`message role-${/^\w+$/.test(message.role) ? message.role : 'other'}`}>
      <h4>
        <Text>{message.role}</Text>
      </h4>
      {message.parts?.map(({ part, cutChars }, at) => (
        <Part key={at} part={part} cutChars={cutChars} />
      ))}
      {message.parts?.length === 0 && <p class="hint">empty</p>}
    </div>
  )
}

function Part({ part, cutChars }: { part: MessagePart; cutChars: number }) {
  switch (part.type) {
    case 'text':
      return <LongText text={part.text} cutChars={cutChars} />
    case 'reasoning':
      return (
        <details class="reasoning">
          <summary>Reasoning</summary>
          <LongText text={part.text} cutChars={cutChars} />
        </details>
      )
    case 'tool_call':
      return (
        <div class="call">
          <h5>
            <Icon name="tool" />
            <Text>{part.name}</Text>
          </h5>
          <Given value={part.arguments} cutChars={cutChars} />
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
          <Given value={part.result} cutChars={cutChars} />
        </div>
      )
    case 'compaction':
      return (
        <div class="call">
          <h5>
            <Icon name="compact" />
            Compaction
          </h5>
          <LongText text={part.text} cutChars={cutChars} />
        </div>
      )
    case 'media':
      return (
        <p class="hint">
          <Picture src={part.src} words={`${part.modality} ${part.reference}`} />
        </p>
      )
    default:
      return <Given value={part.value} cutChars={cutChars} />
  }
}

function Given({ value, cutChars }: { value: AttributeValue; cutChars: number }) {
  return cutChars > 0 ? <LongText text={String(value)} cutChars={cutChars} mono /> : <Value value={value} />
}
