/** Runs on a real Temporal: cancelled, frozen, and moved from worker to worker. kill-table.test.ts kills. */
import { describe, expect, it } from 'vitest'
import type { Untyped } from '../sdks/support/sdks.ts'
import { expectHeld, toldAgain } from './support/held.ts'
import type { Line } from './support/scenario.ts'
import { begins, type Ended, toldBy } from './support/scene.ts'
import { temporalProgram, WITHOUT_TEMPORAL } from './support/temporal-program.ts'
import { TemporalScene, temporalOfSuite } from './support/temporal-scene.ts'
import { until } from './support/wait.ts'

const DONE = 'pay done | write done | note done | delete done'

describe.skipIf(temporalProgram === undefined)(`on Temporal${WITHOUT_TEMPORAL}`, () => {
  const temporal = temporalOfSuite()

  describe.each(['agent', 'loop'])('a durable %s', (what) => {
    const id = (name: string) => `${what}-${name}`

    it('goes on after its worker and Temporal were killed while a human was asked, in one trace, each hook once', async () => {
      const scene = new TemporalScene(temporal, what)
      await scene.start()
      await scene.begin(id('wait'))
      await scene.parked(id('wait'))
      await scene.worker.kill()
      await temporal.server.kill()
      await scene.answer()
      await temporal.server.start()
      await scene.start()
      const run = await scene.output<Ended>(id('wait'))
      const told = toldBy(run)
      expect([run.reason, told.replace('noted: ', '')]).toEqual(['done', DONE])
      expectHeld(expect, { lines: scene.lines, operationId: id('wait'), told, kills: 0 })
      expect(toldAgain(scene.lines)).toBe(0)
      await scene.close()
    })

    it('ends as interrupted when it is cancelled while a tool is at work', async () => {
      const scene = new TemporalScene(temporal, what)
      await scene.start({ TOOL_MS: '60000' })
      await scene.begin(id('cancel'))
      await scene.said(begins('write'))
      await scene.handle(id('cancel')).cancel()
      expect(await scene.output(id('cancel'))).toMatchObject({ reason: 'interrupted', endedBy: 'cancel' })
      expect(scene.endsOf(id('cancel'))).toEqual(['interrupted'])
      await scene.close()
    })

    it('ends as interrupted when it is cancelled after its worker died with a tool at work', async () => {
      const scene = new TemporalScene(temporal, what)
      await scene.start({ TOOL_MS: '60000' })
      await scene.begin(id('dead'))
      await scene.said(begins('write'))
      await scene.worker.kill()
      await scene.handle(id('dead')).cancel()
      await scene.start()
      expect(await scene.output(id('dead'))).toMatchObject({ reason: 'interrupted', endedBy: 'cancel' })
      expect(scene.endsOf(id('dead'))).toEqual(['interrupted'])
      expect(scene.lines.filter(begins('write')).length).toBe(1)
      await scene.close()
    })

    it('ends as interrupted when it is cancelled while nobody runs it, and its question is withdrawn', async () => {
      const scene = new TemporalScene(temporal, what)
      await scene.start()
      await scene.begin(id('withdrawn'))
      await scene.parked(id('withdrawn'))
      await scene.worker.kill()
      await scene.handle(id('withdrawn')).cancel()
      await scene.start()
      expect(await scene.output(id('withdrawn'))).toMatchObject({
        reason: 'interrupted',
        endedBy: 'cancel',
      })
      expect(scene.endsOf(id('withdrawn'))).toEqual(['interrupted'])
      expect((await scene.asked()).map(({ status }) => status)).toEqual(['cancelled'])
      await scene.close()
    })

    it('ends as interrupted when it is cancelled before anybody runs it', async () => {
      const scene = new TemporalScene(temporal, what)
      await scene.begin(id('early'))
      await scene.handle(id('early')).cancel()
      await scene.start()
      expect(await scene.output(id('early'))).toMatchObject({ reason: 'interrupted', endedBy: 'cancel' })
      expect(scene.endsOf(id('early'))).toEqual(['interrupted'])
      await scene.close()
    })

    it('ends when its time is over, which goes on while nobody runs it', async () => {
      const scene = new TemporalScene(temporal, what)
      const limit = { MAX_DURATION_MS: '3000' }
      await scene.start(limit)
      await scene.begin(id('late'))
      await scene.parked(id('late'))
      await scene.worker.kill()
      await scene.start(limit)
      expect(await scene.output(id('late'))).toMatchObject({
        reason: 'interrupted',
        endedBy: 'maxDurationMs',
      })
      await scene.close()
    })
  })

  it('refuses input that no attempt could run, and says why', async () => {
    const scene = new TemporalScene(temporal)
    await scene.start()
    await scene.begin('wrong', { promt: 'go' })
    const failure = await scene.output<Untyped>('wrong').catch((error: Untyped) => error)
    expect(String(failure.cause?.cause?.message)).toMatch(/promt.*prompt/)
    expect(scene.lines.filter((line) => 'hookType' in line)).toEqual([])
    await scene.close()
  })

  it('keeps no more of a run than is new, and each part of it once', async () => {
    const scene = new TemporalScene(temporal)
    await scene.start()
    await scene.begin('small')
    const human = scene.human()
    await scene.output('small')
    await human.goes()
    const { events } = await scene.handle('small').fetchHistory()
    const asked: number[] = events.flatMap(({ activityTaskScheduledEventAttributes: asked }: HistoryEvent) =>
      asked?.activityType?.name === 'shop.segment' ? [asked.input.payloads[0]?.data.length ?? 0] : [],
    )
    expect(asked.length).toBeGreaterThan(1)
    expect(Math.max(...asked)).toBeLessThan(200)
    const notes = (events as HistoryEvent[]).flatMap(
      ({ workflowExecutionSignaledEventAttributes: signal }) =>
        signal?.signalName === 'hookspan kept'
          ? [JSON.parse(Buffer.from(signal.input.payloads[0]?.data ?? []).toString())]
          : [],
    )
    expect(notes.length).toBeGreaterThan(5)
    // Each goes on where the one before it ended, but for the end of a wait, which the workflow notes by itself.
    const ends = notes.map(({ position, values }) => position + values.length)
    const gaps = notes.slice(1).map(({ position }, index) => position - (ends[index] ?? 0))
    expect(gaps.filter((gap) => gap < 0)).toEqual([])
    const kept = notes.flatMap(({ values }) => values.flatMap((value: Untyped) => value?.kept ?? []))
    expect(kept.length).toBeGreaterThan(5)
    expect(new Set(kept).size).toBe(kept.length)
    await scene.close()
  })

  it('goes on in another worker when its own stands still, and runs no tool twice when that is back', async () => {
    const scene = new TemporalScene(temporal)
    await scene.start({ TOOL_MS: '1500' })
    await scene.begin('frozen')
    await scene.said(begins('write'))
    const first = scene.worker
    process.kill(first.pid as number, 'SIGSTOP')
    const other = scene.another()
    other.start()
    await other.up()
    const isThere = (line: Line) => line.pid === other.pid && 'hookType' in line
    await until('the run in the other worker', async () => scene.lines.find(isThere), 180_000)
    process.kill(first.pid as number, 'SIGCONT')
    const human = scene.human()
    const ended = await scene.output<Ended>('frozen')
    await human.goes()
    expect(ended.reason).toBe('done')
    expectHeld(expect, {
      lines: scene.lines,
      operationId: 'frozen',
      told: toldBy(ended),
      kills: moves(scene.lines),
    })
    await other.kill()
    await scene.close()
  })

  it.each(['agent', 'loop'])(
    'waits for a Temporal that is slow while %s has tools at work, and runs none twice',
    async (what) => {
      const scene = new TemporalScene(temporal, what)
      // Longer than it stands still.
      await scene.start({ TOOL_MS: '200', HEARTBEAT_MS: '60000' })
      await scene.begin(`slow-${what}`)
      await scene.said(begins('write'))
      temporal.server.signal('SIGSTOP')
      await scene.said((line) => 'tool' in line && line.tool === 'write' && line.phase === 'end')
      await scene.said((line) => 'hookType' in line && line.hookType === 'afterToolCall')
      temporal.server.signal('SIGCONT')
      const human = scene.human()
      const ended = await scene.output<Ended>(`slow-${what}`)
      await human.goes()
      expect(ended.reason).toBe('done')
      expect(toldBy(ended)).not.toContain('execution_unknown')
      expectHeld(expect, { lines: scene.lines, operationId: `slow-${what}`, told: toldBy(ended), kills: 0 })
      await scene.close()
    },
  )

  it('says that other code goes on with a loop, keeps the run, and ends it once its code is back', async () => {
    const scene = new TemporalScene(temporal, 'loop')
    await scene.start()
    await scene.begin('code')
    await scene.parked('code')
    await scene.worker.kill()
    await scene.answer()
    await scene.start({ MODEL: 'another' })
    const why = await until('a failed attempt', async () => {
      const { raw } = await scene.handle('code').describe()
      const [activity] = raw.pendingActivities ?? []
      return activity?.lastFailure?.message as string | undefined
    })
    expect(why).toMatch(/"planner".*now it calls.*"another"/s)
    await scene.worker.kill()
    await scene.start()
    const ended = await scene.output<Ended>('code')
    expect([ended.reason, toldBy(ended)]).toEqual(['done', DONE])
    expectHeld(expect, { lines: scene.lines, operationId: 'code', told: toldBy(ended), kills: 0 })
    expect(toldAgain(scene.lines)).toBe(0)
    await scene.close()
  })

  it.each(['agent', 'loop'])(
    'goes on in the next worker when that of %s is shut down while tools are at work, and runs none twice',
    async (what) => {
      const scene = new TemporalScene(temporal, what)
      await scene.start({ TOOL_MS: '4000' })
      await scene.begin(`deploy-${what}`)
      await scene.said(begins('write'))
      await scene.worker.kill('SIGTERM')
      await scene.start()
      const human = scene.human()
      const ended = await scene.output<Ended>(`deploy-${what}`)
      await human.goes()
      expect(ended.reason).toBe('done')
      expectHeld(expect, {
        lines: scene.lines,
        operationId: `deploy-${what}`,
        told: toldBy(ended),
        kills: 1,
      })
      await scene.close()
    },
  )

  it('has a worker that is shut down as it keeps something end at once', async () => {
    const scene = new TemporalScene(temporal)
    await scene.start()
    await scene.begin('keeps')
    await scene.said((line) => 'mark' in line && line.mark === 'journaled hookspan kept')
    const before = performance.now()
    await scene.worker.kill('SIGTERM')
    // What asks Temporal for a worker that is not there any more is open for 10 seconds.
    expect(performance.now() - before).toBeLessThan(9_000)
    await scene.start()
    const human = scene.human()
    expect((await scene.output<Ended>('keeps')).reason).toBe('done')
    await human.goes()
    await scene.close()
  })

  it('ends in the worker that has its code, where another one of the queue has other code', async () => {
    const scene = new TemporalScene(temporal, 'loop')
    await scene.start()
    await scene.begin('codes')
    await scene.parked('codes')
    const other = scene.another('loop')
    other.start({ MODEL: 'another' })
    await other.up()
    await scene.answer()
    const ended = await scene.output<Ended>('codes')
    expect([ended.reason, toldBy(ended)]).toEqual(['done', DONE])
    expectHeld(expect, { lines: scene.lines, operationId: 'codes', told: toldBy(ended), kills: 0 })
    expect(toldAgain(scene.lines)).toBe(0)
    await other.kill()
    await scene.close()
  })

  it('says that what a tool gave is more than Temporal keeps, and keeps the run', async () => {
    const scene = new TemporalScene(temporal, 'loop')
    await scene.start({ RESULT_BYTES: '3000000' })
    await scene.begin('large')
    const why = await until('a failed attempt', async () => {
      const { raw } = await scene.handle('large').describe()
      const [activity] = raw.pendingActivities ?? []
      return activity?.lastFailure?.message as string | undefined
    })
    expect(why).toMatch(/"large" has \d+ bytes to keep at once, and Temporal takes 2097152/)
    // It goes on once the tool gives less; what became of those that were at work nobody knows.
    await scene.worker.kill()
    await scene.start()
    const human = scene.human()
    const ended = await scene.output<Ended>('large')
    await human.goes()
    expect(ended.reason).toBe('done')
    for (const tool of ['write', 'note', 'delete'])
      expect(scene.lines.filter(begins(tool)).length).toBeLessThan(2)
    await scene.close()
  })

  it('stays with one of several workers, so that nothing is told again', async () => {
    const scene = new TemporalScene(temporal)
    const other = scene.another()
    other.start()
    await Promise.all([other.up(), scene.start()])
    const human = scene.human()
    for (const run of ['one', 'two', 'three']) await scene.begin(run)
    for (const run of ['one', 'two', 'three']) {
      const ended = await scene.output<Ended>(run)
      expect(ended.reason).toBe('done')
    }
    await human.goes()
    expect(toldAgain(scene.lines)).toBe(0)
    await other.kill()
    await scene.close()
  })
})

/** How often what is done of a run was done in another process than before. */
function moves(lines: readonly Line[]): number {
  const pids = lines.filter((line) => 'hookType' in line || 'tool' in line).map(({ pid }) => pid)
  return pids.filter((pid, index) => index > 0 && pid !== pids[index - 1]).length
}

interface HistoryEvent {
  readonly workflowExecutionSignaledEventAttributes?: {
    readonly signalName: string
    readonly input: Payloads
  }
  readonly activityTaskScheduledEventAttributes?: {
    readonly activityType: { readonly name: string }
    readonly input: Payloads
  }
}

interface Payloads {
  readonly payloads: readonly { readonly data: Uint8Array }[]
}
