import type { Attributes } from '@opentelemetry/api'
import type { Activity, Annotation, OperationInfo } from '../dispatcher/index.ts'
import type { GateRecord } from '../hooks/index.ts'
import { contentWriter, redactWords } from './content.ts'
import { GATE_EVENT, HOOKSPAN, MOCK_EVENT } from './names.ts'
import { type RenderOptions, set, writeInstruction } from './start.ts'

/** What was noted on a span while it was open. */
export interface SpanNote {
  /** An event of this name has the attributes. */
  readonly event: string | undefined
  /** The span itself has them. */
  readonly onSpan: boolean
  readonly attributes: Attributes
}

export function noteOf(annotation: Annotation, info: OperationInfo, options: RenderOptions): SpanNote {
  switch (annotation.kind) {
    case 'gate': {
      const attributes = gateAttributes(annotation.record)
      redactWords(attributes, options.content, info)
      return { event: GATE_EVENT, onSpan: false, attributes }
    }
    case 'mock': {
      const attributes: Attributes = { [HOOKSPAN.mockSource]: annotation.source }
      set(attributes, HOOKSPAN.mockRule, annotation.rule)
      return { event: MOCK_EVENT, onSpan: true, attributes }
    }
    case 'instruction': {
      const attributes: Attributes = {}
      writeInstruction(contentWriter(options.content, attributes, info), annotation.instruction)
      return { event: undefined, onSpan: true, attributes }
    }
  }
}

/**
 * Notes again what gates decided about a run, or the call of an agent, before it was parked: the span that goes on with it
 * is a new one here.
 */
export function withNotesBefore<S extends NotedPlace>(scope: S): S {
  const { activity } = scope
  // By their kind: each span comes by here, and to ask for a field costs more.
  if (activity.kind !== 'operation' && activity.kind !== 'agent') return scope
  const gates = 'resumed' in activity ? activity.resumed?.gates : undefined
  for (const record of gates ?? []) if (record.runtime === undefined) scope.annotate({ kind: 'gate', record })
  return scope
}

interface NotedPlace {
  readonly activity: Activity
  annotate(annotation: Annotation): void
}

export function gateAttributes(record: GateRecord): Attributes {
  const attributes: Attributes = {
    [HOOKSPAN.gateId]: record.gateId,
    [HOOKSPAN.gatePoint]: record.point,
    [HOOKSPAN.gateDecision]: record.decision,
    [HOOKSPAN.gateEnforced]: record.enforced,
    [HOOKSPAN.gateDurationMs]: record.durationMs,
  }
  set(attributes, HOOKSPAN.gateCode, record.code)
  set(attributes, HOOKSPAN.gateReason, record.reason)
  set(attributes, HOOKSPAN.gateFailure, record.failure)
  if (record.changedKeys !== undefined) attributes[HOOKSPAN.gateChangedKeys] = [...record.changedKeys]
  return attributes
}
