import { idsOfOperation } from 'hookspan/tracing'
import { expect } from 'vitest'
import type { DurableOutcome } from '../../../src/durable/runs.ts'
import { stepsOf, type Told } from './model.ts'
import type { AgentPlan } from './plan.ts'
import { ID, type World } from './world.ts'

/** What must hold of a run that has ended. */
export async function expectHeld(world: World, outcome: DurableOutcome | 'ended'): Promise<void> {
  expectReason(world, outcome)
  expectBodies(world)
  if (outcome !== 'ended' && outcome.reason === 'done') expectTold(world, contentOf(outcome))
  expectEvents(world)
  expectSpans(world)
  await expectRequests(world)
}

function contentOf(outcome: DurableOutcome): string {
  return String('content' in outcome ? outcome.content : (outcome as { value?: unknown }).value)
}

function expectReason(
  { plan, journal, humans: { asked }, callPlans }: World,
  outcome: DurableOutcome | 'ended',
): void {
  if (outcome === 'ended') return
  const { reason, endedBy } = outcome
  const may = [
    ['done', undefined],
    ...([...asked.keys()].some((call) => callPlans.get(call)?.kind === 'stops')
      ? [['denied', undefined]]
      : []),
    ...(journal.cancelled ? [['interrupted', 'cancel']] : []),
    ...(plan.limit === 'maxDurationMs' ? [['interrupted', 'maxDurationMs']] : []),
    ...(plan.limit === 'maxSteps' ? [['max_steps', undefined]] : []),
    ...(plan.limit === 'maxCostUsd' ? [['cost_limit', undefined]] : []),
  ]
  expect(may).toContainEqual([reason, endedBy])
}

/** No tool runs twice that may not, none that was not to be run, one key for a call, one question for a call. */
function expectBodies({ begun, callPlans, humans: { asked } }: World): void {
  for (const [call, { kind }] of callPlans) {
    const bodies = begun.filter((body) => body.call === call)
    if (['denied', 'skipped', 'refused', 'stops', 'unanswered', 'agent'].includes(kind))
      expect([call, kind, bodies]).toEqual([call, kind, []])
    if (kind !== 'keyed') expect([call, kind, bodies.length > 1 ? bodies : []]).toEqual([call, kind, []])
    expect([call, new Set(bodies.map(({ key }) => key)).size <= 1]).toEqual([call, true])
    expect([call, kind, (asked.get(call)?.size ?? 0) <= 1]).toEqual([call, kind, true])
  }
  const keys = new Map(begun.map(({ call, key }) => [key, call]))
  expect(keys.size, 'keys').toBe(new Set(begun.map(({ call }) => call)).size)
}

/** The model is told what each call came to, or that nobody knows. */
function expectTold({ begun, plan, lives, agentPlans }: World, said: string): void {
  const undisturbed = lives.every((life) => life.plan === undefined || life.moments <= life.plan.moment)
  const check = (id: string, agent: AgentPlan, content: string) => {
    const told = JSON.parse(content) as Told
    const calls = stepsOf(id, agent).flat()
    expect([id, told.map(([name]) => name)]).toEqual([id, calls.map(({ name }) => name)])
    for (const [i, { name, call }] of calls.entries()) {
      const says = told[i]?.[1] as string
      const { kind } = call
      const ran = begun.filter((body) => body.call === name).length
      const unknown = says.includes('execution_unknown')
      if (unknown) {
        expect([name, kind, undisturbed]).not.toEqual([name, 'keyed', undisturbed])
        expect([name, undisturbed]).toEqual([name, false])
      } else if (kind === 'agent' && says.includes('did not finish (denied)'))
        expect(JSON.stringify(call)).toContain('stops')
      else if (kind === 'agent') check(name, agentPlans.get(name) as AgentPlan, says)
      else if (kind === 'denied') expect(says).toContain('not here')
      else if (kind === 'skipped') expect(says).toContain('left out')
      else if (kind === 'refused') expect(says).toContain('rejected')
      else if (kind === 'unanswered') expect(says).toContain('approval_timeout')
      else {
        expect(says).toContain(kind === 'fails' ? `${name} failed` : `${name} done`)
        expect([name, ran]).toEqual([name, Math.max(ran, 1)])
      }
    }
  }
  check('0', plan.agent, said)
}

