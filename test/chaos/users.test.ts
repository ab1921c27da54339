/** Several users of one folder: root, who answers for a service, and services that share a group. */
import { spawnSync } from 'node:child_process'
import { chmodSync, chownSync, renameSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { verifyAudit } from 'hookspan/approval'
import { expect, it } from 'vitest'
import { folder, request } from '../approval/support.ts'

const SCRIPT = fileURLToPath(new URL('./processes/as-user.ts', import.meta.url))
const [SERVICE, OTHER, GROUP] = [61_001, 61_002, 61_100]
const isRoot = process.geteuid?.() === 0

function answers(place: string, user: number, id: string, group = user): string {
  const args = ['--no-warnings', SCRIPT, place, String(user), String(group), JSON.stringify(request(id))]
  return spawnSync(process.execPath, args, { encoding: 'utf8' }).stdout.trim()
}

it.runIf(isRoot)('what root makes in the folder of a service is the service’s', () => {
  const place = folder()
  chownSync(place, SERVICE, SERVICE)
  expect(answers(place, SERVICE, 'apr_1')).toBe('run')
  renameSync(`${place}/audit.jsonl`, `${place}/audit-1.jsonl`)
  renameSync(`${place}/audit.jsonl.lock`, `${place}/audit-1.jsonl.lock`)
  expect(answers(place, 0, 'apr_2')).toBe('run')
  expect(statSync(`${place}/audit.jsonl`)).toMatchObject({ uid: SERVICE, gid: SERVICE, mode: 0o100600 })
  expect(answers(place, SERVICE, 'apr_3')).toBe('run')
  expect(verifyAudit({ path: `${place}/audit.jsonl` })).toMatchObject({ ok: true, entries: 2 })
})

it.runIf(isRoot)(
  'of a group that may use the approvals and the log, all may answer and go on with runs',
  () => {
    const place = folder()
    chownSync(place, SERVICE, GROUP)
    chmodSync(place, 0o2770)
    expect(answers(place, SERVICE, 'apr_1', GROUP)).toBe('run')
    expect(answers(place, OTHER, 'apr_2', GROUP)).toMatch(/cannot be opened/)
    for (const name of [
      'approvals.db',
      'approvals.db-wal',
      'approvals.db-shm',
      'audit.jsonl',
      'audit.jsonl.lock',
    ])
      chmodSync(`${place}/${name}`, 0o660)
    expect(answers(place, OTHER, 'apr_2', GROUP)).toBe('run')
    expect(answers(place, SERVICE, 'apr_3', GROUP)).toBe('run')
    expect(answers(place, OTHER, 'apr_4', GROUP)).toBe('run')
    expect(verifyAudit({ path: `${place}/audit.jsonl` })).toMatchObject({ ok: true, entries: 4 })
  },
)
