import { EXTENDED_HOOK_TYPES, HOOK_TYPES, type HookDispatcher, type HookEvent } from 'hookspan'
import type { Gate } from 'hookspan/gates'
import { expect } from 'vitest'
import { HOOK_GROUPS } from '../../../src/hooks/hook-types.ts'
import { inTime } from '../../adapter/random-clients/world.ts'
import { traced } from '../../support/span-tree.ts'

const TYPES = [...HOOK_TYPES, ...EXTENDED_HOOK_TYPES]

/** Something that began, with what was told of it. */
export interface Told {
  readonly events: readonly HookEvent[]
  /** Each span by its id. */
  readonly spans: readonly TracedSpan[]
}

interface TracedSpan {
  readonly name: string
  readonly id: string
  readonly parent: string | undefined
  readonly attributes: Readonly<Record<string, unknown>>
}

/** Has something happen under observers, some of whom misbehave. */
export async function watch<T>(
  gates: readonly Gate[],
  happens: (dispatcher: HookDispatcher) => Promise<T>,
): Promise<{ seen: T; told: Told }> {
  using tracing = traced()
  const { dispatcher } = tracing
  const events: HookEvent[] = []
  dispatcher.use({
    name: 'watch',
    gates: [...gates],
    hooks: TYPES.flatMap((type) => [
      { id: `note ${type}`, type, handler: (event: HookEvent) => void events.push(event) },
      { id: `throws ${type}`, type, handler: () => Promise.reject(new Error('a bad observer')) },
    ]) as never,
  })
  const seen = await happens(dispatcher)
  await inTime('the operations', ended(dispatcher), () => [dispatcher.stats(), tracing.tree(), seen], 60_000)
  const spans = tracing.spans().map((span) => ({
    name: span.name,
    id: span.spanContext().spanId,
    parent: span.parentSpanContext?.spanId,
    attributes: span.attributes,
  }))
  return { seen, told: { events, spans } }
}

async function ended(dispatcher: HookDispatcher): Promise<void> {
  while (dispatcher.stats().operations > 0) await new Promise((resolve) => setTimeout(resolve, 5))
  await dispatcher.drain()
}

/** Each thing that began has ended, once, in the order in which its run counts; no span is below one that is not there. */
export function expectWhole({ events, spans }: Told): void {
  const next = new Map<string, number>()
  for (const { operationId, sequence } of events) {
    expect([operationId, sequence]).toEqual([operationId, next.get(operationId) ?? 0])
    next.set(operationId, sequence + 1)
  }
  const of = (moment: string[]) =>
    events
      .filter(({ hookType }) => moment.includes(HOOK_GROUPS[hookType].moment))
      .map((event) => {
        const { callKey = '', stepIndex = '' } = event as { callKey?: string; stepIndex?: number }
        const { group } = HOOK_GROUPS[event.hookType]
        return [event.operationId, group, group === 'run' ? '' : group === 'step' ? stepIndex : callKey].join(
          ' ',
        )
      })
      .sort()
  const begun = of(['begin'])
  // Of an agent that did not do what it was asked, both are told.
  const ended = of(['end', 'failure']).filter(
    (one, at, all) => !(one.includes(' subAgent ') && one === all[at - 1]),
  )
  expect(ended).toEqual(begun)
  expect(new Set(begun).size).toBe(begun.length)
  const ids = new Set(spans.map(({ id }) => id))
  expect(spans.filter(({ parent }) => parent !== undefined && !ids.has(parent))).toEqual([])
  const roots = new Set(events.map(({ rootOperationId }) => rootOperationId))
  expect(spans.filter(({ parent }) => parent === undefined)).toHaveLength(roots.size)
  const runs = new Set(events.map(({ operationId }) => operationId))
  expect(spans.filter(({ name }) => name.startsWith('invoke_agent'))).toHaveLength(runs.size)
}

/** Each call of a tool lies in the step in which a model asked for it: of an agent, not all of a reply is told. */
export function expectAskedFor({ events }: Told): void {
  const asked = new Set<string>()
  for (const event of events) {
    if (event.hookType !== 'afterLlmCall') continue
    const at = `${event.operationId} ${event.stepIndex}`
    if (event.parentOperationId !== undefined) asked.add(at)
    for (const { toolCallId } of event.response.toolCalls ?? []) asked.add(`${at} ${toolCallId}`)
  }
  for (const event of events) {
    if (event.hookType !== 'beforeToolCall') continue
    const at = `${event.operationId} ${event.stepIndex}`
    const place = event.parentOperationId === undefined ? `${at} ${event.toolCallId}` : at
    expect([place, event.toolCallId, asked.has(place)]).toEqual([place, event.toolCallId, true])
  }
}

/** Each request of a query's own model is a model call. */
export function expectAskedOnce({ events }: Told, conversationId: string, requests: number): void {
  const begun = events.filter(
    (event) =>
      event.hookType === 'beforeLlmCall' &&
      event.conversationId === conversationId &&
      event.parentOperationId === undefined,
  )
  expect([conversationId, begun.length]).toEqual([conversationId, requests])
}
