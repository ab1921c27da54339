/** Small pieces that every view uses. */
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { formatWhole, statusWord, visibleText } from '../../src/viewer/model/format.ts'
import type { AttributeValue, RunStatus } from '../../src/viewer/model/span.ts'
import { Icon } from './icons.tsx'

/** Text that came from a span: always text, with what would act made visible. */
export function Text({ children, class: name }: { children: string; class?: string }) {
  return <bdi class={name}>{visibleText(children)}</bdi>
}

export function StatusMark({ status }: { status: RunStatus }) {
  const word = statusWord(status)
  return (
    <span class={`status status-${status}`}>
      <span class="dot" aria-hidden="true" />
      {word[0]!.toUpperCase() + word.slice(1)}
    </span>
  )
}

export function Badge({
  kind,
  children,
  title,
}: {
  kind?: string
  children: ComponentChildren
  title?: string
}) {
  return (
    <span class={`badge ${kind ? `badge-${kind}` : ''}`} title={title}>
      {children}
    </span>
  )
}

export function Button({
  icon,
  children,
  onClick,
  kind,
  title,
  disabled,
}: {
  icon?: string
  children?: ComponentChildren
  onClick: () => void
  kind?: string
  title?: string
  disabled?: boolean
}) {
  return (
    <button
      type="button"
      class={`button ${kind ?? ''}`}
      onClick={onClick}
      title={title}
      aria-label={children ? undefined : title}
      disabled={disabled}
    >
      {icon && <Icon name={icon} />}
      {children}
    </button>
  )
}

export function CopyButton({
  text,
  children,
  title,
}: {
  text: () => string | Promise<string>
  children?: ComponentChildren
  title?: string
}) {
  const [copied, setCopied] = useState(false)
  const copy = async () => {
    await navigator.clipboard.writeText(await text())
    setCopied(true)
    setTimeout(() => setCopied(false), 1500)
  }
  return (
    <button type="button" class="button" onClick={() => void copy()} title={title}>
      <Icon name="copy" />
      {/* Both words take their place, so that nothing moves when one is swapped for the other. */}
      <span class="swap">
        <span class={copied ? 'off' : ''}>{children ?? 'Copy'}</span>
        <span class={copied ? '' : 'off'} role="status">
          {copied ? 'Copied' : ''}
        </span>
      </span>
    </button>
  )
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children}
    </div>
  )
}

/** Above this, a value is shown as text: thousands of folding rows help nobody. */
const MAX_NODES = 3_000

/** JSON that folds; text that is JSON is opened as what it says. */
export function Value({ value }: { value: AttributeValue }) {
  const parsed = asJson(value)
  if (typeof parsed !== 'object' || parsed === null)
    return <LongText text={typeof parsed === 'string' ? parsed : String(parsed)} />
  if (countNodes(parsed) > MAX_NODES) return <LongText text={JSON.stringify(parsed, null, 2)} mono />
  return (
    <div class="json">
      <JsonNode value={parsed} depth={0} />
    </div>
  )
}

function JsonNode({ value, name, depth }: { value: AttributeValue; name?: string; depth: number }) {
  const label =
    name === undefined ? null : (
      <span class="json-key">
        <Text>{name}</Text>:{' '}
      </span>
    )
  if (typeof value !== 'object' || value === null) {
    return (
      <div class="json-row">
        {label}
        <span class={`json-${value === null ? 'null' : typeof value}`}>
          {typeof value === 'string' ? <Text>{value}</Text> : String(value)}
        </span>
      </div>
    )
  }
  const entries = Array.isArray(value)
    ? value.map((item, index) => [String(index), item] as const)
    : Object.entries(value)
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
  if (entries.length === 0)
    return (
      <div class="json-row">
        {label}
        {open + close}
      </div>
    )
  return (
    <details open={depth < 2}>
      <summary class="json-row">
        {label}
        <span class="json-fold">
          {open} {entries.length} {close}
        </span>
      </summary>
      <div class="json-inner">
        {entries.map(([key, item]) => (
          <JsonNode key={key} name={key} value={item} depth={depth + 1} />
        ))}
      </div>
    </details>
  )
}

function asJson(value: AttributeValue): AttributeValue {
  if (typeof value !== 'string' || !/^\s*[[{]/.test(value)) return value
  try {
    return JSON.parse(value) as AttributeValue
  } catch {
    return value
  }
}

function countNodes(value: AttributeValue): number {
  if (typeof value !== 'object' || value === null) return 1
  let count = 1
  for (const item of Object.values(value)) {
    count += countNodes(item as AttributeValue)
    if (count > MAX_NODES) break
  }
  return count
}

const LONG_CHARS = 1_200

export function LongText({ text, mono, cutChars = 0 }: { text: string; mono?: boolean; cutChars?: number }) {
  const [whole, setWhole] = useState(false)
  const shown = whole || text.length <= LONG_CHARS * 1.3 ? text : text.slice(0, LONG_CHARS)
  return (
    <div class={mono ? 'long mono' : 'long'}>
      <Prose text={shown} mono={mono} />
      {shown.length < text.length && (
        <button type="button" class="more" onClick={() => setWhole(true)}>
          Show {formatWhole(text.length - shown.length)} more characters
        </button>
      )}
      {cutChars > 0 && shown === text && (
        <p class="cut">
          {formatWhole(cutChars)} more characters are not shown here; export the run to read them.
        </p>
      )}
    </div>
  )
}

/** The little of Markdown that helps reading: code blocks, inline code, bold. Everything else stays as written. */
function Prose({ text, mono }: { text: string; mono?: boolean }) {
  if (mono)
    return (
      <pre class="plain">
        <Text>{text}</Text>
      </pre>
    )
  const blocks = text.split(/^```[^\n]*\n?/m)
  return (
    <>
      {blocks.map((block, index) =>
        index % 2 === 1 ? (
          <pre class="code" key={index}>
            <Text>{block.replace(/\n$/, '')}</Text>
          </pre>
        ) : block.trim() ? (
          <p class="prose" key={index}>
            {inline(block.trim())}
          </p>
        ) : null,
      )}
    </>
  )
}

function inline(text: string): ComponentChildren {
  return text.split(/(`[^`\n]{1,300}`|\*\*[^*\n]{1,300}\*\*)/).map((piece, index) => {
    if (piece.startsWith('`') && piece.length > 2)
      return (
        <code key={index}>
          <Text>{piece.slice(1, -1)}</Text>
        </code>
      )
    if (piece.startsWith('**') && piece.length > 4)
      return (
        <strong key={index}>
          <Text>{piece.slice(2, -2)}</Text>
        </strong>
      )
    return <Text key={index}>{piece}</Text>
  })
}

/** Why there is no answer, and what of the question was not understood. */
export function Notices({
  error,
  problems = [],
}: {
  error: string | undefined
  problems?: readonly string[]
}) {
  return (
    <>
      {error && <p class="notice error">{error}</p>}
      {problems.length > 0 && (
        <p class="notice" role="status">
          {problems.join(' ')}
        </p>
      )}
    </>
  )
}
