/** A part of the span panel that folds, and the table of names and values that stands in most of them. */
import { type ComponentChildren, Fragment } from 'preact'
import { formatWhole, visibleText } from '../../src/viewer/model/format.ts'
import type { AttributeValue } from '../../src/viewer/model/span.ts'
import { Text } from './parts.tsx'
import { Value } from './value.tsx'

export function Section({
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

export function Table({
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
