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
  const lines = useMemo(() => exactLines(value), [value])
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
      {lines.length > MAX_COLOURED ? (
        <pre dir="ltr">{exactText(value)}</pre>
      ) : (
        lines.map((line, index) => <Line key={index} line={line} />)
      )}
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
  const lines = useMemo(() => diffLines(exactText(before), exactText(after)), [before, after])
  const isSame = lines.every(({ kind }) => kind === 'same')
  return (
    <div class="exact change" tabIndex={0} role="region" aria-label={label}>
      {isSame ? <p class="hint">Nothing: this is what was asked.</p> : lines.map(changedLine)}
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
