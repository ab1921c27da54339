import type { AttributeValue } from '@opentelemetry/api'
import type { HookEvent } from '../hooks/index.ts'
import { oneLine } from '../internal/short-text.ts'
import { EventActivities } from '../spans/event-activities.ts'
import { GEN_AI, HOOKSPAN, spanTitle } from '../spans/names.ts'
import { type RecordedSpan, SpanTree } from '../spans/span-tree.ts'
import { unwrapToolResult } from '../spans/tool-result.ts'

/** The spans of a test: for its assertions, and for the picture and the file of a failed one. */
export class TraceTree extends SpanTree {
  readonly #told = new EventActivities(this)

  onEvent(event: HookEvent): void {
    this.#told.onEvent(event)
  }

  onRelease(operationId: string, { abandoned }: { abandoned: boolean }): void {
    this.#told.onRelease(operationId, abandoned)
  }

  /** One line a span, children below their parents. */
  override toString(): string {
    const lines: string[] = []
    const walk = (spans: readonly RecordedSpan[], indent: string) => {
      for (const span of spans) {
        lines.push(`${indent}${describe(span)}`)
        walk(span.children, `${indent}  `)
      }
    }
    walk(this.roots, '')
    return lines.join('\n')
  }

  /** OTLP JSON, as collectors and viewers take it. */
  toJSON(): object {
    const spans = this.spans.map(
      ({ kind, startTime, endTime = startTime, attributes, events, children: _children, ...span }) => ({
        ...span,
        kind: kind === 'client' ? 3 : 1,
        startTimeUnixNano: nanoseconds(startTime),
        endTimeUnixNano: nanoseconds(endTime),
        attributes: keyValues(attributes),
        events: events.map(({ name, time, attributes }) => ({
          name,
          timeUnixNano: nanoseconds(time),
          attributes: keyValues(attributes),
        })),
      }),
    )
    const resource = { attributes: keyValues({ 'service.name': 'hookspan/vitest' }) }
    return { resourceSpans: [{ resource, scopeSpans: [{ scope: { name: 'hookspan' }, spans }] }] }
  }
}

function describe({ name, attributes, status, endTime, startTime }: RecordedSpan): string {
  const args = attributes[GEN_AI.toolCallArguments]
  const result = attributes[GEN_AI.toolCallResult]
  const notes = [
    attributes[HOOKSPAN.operationReason],
    attributes[HOOKSPAN.toolOutcome] === 'completed' ? undefined : attributes[HOOKSPAN.toolOutcome],
    attributes[HOOKSPAN.toolCode],
    attributes[HOOKSPAN.humanAction],
    attributes[HOOKSPAN.mockRule] ?? attributes[HOOKSPAN.mockSource],
    endTime === undefined ? 'not ended' : `${Math.round(endTime - startTime)} ms`,
  ].filter((note) => note !== undefined)
  const call = args === undefined ? '' : `(${cut(String(args))})`
  const answer =
    status.code === 2
      ? ` ! ${cut(status.message ?? '')}`
      : result === undefined
        ? ''
        : ` -> ${cut(told(result))}`
  return `${spanTitle(name, attributes)}${call}${answer}  [${notes.join(', ')}]`
}

function told(result: AttributeValue): string {
  const value = unwrapToolResult(JSON.parse(String(result)))
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function cut(text: string): string {
  const [line = ''] = text.split('\n')
  return oneLine(line, 100)
}

function nanoseconds(ms: number): string {
  return String(BigInt(Math.round(ms * 1_000)) * 1_000n)
}

function keyValues(attributes: Readonly<Record<string, AttributeValue>>): object[] {
  return Object.entries(attributes).map(([key, value]) => ({ key, value: otlpValue(value) }))
}

function otlpValue(value: AttributeValue | null | undefined): object {
  if (Array.isArray(value)) return { arrayValue: { values: value.map(otlpValue) } }
  if (typeof value === 'string') return { stringValue: value }
  if (typeof value === 'boolean') return { boolValue: value }
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value }
}
