import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import type { AgentRun } from 'hookspan/agent'
import { type ApprovalRecord, sqliteStore, verifyAudit } from 'hookspan/approval'
import { afterAll, describe, expect, it } from 'vitest'
import { expectWhole, type SpanLine } from './trace.ts'
import { effectsIn, runWatched } from './watched.ts'

const pathOf = (file: string) => fileURLToPath(new URL(file, import.meta.url))
const PHASES = ['ask', 'answer', 'finish'] as const

/** What is kept between tests: the compiled code, and the folder as it is before each phase that nothing interrupts. */
const shared = mkdtempSync(`${tmpdir()}/hookspan-kill-`)
const before = (phase: string) => `${shared}/${phase}`
afterAll(() => rmSync(shared, { recursive: true, force: true }))

const run = async (phase: string, folder: string, env: NodeJS.ProcessEnv = {}) =>
  (await runWatched(pathOf('./worker.ts'), [phase, folder], { shared, folder, env })).killed

const lines = (path: string) => (existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : [])

interface Point {
  readonly phase: (typeof PHASES)[number]
  readonly call: number
  readonly title: string
}

/** After which calls of which phase the disk is another: found by running each once, so that none can be forgotten. */
async function pointsOf(): Promise<Point[]> {
  const points: Point[] = []
  mkdirSync(before('ask'))
  for (const [index, phase] of PHASES.entries()) {
    const folder = before(PHASES[index + 1] ?? 'over')
    cpSync(before(phase), folder, { recursive: true })
    await run(phase, folder, { EFFECTS: `${shared}/${phase}.json` })
    const effects = effectsIn(`${shared}/${phase}.json`)
    for (const [nth, { call, name }] of effects.entries()) {
      points.push({ phase, call, title: `${phase} ${nth + 1} of ${effects.length}, ${name}` })
    }
  }
  return points
}

const POINTS = await pointsOf()

it('has a point for each thing that is written', () => {
  const writers = new Set(POINTS.map(({ title }) => title.split(', ')[1]))
  expect([...writers]).toEqual(expect.arrayContaining(['statement.run', 'fs.writeSync', 'fs.renameSync']))
  expect(POINTS.length).toBeGreaterThan(30)
})

async function recordsIn(folder: string): Promise<ApprovalRecord[]> {
  const path = `${folder}/approvals.db`
  if (!existsSync(path)) return []
  const store = sqliteStore({ path })
  const records = await store.list()
  await store.dispose?.()
  return records
}

describe.concurrent('a process that is killed', () => {
  it.for(POINTS.map((point) => [point.title, point] as const))(
    'after %s: the request stays, is answered once, the tool runs at most once, and the trace holds together',
    async ([title, { phase: at, call }], { expect }) => {
      const folder = mkdtempSync(`${shared}/run-`)
      const first = PHASES.indexOf(at)
      cpSync(before(at), folder, { recursive: true })
      const killed = await run(at, folder, { KILL_AFTER: String(call) })
      if (killed === undefined) throw new Error(`The process went past ${title} and was not killed.`)
      const claimed = (await recordsIn(folder)).some(({ execution }) => execution === 'claimed')
      for (const phase of PHASES.slice(first)) expect(await run(phase, folder)).toBeUndefined()

      const records = await recordsIn(folder)
      const waiting = JSON.parse(readFileSync(`${folder}/waiting.json`, 'utf8')) as AgentRun
      const asked = waiting.pendingApprovals?.[0]?.id
      const own = records.find(({ request }) => request.id === asked)
      expect(own).toMatchObject({ status: 'answered', answer: { decision: 'approve', approver: 'ann' } })

      const audit = lines(`${folder}/audit.jsonl`).map(
        (line) => JSON.parse(line) as { event: string; requestId: string },
      )
      expect(verifyAudit({ path: `${folder}/audit.jsonl` })).toMatchObject({ ok: true })
      expect(
        audit.filter(({ event, requestId }) => event === 'answered' && requestId === asked).length,
      ).toBeLessThan(2)

      const done = JSON.parse(readFileSync(`${folder}/done.json`, 'utf8')) as AgentRun
      const ran = lines(`${folder}/ran.log`).length
      // The tool may have run and nobody knows: it must not run again, and the model is told so.
      if (claimed) {
        expect(ran).toBeLessThan(2)
        expect(done.content).toContain('execution_unknown')
      } else {
        expect([ran, done.content]).toEqual([1, 'deleted'])
      }
      expect(done).toMatchObject({ status: 'done', operationId: 'run-1' })

      const spans = lines(`${folder}/spans.jsonl`).map((line) => JSON.parse(line) as SpanLine)
      expectWhole(expect, spans, killed)
    },
  )
})
