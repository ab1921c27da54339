import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { auditLog, verifyAudit } from 'hookspan/approval'
import { describe, expect, it } from 'vitest'
import { folder } from './support.ts'

async function written(key?: string): Promise<{ path: string; lines: string[]; key?: string }> {
  const path = `${folder()}/audit.jsonl`
  const log = auditLog({ path, ...(key && { key }) })
  for (let i = 0; i < 4; i++) await log.append({ event: 'answered', requestId: `r${i}`, decision: 'approve' })
  return { path, lines: readFileSync(path, 'utf8').trimEnd().split('\n'), ...(key && { key }) }
}

describe('verifyAudit', () => {
  it('takes a log as it was written', async () => {
    const { path } = await written()
    expect(verifyAudit({ path })).toMatchObject({ ok: true, entries: 4 })
  })

  const changes: [string, (lines: string[]) => string[], number][] = [
    ['a value was changed', (l) => l.with(1, (l[1] as string).replace('approve', 'reject')), 2],
    ['the hash was changed', (l) => l.with(2, (l[2] as string).replace(/"hash":"./, '"hash":"x')), 3],
    ['a line was removed', (l) => l.toSpliced(1, 1), 2],
    ['a line was added', (l) => l.toSpliced(1, 0, l[1] as string), 3],
    ['lines were exchanged', (l) => [l[0], l[2], l[1], l[3]] as string[], 2],
    ['a line is no JSON', (l) => l.with(0, 'x'), 1],
    ['the first line was removed', (l) => l.slice(1), 1],
  ]
  it.each(changes)('finds the line when %s', async (_name, change, line) => {
    const { path, lines } = await written()
    writeFileSync(path, `${change(lines).join('\n')}\n`)
    expect(verifyAudit({ path })).toMatchObject({ ok: false, line })
  })

  it('finds a log that was written anew without the key', async () => {
    const { path } = await written('the key of the log')
    expect(verifyAudit({ path, key: 'the key of the log' })).toMatchObject({ ok: true })
    expect(verifyAudit({ path, key: 'another' })).toMatchObject({ ok: false, line: 1 })
  })

  it('vouches for what a killed process left behind, and finds it where nothing does', async () => {
    const { path } = await written()
    appendFileSync(path, '{"seq":5,"ev')
    expect(verifyAudit({ path })).toMatchObject({ ok: false, line: 5 })
    await auditLog({ path }).append({ event: 'answered' })
    expect(verifyAudit({ path })).toMatchObject({ ok: true, entries: 6 })
    writeFileSync(path, readFileSync(path, 'utf8').replace('"seq":5,"ev', '"seq":5,"xx'))
    expect(verifyAudit({ path })).toMatchObject({ ok: false, line: 5 })
  })
})

it('chains the entries of several writers', async () => {
  const path = `${folder()}/audit.jsonl`
  const logs = [auditLog({ path }), auditLog({ path }), auditLog({ path })]
  await Promise.all(
    logs.flatMap((log) => Array.from({ length: 10 }, () => log.append({ event: 'requested' }))),
  )
  expect(verifyAudit({ path })).toMatchObject({ ok: true, entries: 30 })
})

it('waits for another process that writes', async () => {
  const { path } = await written()
  const other = new DatabaseSync(`${path}.lock`)
  other.exec('BEGIN EXCLUSIVE')
  let appended = false
  const appending = auditLog({ path })
    .append({ event: 'refused', requestId: 'r5' })
    .then(() => {
      appended = true
    })
  await new Promise((resolve) => setImmediate(resolve))
  expect([appended, readFileSync(path, 'utf8').includes('r5')]).toEqual([false, false])

  other.close()
  await appending

  expect(verifyAudit({ path })).toMatchObject({ ok: true, entries: 5 })
})
