import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { AgentRun } from 'hookspan/agent'
import { sqliteStore, verifyAudit } from 'hookspan/approval'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { expectWhole, type SpanLine } from './trace.ts'

const WORKER = fileURLToPath(new URL('./worker.ts', import.meta.url))
const PHASES = ['ask', 'answer', 'finish'] as const

/** What is kept between tests: the compiled code, and the folder as it is before each phase that nothing interrupts. */
const shared = mkdtempSync(`${tmpdir()}/hookspan-kill-`)
const before = (phase: string) => `${shared}/${phase}`

/** Runs a phase in a process of its own. Its id where it was killed. */
async function run(phase: string, folder: string, killAt = ''): Promise<number | undefined> {
  const child = spawn(process.execPath, ['--no-warnings', WORKER, phase, folder], {
    env: { ...process.env, KILL_AT: killAt, NODE_COMPILE_CACHE: `${shared}/code` },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const [[code, signal], stderr] = await Promise.all([once(child, 'close'), text(child.stderr)])
  if (code !== 0 && signal !== 'SIGKILL') throw new Error(`${phase} failed (${code ?? signal}):\n${stderr}`)
  return signal === 'SIGKILL' ? child.pid : undefined
}

const lines = (path: string) => (existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : [])

/** Where the approved tool may have run and nobody knows: it must not run again, and the model is told so. */
const UNKNOWN = new Set([
  'finish:after store.claim',
  'finish:before the effect',
  'finish:after the effect',
  'finish:before store.settle',
])

const POINTS = [
  'ask:start',
  'ask:beforeStep',
  'ask:beforeLlmCall',
  'ask:afterLlmCall',
  'ask:beforeHumanIntervention',
  'ask:before store.get',
  'ask:before store.add',
  'ask:after store.add',
  'ask:before audit.append',
  'ask:after audit.append',
  'ask:before saving waiting.json',
  'ask:while saving waiting.json',
  'ask:after saving waiting.json',
  'answer:before store.get',
  'answer:before store.answer',
  'answer:after store.answer',
  'answer:before audit.append',
  'answer:after audit.append',
  'answer:answered',
  'finish:start',
  'finish:before store.get',
  'finish:after store.get',
  'finish:afterHumanIntervention',
  'finish:beforeToolCall',
  'finish:before store.claim',
  'finish:after store.claim',
  'finish:before audit.append',
  'finish:before the effect',
  'finish:after the effect',
  'finish:before store.settle',
  'finish:after store.settle',
  'finish:afterToolCall',
  'finish:afterStep',
  'finish:beforeLlmCall',
  'finish:onComplete',
  'finish:before saving done.json',
  'finish:while saving done.json',
  'finish:after saving done.json',
]

beforeAll(async () => {
  cpSync(mkdtempSync(`${shared}/new-`), before('ask'), { recursive: true })
  for (const [index, phase] of PHASES.slice(0, -1).entries()) {
    const next = before(PHASES[index + 1] as string)
    cpSync(before(phase), next, { recursive: true })
    await run(phase, next)
  }
})
afterAll(() => rmSync(shared, { recursive: true, force: true }))

describe.concurrent('a process that is killed', () => {
  it.for(POINTS)(
    '%s: the request stays, is answered once, the tool runs at most once, and the trace holds together',
    async (point, { expect }) => {
      const folder = mkdtempSync(`${shared}/run-`)
      const first = PHASES.findIndex((phase) => point.startsWith(`${phase}:`))
      cpSync(before(PHASES[first] as string), folder, { recursive: true })
      const killed = await run(PHASES[first] as string, folder, point)
      if (killed === undefined) throw new Error(`The process went past "${point}" and was not killed.`)
      for (const phase of PHASES.slice(first)) expect(await run(phase, folder)).toBeUndefined()

      const records = await sqliteStore({ path: `${folder}/approvals.db` }).list()
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
      const unknown = UNKNOWN.has(point) || point === 'finish:before audit.append'
      const ran = lines(`${folder}/ran.log`).length
      if (unknown) {
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