/** Numbers without gaps over all attempts; nothing is told again of what was kept, nor by an attempt that has lost the run. */
function expectEvents({ lives, plan: { what } }: World): void {
  const isKept = (id: string) => what === 'agent' || id === ID
  const seen = new Map<string, number>()
  for (const [at, { number, events, lostAt, plan, dead }] of lives.entries()) {
    const last = new Map<string, number>()
    for (const { operationId, sequence, hookType } of events) {
      const where = `life ${number}, ${operationId}, ${hookType} ${sequence}`
      const before = last.get(operationId)
      if (before !== undefined) expect([where, sequence]).toEqual([where, before + 1])
      else expect([where, sequence <= (seen.get(operationId) ?? -1) + 1]).toEqual([where, true])
      last.set(operationId, sequence)
      seen.set(operationId, Math.max(seen.get(operationId) ?? -1, sequence))
    }
    if (lostAt !== undefined && !dead && at < lives.length - 1)
      expect([
        number,
        plan?.end,
        events
          .slice(lostAt)
          .filter(({ operationId }) => isKept(operationId))
          .map(({ operationId, sequence, hookType }) => `${operationId} ${sequence} ${hookType}`),
      ]).toEqual([number, plan?.end, []])
  }
  const ends = lives.map(
    ({ events }) => events.filter((e) => e.operationId === ID && e.hookType === 'onComplete').length,
  )
  // Where the end is kept, the next attempt gives it and tells nothing.
  expect([Math.max(...ends), ends.filter((times) => times > 0).length >= 1]).toEqual([1, true])
  // Each run in it has ended, but for one of whose beginning nothing was kept: where the run ends first, nobody begins it anew.
  const of = (type: string) =>
    new Set(
      lives.flatMap(({ events }) => events.filter((e) => e.hookType === type).map((e) => e.operationId)),
    )
  const open = [...of('beforeStep')].filter((id) => !of('onComplete').has(id))
  expect(open.filter(isKept), 'runs without an end').toEqual([])
}

/** One trace; whatever was exported lies below what was exported, up to the root. */
function expectSpans({ lives, callPlans }: World): void {
  const root = idsOfOperation(ID)
  const lines = lives.flatMap(({ spans }) => spans)
  expect([...new Set(lines.map(({ traceId }) => traceId))]).toEqual([root.traceId])
  const exported = lines.filter(({ at }) => at === 'end')
  const ids = new Set(exported.map(({ spanId }) => spanId))
  expect(ids.has(root.spanId), 'the run has its span').toBe(true)
  // A question that was parked here, of a run that is denied, ends once more, a moment before its call does.
  const isDenied = [...callPlans.values()].some(({ kind }) => kind === 'stops')
  const orphans = exported.filter(
    ({ parentId, name }) =>
      // A process in which it ended before a thing of it was kept begins it anew, with a root of its own.
      parentId !== undefined && !ids.has(parentId) && !(isDenied && name === 'human_intervention'),
  )
  expect(
    orphans.map(({ name, pid }) => `${name} of life ${pid}`),
    'orphans',
  ).toEqual([])
  for (const { number, dead, spans } of lives) {
    if (dead) continue
    const open = spans.filter(({ at, spanId }) => at === 'start' && !ids.has(spanId))
    expect([number, open.map(({ name }) => name)], 'spans without end').toEqual([number, []])
  }
}

/** Nothing is asked once the run has ended; whatever was answered has been heard. */
async function expectRequests(world: World): Promise<void> {
  const open = (await world.humans.requests()).filter(({ status }) => status === 'pending')
  expect(
    open.map(({ request }) => request.toolCallId),
    'open requests',
  ).toEqual([])
}
