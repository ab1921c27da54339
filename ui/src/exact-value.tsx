/** A value that somebody decides on: all of it, typed, and told when its end has been in sight. */
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { type ExactLine, exactLines, exactText } from '../../src/viewer/model/exact-json.ts'
import { type DiffLine, diffLines } from '../../src/viewer/model/text-diff.ts'

/** More lines than this are one text without colours. */
const MAX_COLOURED = 2_000
const MAX_INDENT = 24

export function ExactValue({
  value,
  label,
  onSeen,
}: {
  value: unknown
  label: string
  /** Its end was in sight, whatever had to be scrolled for that. */
  onSeen: () => void
}) {
  // Drawn once: the clock above goes on each second, and many requests of thousands of lines may stand below each other.
  const drawn = useMemo(() => {
    const lines = exactLines(value)
    if (lines.length > MAX_COLOURED) return <pre dir="ltr">{exactText(value)}</pre>
    return lines.map((line, index) => <Line key={index} line={line} />)
  }, [value])
  const end = useRef<HTMLSpanElement>(null)
  useEffect(() => {
    const observer = new IntersectionObserver((entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return
      observer.disconnect()
      onSeen()
    })
    observer.observe(end.current!)
    return () => observer.disconnect()
  }, [value])
  return (
    <div class="exact" tabIndex={0} role="region" aria-label={label}>
      {drawn}
      <span class="exact-end" ref={end} />
    </div>
  )
}

function Line({ line }: { line: ExactLine }) {
  return (
    <div
      class="exact-line"
      dir="ltr"
      style={{ paddingLeft: `${Math.min(line.depth, MAX_INDENT) * 2 + 2}ch` }}
    >
      {line.parts.map(({ kind, text }, index) => (
        <bdi key={index} class={`exact-${kind}`}>
          {text}
        </bdi>
      ))}
    </div>
  )
}

/** What somebody changed of it. */
export function ExactChange({ before, after, label }: { before: unknown; after: unknown; label: string }) {
  const drawn = useMemo(() => {
    const lines = diffLines(exactText(before), exactText(after))
    if (!lines.every(({ kind }) => kind === 'same')) return lines.map(changedLine)
    return <p class="hint">Nothing: this is what was asked.</p>
  }, [before, after])
  return (
    <div class="exact change" tabIndex={0} role="region" aria-label={label}>
      {drawn}
    </div>
  )
}

const SIGNS: Record<DiffLine['kind'], string> = { same: ' ', added: '+', removed: '−' }

function changedLine({ kind, text }: DiffLine, index: number) {
  return (
    <div key={index} class={`exact-line exact-${kind}`} dir="ltr">
      {SIGNS[kind]} <bdi>{text}</bdi>
    </div>
  )
}
