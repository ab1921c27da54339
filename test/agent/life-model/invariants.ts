import type { AgentRun } from 'hookspan/agent'
import { idsOfOperation } from 'hookspan/tracing'
import { expect } from 'vitest'
import type { AgentPlan } from './plan.ts'
import { ID, type World } from './world.ts'

/** What must hold of a run that has ended. */
export function expectOneRun(world: World, run: AgentRun): void {
  expectBodies(world)
  expectTold(world, run)
  expectCounted(world, run)
  expectEvents(world)
  expectSpans(world)
  expect(world.store.runs.size, 'runs that are still kept').toBe(0)
}

/** A run that was aborted before its end waits for nobody, and tells the end of each run in it that it began. */
export function expectAborted({ lives }: World, run: AgentRun | 'died'): void {
  const life = lives.at(-1)
  if (run === 'died' || !life?.abortedBefore) return
  expect(run.status).not.toBe('waiting_for_human')
  const of = (type: string) =>
    life.events.filter(({ hookType }) => hookType === type).map(({ operationId }) => operationId)
  const ended = of('onComplete')
  const open = of('onStart').filter((id) => !ended.includes(id))
  expect(open, 'runs without an end').toEqual([])
}

/** No tool runs twice that may not, none that was not to be run, each with what was decided, one key for a call. */
function expectBodies({ begun, callPlans, asked }: World): void {
  const of = (call: string) => begun.filter((body) => body.call === call)
  for (const [call, { kind }] of callPlans) {
    const bodies = of(call)
    if (['denied', 'skipped', 'refused', 'agent'].includes(kind)) expect([call, bodies]).toEqual([call, []])
    if (kind !== 'idempotent') expect([call, kind, bodies.length > 1 ? bodies : []]).toEqual([call, kind, []])
    expect([call, new Set(bodies.map(({ key }) => key)).size <= 1]).toEqual([call, true])
    for (const { args } of bodies) expect(args).toEqual({ call, ...(kind === 'mutated' && { by: 'gate' }) })
    expect([call, (asked.get(call)?.size ?? 0) <= 1]).toEqual([call, true])
  }
  const keys = new Map(begun.map(({ call, key }) => [key, call]))
  expect(keys.size, 'keys').toBe(new Set(begun.map(({ call }) => call)).size)
}

/** The model is told what each call came to, or that nobody knows. */
function expectTold(world: World, run: AgentRun): void {
  const { begun } = world
  const check = (id: string, plan: AgentPlan, content: string) => {
    const told = JSON.parse(content) as string[]
    const calls = plan.steps.flatMap((step, at) =>
      step.map((call, index) => ({ ...call, name: `${id}_${at}_${index}` })),
    )
    expect([id, told.length]).toEqual([id, calls.length])
    for (const [i, call] of calls.entries()) {
      const says = told[i] as string
      const { name, kind } = call
      if (says.includes('aborted')) continue
      if (kind === 'agent') {
        check(name, call.agent, says)
        continue
      }
      const unknown = says.includes('execution_unknown')
      if (unknown) expect([name, kind]).not.toEqual([name, 'idempotent'])
      const ran = begun.filter((body) => body.call === name).length
      if (kind === 'denied') expect(says).toContain('not here')
      else if (kind === 'skipped') expect(says).toContain('left out')
      else if (kind === 'refused') expect(says).toContain('rejected')
      else if (!unknown) {
        expect(says).toContain(kind === 'fails' ? `${name} failed` : `${name} done`)
        expect([name, ran]).toEqual([name, Math.max(ran, 1)])
      }
    }
  }
  check('0', world.plan, run.content)
}

function repliesOf({ steps }: AgentPlan): number {
  const below = steps.flat().map((call) => (call.kind === 'agent' ? repliesOf(call.agent) : 0))
  return steps.length + 1 + below.reduce((sum, replies) => sum + replies, 0)
}

/** Each reply that the run is made of, and of those that were lost with a process no more than were paid for. */
function expectCounted({ plan, replies: paid }: World, run: AgentRun): void {
  if (run.content.includes('aborted')) return
  const replies = repliesOf(plan)
  expect(run.steps).toBe(plan.steps.length + 1)
  const { usage, costUsd = 0 } = run
  expect([costUsd >= replies, costUsd <= paid, replies, paid, costUsd].slice(0, 2)).toEqual([true, true])
  expect(usage).toMatchObject({ inputTokens: 10 * costUsd, outputTokens: 5 * costUsd })
}

/** Numbers without gaps over all processes; in each of them they grow, and the one before it had seen the one before. */
function expectEvents({ lives }: World): void {
  const seen = new Map<string, number>()
  for (const { number, events } of lives) {
    const last = new Map<string, number>()
    for (const { operationId, sequence, hookType } of events) {
      const where = `life ${number}, ${operationId}, ${hookType} ${sequence}`
      const before = last.get(operationId)
      if (before !== undefined) expect([where, sequence]).toEqual([where, before + 1])
      else expect([where, sequence <= (seen.get(operationId) ?? 0) + 1]).toEqual([where, true])
      last.set(operationId, sequence)
      seen.set(operationId, Math.max(seen.get(operationId) ?? 0, sequence))
    }
  }
  const ends = lives.at(-1)?.events.filter((e) => e.operationId === ID && e.hookType === 'onComplete')
  expect(ends?.length, 'onComplete of the run in the process that ended it').toBe(1)
}

/** One trace; whatever was exported leads up to its root over nothing but what a dead process had open. */
function expectSpans({ lives }: World): void {
  const root = idsOfOperation(ID)
  const lines = lives.flatMap(({ spans }) => spans)
  expect([...new Set(lines.map(({ traceId }) => traceId))]).toEqual([root.traceId])
  const exported = lines.filter(({ at }) => at === 'end')
  const ids = exported.map(({ spanId }) => spanId)
  expect(exported.filter(({ spanId }) => spanId === root.spanId).at(-1)?.pid).toBe(lives.length - 1)
  for (const { number, killed, spans } of lives) {
    if (killed) continue
    const ended = new Set(ids)
    for (const { at, spanId, name } of spans) {
      if (at === 'start' && !ended.has(spanId)) expect([number, name]).toEqual([number, 'ended'])
    }
  }
  const parents = new Map(lines.map(({ spanId, parentId }) => [spanId, parentId]))
  for (const { spanId, name, pid } of exported) {
    let id: string | undefined = spanId
    const passed = new Set<string>()
    while (id !== undefined && id !== root.spanId) {
      if (!parents.has(id) || passed.has(id)) expect(`${name} of life ${pid}`).toBe('below the root')
      passed.add(id)
      id = parents.get(id)
    }
    expect([name, id]).toEqual([name, root.spanId])
  }
  // What was open goes on as the same span, and each process that sees its end tells it; a reply is asked for anew. A run that
  // could not be saved is ended from what was saved before, where calls that waited for a human are open once more.
  const sure = exported
  const told = sure.map(({ pid, spanId, name }) => (name.startsWith('chat') ? spanId : `${pid} ${spanId}`))
  expect(told.length, 'spans that ended').toBe(new Set(told).size)
}
