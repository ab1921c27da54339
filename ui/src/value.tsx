/** What was said and handed over, to be read: texts, and JSON however large it is. */
import { createContext } from 'preact'
import { useContext, useMemo, useState } from 'preact/hooks'
import { formatWhole } from '../../src/viewer/model/format.ts'
import { parseJson } from '../../src/viewer/model/json-text.ts'
import type { AttributeValue } from '../../src/viewer/model/span.ts'
import { Markdown, Words } from './markdown.tsx'
import { Text } from './parts.tsx'

/** Items of a list or an object that are drawn at once; further ones fold in groups of so many, groups in groups. */
const GROUP = 100
/** As many values are open when they come into sight. */
const OPEN_VALUES = 60

/** JSON that folds; text that is JSON is opened as what it says. */
export function Value({ value }: { value: AttributeValue }) {
  const parsed = useMemo(() => asJson(value), [value])
  if (typeof parsed !== 'object' || parsed === null)
    return <LongText text={typeof parsed === 'string' ? parsed : String(parsed)} />
  const openDepth = countTo(parsed, OPEN_VALUES) < OPEN_VALUES ? 3 : 1
  return (
    <div class="json" dir="ltr">
      <JsonNode value={parsed} depth={0} openDepth={openDepth} />
    </div>
  )
}

interface NodeProps {
  value: AttributeValue
  name?: string
  depth: number
  openDepth: number
}

function JsonNode({ value, name, depth, openDepth }: NodeProps) {
  const [open, setOpen] = useState(depth < openDepth)
  const label = name === undefined ? null : <Label name={name} />
  if (typeof value === 'string') return <JsonText text={value} label={label} />
  if (typeof value !== 'object' || value === null) {
    return (
      <div class="json-row">
        {label}
        <span class={`json-${value === null ? 'null' : typeof value}`}>{String(value)}</span>
      </div>
    )
  }
  const isList = Array.isArray(value)
  const keys = isList ? undefined : Object.keys(value)
  const count = isList ? value.length : keys!.length
  const [first, last] = isList ? ['[', ']'] : ['{', '}']
  if (count === 0)
    return (
      <div class="json-row">
        {label}
        {first}
        {last}
      </div>
    )
  const item = (index: number) => {
    const key = keys ? keys[index]! : String(index)
    const inner = isList ? value[index]! : value[key]!
    return <JsonNode key={key} name={key} value={inner} depth={depth + 1} openDepth={openDepth} />
  }
  // What is folded does not exist.
  return (
    <details open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary class="json-row">
        {label}
        <span class="json-fold">
          {first} {formatWhole(count)} {last}
        </span>
      </summary>
      {open && (
        <div class="json-inner">
          <Items from={0} to={count} item={item} />
        </div>
      )}
    </details>
  )
}

type Item = (index: number) => preact.JSX.Element

function Items({ from, to, item }: { from: number; to: number; item: Item }) {
  if (to - from <= GROUP) return <>{Array.from({ length: to - from }, (_, at) => item(from + at))}</>
  let size = GROUP
  while ((to - from) / size > GROUP) size *= GROUP
  const groups = Array.from({ length: Math.ceil((to - from) / size) }, (_, at) => from + at * size)
  return (
    <>
      {groups.map((start) => (
        <Group key={start} from={start} to={Math.min(to, start + size)} item={item} shut={start > from} />
      ))}
    </>
  )
}

function Group({ from, to, item, shut }: { from: number; to: number; item: Item; shut: boolean }) {
  const [open, setOpen] = useState(!shut)
  return (
    <details open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary class="json-row">
        <span class="json-fold">
          {formatWhole(from)} … {formatWhole(to - 1)}
        </span>
      </summary>
      {open && (
        <div class="json-inner">
          <Items from={from} to={to} item={item} />
        </div>
      )}
    </details>
  )
}

function Label({ name }: { name: string }) {
  return (
    <span class="json-key">
      <Text>{name}</Text>:{' '}
    </span>
  )
}

function JsonText({ text, label }: { text: string; label: preact.JSX.Element | null }) {
  const { shown, more } = useStart(text)
  return (
    <div class="json-row">
      {label}
      <span class="json-string">
        <Text>{shown}</Text>
      </span>
      {more}
    </div>
  )
}

function asJson(value: AttributeValue): AttributeValue {
  if (typeof value !== 'string' || !/^\s*[[{]/.test(value)) return value
  return (parseJson(value) ?? value) as AttributeValue
}

function countTo(value: AttributeValue, limit: number): number {
  if (typeof value !== 'object' || value === null) return 1
  let count = 1
  for (const key in value) {
    count += countTo((value as Record<string, AttributeValue>)[key]!, limit - count)
    if (count >= limit) break
  }
  return count
}

const LONG_CHARS = 1_200
/** Drawn at once of what is longer still: each press of the button shows as much again. */
const PAGE_CHARS = 100_000

/** The beginning of a long text, and the button to the rest. */
function useStart(text: string) {
  const [chars, setChars] = useState(LONG_CHARS)
  const shown = text.length <= chars * 1.3 ? text : text.slice(0, chars)
  const rest = text.length - shown.length
  const more = rest > 0 && (
    <button
      type="button"
      class="more"
      onClick={() => setChars(chars === LONG_CHARS ? PAGE_CHARS : chars + PAGE_CHARS)}
    >
      {rest <= PAGE_CHARS * 1.3
        ? `Show ${formatWhole(rest)} more characters`
        : `Show ${formatWhole(PAGE_CHARS)} of ${formatWhole(rest)} more characters`}
    </button>
  )
  return { shown, more }
}

/** Whether texts are shown as they were written, not as Markdown. */
export const AsWritten = createContext(false)

export function LongText({
  text,
  mono,
  cutChars = 0,
  onWhole,
}: {
  text: string
  mono?: boolean
  cutChars?: number
  /** To where all of it is. */
  onWhole?: (() => void) | undefined
}) {
  const asWritten = useContext(AsWritten)
  const { shown, more } = useStart(text)
  return (
    <div class={mono ? 'long mono' : 'long'}>
      {mono || asWritten ? (
        <pre class={mono ? 'plain' : 'plain as-written'} dir="auto">
          <Words>{shown}</Words>
        </pre>
      ) : (
        <Markdown text={shown} />
      )}
      {more}
      {cutChars > 0 && shown === text && (
        <p class="cut">
          {formatWhole(cutChars)} more characters are not shown here
          {onWhole ? (
            <>
              {'. '}
              <button type="button" class="more" onClick={onWhole}>
                Open the span
              </button>
            </>
          ) : (
            '; export the run to read them.'
          )}
        </p>
      )}
    </div>
  )
}
