import { getEventListeners } from 'node:events'
import type { HookEvent } from 'hookspan'
import { expect, vi } from 'vitest'
import { keyOf, TOKENS } from './calls.ts'
import type { Seen } from './watch.ts'
import type { Run, World } from './world.ts'

type Of<T extends HookEvent['hookType']> = Extract<HookEvent, { hookType: T }>

/** Once everything has ended: what was told of each run holds together. */
export function expectWhole(world: World): void {
  const { events, activities } = world.watch
  if (world.setting.hooks) {
    for (const run of world.runs) {
      expectTold(
        run,
        events.filter(({ operationId }) => operationId === run.id),
      )
    }
  }
  for (const seen of activities) expectPlaced(world, seen)
  if (world.setting.hooks && world.setting.traced) {
    for (const run of world.runs) {
      expectSame(
        world,
        run,
        events.filter(({ operationId }) => operationId === run.id),
        activities.filter(({ operationId }) => operationId === run.id),
      )
    }
  }
  expectNothingLeft(world)
}

const PAIRS: readonly (readonly [string, readonly string[], (event: HookEvent) => unknown])[] = [
  ['beforeStep', ['afterStep'], (event) => event.stepIndex],
  ['beforeToolCall', ['afterToolCall', 'onToolCallError'], callKeyOf],
  ['beforeLlmCall', ['afterLlmCall', 'onLlmCallError'], callKeyOf],
  ['beforeCallAgent', ['afterCallAgent', 'onCallAgentError'], callKeyOf],
]

function callKeyOf(event: HookEvent): unknown {
  return (event as { callKey?: string }).callKey
}

/** The events of one run: gapless over all its processes, each start with one end, one last word. */
function expectTold(run: Run, events: readonly HookEvent[]): void {
  const types = events.map(({ hookType }) => hookType)
  const where = `the events of ${run.id}`
  expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_event, index) => index))
  expect(types[0], where).toBe('onStart')
  expect(count(types, 'onStart'), where).toBe(1)
  expect(count(types, 'onComplete'), where).toBe(run.state === 'ended' ? 1 : 0)
  if (run.state !== 'ended') return
  for (const [before, after, keyFrom] of PAIRS) {
    const starts = events.filter(({ hookType }) => hookType === before)
    const ends = events.filter(({ hookType }) => after.includes(hookType))
    expect(ends.map(keyFrom).sort(), `${where}: ends for ${before}`).toEqual(starts.map(keyFrom).sort())
    expect(new Set(starts.map(keyFrom)).size, `${where}: ${before} once each`).toBe(starts.length)
    for (const end of ends) {
      const start = starts.find((event) => keyFrom(event) === keyFrom(end)) as HookEvent
      expect(start.sequence, where).toBeLessThan(end.sequence)
    }
  }
  expect(count(types, 'beforeCompact'), where).toBe(count(types, 'afterCompact', 'onCompactError'))
  expectHumans(where, events)
  const last = events.at(-1) as Of<'onComplete'>
  expect(last.hookType, where).toBe('onComplete')
  const failed = count(types, 'onError') === 1 && types.at(-2) === 'onError'
  expect(failed, `${where}: onError right before an onComplete that says so`).toBe(last.reason === 'error')
  expect(count(types, 'onError'), where).toBe(failed ? 1 : 0)
  expect(last.totals, where).toMatchObject({
    steps: count(types, 'beforeStep'),
    toolCalls: count(types, 'afterToolCall', 'onToolCallError'),
    llmCalls: count(types, 'afterLlmCall', 'onLlmCallError'),
  })
  expectPaid(run, last.totals?.usage.inputTokens)
}

/** A question is open until it is answered; nobody answers what was not asked. */
function expectHumans(where: string, events: readonly HookEvent[]): void {
  const open: string[] = []
  for (const event of events) {
    if (event.hookType === 'beforeHumanIntervention') {
      open.push(...event.pendingTools.map(({ toolCallId }) => toolCallId))
    } else if (event.hookType === 'afterHumanIntervention') {
      for (const id of event.toolCallIds) {
        expect(open, where).toContain(id)
        open.splice(open.indexOf(id), 1)
      }
    }
  }
  expect(open, `${where}: questions without an end`).toEqual([])
}

