import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import type { AgentRun } from 'hookspan/agent'
import { sqliteStore, verifyAudit } from 'hookspan/approval'
import { describe, expect, it, onTestFinished } from 'vitest'

const WORKER = fileURLToPath(new URL('./worker.ts', import.meta.url))

function run(phase: string, folder: string, killAt = ''): NodeJS.Signals | number | null {
  const { status, signal, stderr } = spawnSync(process.execPath, ['--no-warnings', WORKER, phase, folder], {
    env: { ...process.env, KILL_AT: killAt },
    encoding: 'utf8',
  })
  if (signal === null && status !== 0) throw new Error(`${phase} failed:\n${stderr}`)
  return signal ?? status
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

describe('a process that is killed', () => {
  it.each(POINTS)(
    '%s: the request stays, is answered once, and the tool runs at most once',
    async (point) => {
      const folder = mkdtempSync(`${tmpdir()}/hookspan-kill-`)
      onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
      const [killed] = point.split(':')
      for (const phase of ['ask', 'answer', 'finish']) {
        if (phase === killed) expect(run(phase, folder, point)).toBe('SIGKILL')
        expect(run(phase, folder)).toBe(0)
      }

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

      const spans = lines(`${folder}/spans.jsonl`).map(
        (line) => JSON.parse(line) as { traceId: string; name: string },
      )
      expect(new Set(spans.map((span) => span.traceId)).size).toBe(1)
      const names = spans.map((span) => span.name)
      expect(names).toContain('human_intervention')
      expect(names.filter((name) => name.startsWith('invoke_agent')).length).toBeGreaterThan(1)
    },
  )
})
