/** What a model or a tool was given, and what it gave back. */
import { useMemo } from 'preact/hooks'
import { modelCall, toolCallFacts } from '../../src/viewer/model/call-content.ts'
import { formatCount } from '../../src/viewer/model/format.ts'
import type { Message, MessagePart } from '../../src/viewer/model/messages.ts'
import type { SpanRecord } from '../../src/viewer/model/span.ts'
import { Icon } from './icons.tsx'
import { LongText, Text, Value } from './parts.tsx'
import { Section } from './section.tsx'

export function ModelContent({ span }: { span: SpanRecord }) {
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

export function ToolContent({ span }: { span: SpanRecord }) {
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