/** Replies are paid for whatever a gate puts in their place; how much of what was cut off, nobody can tell. */
function expectPaid({ calls, id }: Run, tokens: number | undefined): void {
  const replied = calls.filter(({ spec, ran }) => spec.kind === 'llm' && spec.body === 'replies' && ran > 0)
  const known = replied.filter(({ disturbed }) => !disturbed).length
  expect(tokens, `tokens of ${id}`).toBeGreaterThanOrEqual(known * TOKENS)
  expect(tokens, `tokens of ${id}`).toBeLessThanOrEqual(replied.length * TOKENS)
}

/** Each activity ends once, and lies in what it is part of. */
function expectPlaced(world: World, seen: Seen): void {
  const { activity, parent, operationId, ended, orphan } = seen
  const where = `${activity.kind} ${keyOf(activity) ?? ''} of ${operationId}`
  expect(ended, `${where} ends once`).toBe(1)
  const call = world.calls[keyOf(activity) ?? -1]
  const run = world.runs.find(({ id }) => id === operationId) as Run
  if (orphan) expect(call?.late || call?.ending, `${where} starts in something that is over`).toBe(true)
  if (activity.kind === 'operation') {
    expect(parent && keyOf(parent.activity), where).toBe(run.calledBy?.key)
    expect(parent?.operationId, where).toBe(run.calledBy?.run.id)
    return
  }
  expect(parent?.operationId, where).toBe(operationId)
  const kind = parent?.activity.kind
  if (activity.kind === 'step') expect(kind, where).toBe('operation')
  else if (activity.kind === 'human') expect(kind, where).not.toBe('human')
  else expect(['operation', 'step'], where).toContain(kind)
}

/** Hooks and instruments are told the same. */
function expectSame(world: World, run: Run, events: readonly HookEvent[], activities: readonly Seen[]): void {
  const told = new Map<unknown, unknown>()
  for (const event of events) {
    if (event.hookType === 'afterToolCall')
      told.set(event.callKey, [event.outcome, event.args, event.success])
    if (event.hookType === 'onToolCallError') told.set(event.callKey, ['errored', event.args, false])
  }
  const seen = new Map<unknown, unknown>()
  for (const { activity, end } of activities) {
    // What begins after the end is traced, and told to no hook.
    if (activity.kind !== 'tool' || world.calls[keyOf(activity) as number]?.late) continue
    const { outcome, args, success } = end as { outcome: string; args: unknown; success: boolean }
    if (outcome === 'waiting') continue
    expect(seen.has(activity.callKey), `${activity.callKey} of ${run.id} ends once`).toBe(false)
    seen.set(activity.callKey, [outcome, args, success])
  }
  if (run.state === 'ended') expect(Object.fromEntries(seen)).toEqual(Object.fromEntries(told))
  const parts = activities.filter(({ activity }) => activity.kind === 'operation')
  const resumed = parts.map(({ activity }) => (activity as { resumed?: unknown }).resumed !== undefined)
  expect(resumed, run.id).toEqual(parts.map((_part, index) => index > 0))
  const last = events.at(-1)
  if (last?.hookType === 'onComplete') {
    const { reason, totals } = (parts.at(-1) as Seen).end as { reason?: string; totals?: unknown }
    expect({ reason, totals }).toEqual({ reason: last.reason, totals: last.totals })
  }
}

function expectNothingLeft({ dispatchers, runs, hookCounts }: World): void {
  for (const [index, dispatcher] of dispatchers.entries()) {
    expect(dispatcher.stats()).toMatchObject({ operations: 0, pending: 0, hooks: hookCounts[index] })
  }
  for (const { controller } of runs) {
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
  }
  expect(vi.getTimerCount()).toBe(0)
}

function count(types: readonly string[], ...wanted: string[]): number {
  return types.filter((type) => wanted.includes(type)).length
}
