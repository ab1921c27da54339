/** The audit log on a disk that becomes full: what is told to be in it is in it, whole. */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { auditLog, verifyAudit } from 'hookspan/approval'
import { expect, it } from 'vitest'
import { folder } from '../approval/support.ts'
import { smallDisk } from './support/small-disk.ts'
import { tell } from './support/tell.ts'

it('an entry that has no room whole is refused, and leaves nothing behind', async ({ skip }) => {
  using disk = smallDisk(64 * 1024)
  if (disk === undefined) return skip('needs the right to mount a tmpfs')
  const path = `${disk.path}/audit.jsonl`
  const log = auditLog({ path })
  const accepted: string[] = []
  const refused: unknown[] = []
  // As long as they are, no number of them fills a page: the last one has room for a part.
  while (refused.length < 3) {
    const requestId = `r${accepted.length}`
    await log.append({ event: 'requested', requestId, note: 'x'.repeat(137) }).then(
      () => accepted.push(requestId),
      (error: unknown) => refused.push(error),
    )
  }
  const lines = readFileSync(path, 'utf8').split('\n')
  const lost = accepted.length - lines.filter((line) => line.endsWith('}')).length
  tell({ done: 'entries on a disk that becomes full', times: accepted.length, lost })
  const message = expect.stringContaining(`The audit log "${path}" cannot be written: ENOSPC`)
  expect(refused).toEqual(Array(3).fill(expect.objectContaining({ code: 'ENOSPC', message })))
  expect(lost).toBe(0)
  expect(verifyAudit({ path })).toMatchObject({ ok: true, entries: accepted.length })

  // With room again it goes on where it was.
  const moved = `${folder()}/audit.jsonl`
  writeFileSync(moved, readFileSync(path))
  await auditLog({ path: moved }).append({ event: 'requested', requestId: 'later' })
  expect(verifyAudit({ path: moved })).toMatchObject({ ok: true, entries: accepted.length + 1 })
})

it('one of many entries is verified without all of them in memory', () => {
  const path = `${folder()}/audit.jsonl`
  let prev = '0'.repeat(64)
  const lines = Array.from({ length: 60_000 }, (_, i) => {
    const entry = { argsDigest: prev, at: new Date(i).toISOString(), event: 'answered' }
    const rest = { prev, reason: 'schön', requestId: `r${i}`, seq: i + 1 }
    const hash = createHash('sha256')
      .update(JSON.stringify({ ...entry, ...rest }))
      .digest('hex')
    prev = hash
    return `${JSON.stringify({ ...entry, hash, ...rest })}\n`
  })
  const verified = () => {
    const code = `import { verifyAudit } from 'hookspan/approval'
      console.log(JSON.stringify(verifyAudit({ path: process.argv[1] })))`
    const flags = ['--max-old-space-size=24', '--input-type=module', '-e', code, path]
    return JSON.parse(execFileSync(process.execPath, flags, { encoding: 'utf8' }))
  }
  writeFileSync(path, lines.join(''))
  expect(verified()).toEqual({ ok: true, entries: lines.length, lastHash: prev })
  const changed = lines.with(40_000, (lines[40_000] as string).replace('schön', 'schon'))
  writeFileSync(path, changed.join(''))
  expect(verified()).toEqual({ ok: false, line: 40_001, problem: 'the line was changed' })
})
