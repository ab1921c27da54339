// Names that a backend wants, beside the conventions' own: on which spans, and called what.
import { type Context, trace } from '@opentelemetry/api'
import type { Span, SpanProcessor } from '@opentelemetry/sdk-trace'

/** Taken over from the span above. */
const INHERITED = ['gen_ai.conversation.id', 'gen_ai.agent.name']
/** Said once more, by an older name. */
const ALSO = { 'gen_ai.provider.name': 'gen_ai.system' }

export const names: SpanProcessor = {
  onStart(span: Span, context: Context) {
    const above = (trace.getSpan(context) as Span | undefined)?.attributes
    for (const name of INHERITED) {
      const value = above?.[name]
      if (value !== undefined && span.attributes[name] === undefined) span.setAttribute(name, value)
    }
    for (const [name, older] of Object.entries(ALSO)) {
      const value = span.attributes[name]
      if (value !== undefined) span.setAttribute(older, value)
    }
  },
  onEnd() {},
  async forceFlush() {},
  async shutdown() {},
}
