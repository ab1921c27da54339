/** Small pieces that every view uses. */
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { statusWord, visibleText } from '../../src/viewer/model/format.ts'
import type { RunStatus } from '../../src/viewer/model/span.ts'
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
  const [told, setTold] = useState('')
  const copy = async () => {
    // What was copied before would be pasted as this.
    const word = await toClipboard(text).then(
      () => 'Copied',
      () => 'Failed',
    )
    setTold(word)
    setTimeout(() => setTold(''), 1500)
  }
  return (
    <button type="button" class="button" onClick={() => void copy()} title={title}>
      <Icon name="copy" />
      {/* Both words take their place, so that nothing moves when one is swapped for the other. */}
      <span class="swap">
        <span class={told ? 'off' : ''}>{children ?? 'Copy'}</span>
        <span class={told ? '' : 'off'} role="status">
          {told}
        </span>
      </span>
    </button>
  )
}

/** A page by plain HTTP from another machine has no `navigator.clipboard`. */
async function toClipboard(text: () => string | Promise<string>): Promise<void> {
  const copied = await text()
  if (navigator.clipboard) return navigator.clipboard.writeText(copied)
  const take = (event: ClipboardEvent) => {
    event.clipboardData?.setData('text/plain', copied)
    event.preventDefault()
  }
  addEventListener('copy', take)
  try {
    if (!document.execCommand('copy')) throw new Error('The browser copied nothing.')
  } finally {
    removeEventListener('copy', take)
  }
}

export function Empty({
  title,
  isPage,
  children,
}: {
  title: string
  /** It is all there is on the page. */
  isPage?: boolean
  children?: ComponentChildren
}) {
  return (
    <div class="empty">
      {isPage ? <h1>{title}</h1> : <h2>{title}</h2>}
      {children}
    </div>
  )
}

/** Instead of a comparison. */
export const NotComparable = ({ why }: { why: string }) => (
  <main>
    <Empty title="These runs cannot be compared" isPage>
      <p>{why}</p>
    </Empty>
  </main>
)

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
