import type { HookEvent } from '../../hooks/index.ts'
import { tellEvents } from '../../spans/event-activities.ts'
import { SpanTree } from '../../spans/span-tree.ts'
import { type PlainSpan, readSpans } from './spans.ts'

/** The spans that events would have become, in the order of their start. */
export function spansOfEvents(events: readonly HookEvent[]): PlainSpan[] {
  const tree = new SpanTree()
  tellEvents(events, tree)
  return readSpans(tree.spans) ?? []
}
