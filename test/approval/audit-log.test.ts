import { createHash } from 'node:crypto'
import { appendFileSync, readdirSync, readFileSync, renameSync, truncateSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import {
  type AuditEvent,
  type AuditLog,
  auditLog,
  createApprovals,
  memoryStore,
  verifyAudit,
} from 'hookspan/approval'
import { requireHuman } from 'hookspan/policies'
import { describe, expect, it } from 'vitest'
import { answer, desk, folder, pending, request } from './support.ts'

async function written(key?: string): Promise<{ path: string; lines: string[]; key?: string }> {
  const path = `${folder()}/audit.jsonl`
  const log = auditLog({ path, ...(key && { key }) })
  for (let i = 0; i < 4; i++) await log.append({ event: 'answered', requestId: `r${i}`, decision: 'approve' })
  return { path, lines: readFileSync(path, 'utf8').trimEnd().split('\n'), ...(key && { key }) }
}

/** The same entry to whoever parses it. */
function swapped(line: string): string {
  return JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(line)).reverse()))
}

it('that is emptied while it is written to is begun anew, with what was being written', async () => {
  const { path } = await written()
  const log = auditLog({ path })
  await log.append({
    event: 'answered',
    requestId: 'r4',
    // Read once it is known what the entry hangs on.
    get decision() {
      if (readFileSync(path, 'utf8').split('\n').length > 4) truncateSync(path, 0)
      return 'approve'
    },
  })
  expect(verifyAudit({ path })).toMatchObject({ ok: true, entries: 2 })
  const entries = readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(entries).toMatchObject([
    { event: 'begun_anew', lastSeq: 5 },
    { event: 'answered', requestId: 'r4' },
  ])
})

it('is refused when it is opened where no file can be written', () => {
  const root = folder()
  writeFileSync(`${root}/file`, '')
  for (const path of [root, '/dev/full', `${root}/file/audit.jsonl`]) {
    expect(() => auditLog({ path })).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }))
    expect(() => auditLog({ path })).toThrow(`The audit log \`"${path}"\` (string) cannot be written: `)
  }
  auditLog({ path: `${root}/deep/audit.jsonl` })
  expect(readdirSync(`${root}/deep`), 'nothing is written before there is something to tell').toEqual([])
})

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
    ['a key is there twice', (l) => l.with(1, (l[1] as string).replace('{', '{"decision":"reject",')), 2],
    ['a key is there twice, as it was', (l) => l.with(1, (l[1] as string).replace('{', '{"seq":2,')), 2],
    ['keys were exchanged', (l) => l.with(2, swapped(l[2] as string)), 3],
    ['a space was added', (l) => l.with(1, (l[1] as string).replace(':', ': ')), 2],
    ['a sign is written otherwise', (l) => l.with(1, (l[1] as string).replace('"r1"', '"\\u00721"')), 2],
    ['a line ends in another way', (l) => l.with(2, `${l[2]}\r`), 3],
    ['all of them do', (l) => l.map((line) => `${line}\r`), 1],
    ['an empty line was added', (l) => l.toSpliced(2, 0, ''), 3],
    ['it is nested without end', (l) => l.with(1, `{"a":${'['.repeat(99_999)}${']'.repeat(99_999)}}`), 2],
  ]
  it.each(changes)('finds the line when %s', async (_name, change, line) => {
    const { path, lines } = await written()
    writeFileSync(path, `${change(lines).join('\n')}\n`)
    expect(verifyAudit({ path })).toMatchObject({ ok: false, line })
  })

  it('finds bytes that are read as what was there', async () => {
    const path = `${folder()}/audit.jsonl`
    await auditLog({ path }).append({ event: 'answered', reason: '\uFFFD' })
    expect(verifyAudit({ path })).toMatchObject({ ok: true })
    const bytes = readFileSync(path)
    const at = bytes.indexOf('\uFFFD')
    writeFileSync(path, Buffer.concat([bytes.subarray(0, at), Buffer.from([0xff]), bytes.subarray(at + 3)]))
    expect(verifyAudit({ path })).toMatchObject({ ok: false, line: 1 })
  })

  it('finds a log that lost its last byte, and vouches for it once another entry does', async () => {
    const { path } = await written()
    writeFileSync(path, readFileSync(path).subarray(0, -1))
    expect(verifyAudit({ path })).toEqual({ ok: false, line: 4, problem: 'the line is not whole' })
    await auditLog({ path }).append({ event: 'answered' })
    expect(verifyAudit({ path })).toMatchObject({ ok: true, entries: 5 })
  })

  it('finds a log that was written anew without the key', async () => {
    const { path } = await written('the key of the log')
    expect(verifyAudit({ path, key: 'the key of the log' })).toMatchObject({ ok: true })
    for (const [key, why] of [
      ['another', /^the line was changed, or the log has another key, or none$/],
      [undefined, /^the line was changed, or the log has a key, which was not given$/],
    ] as const)
      expect(verifyAudit({ path, ...(key && { key }) })).toEqual({
        ok: false,
        line: 1,
        problem: expect.stringMatching(why),
      })
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

it.each([
  ['the key', undefined, 'the key of the log'],
  ['no key', 'the key of the log', undefined],
  ['another key', 'the key of the log', 'another'],
])('takes no entry of who has %s, where that is not what it is chained with', async (_name, key, other) => {
  const { path, lines } = await written(key)
  const log = auditLog({ path, ...(other && { key: other }) })
  await expect(log.append({ event: 'expired' })).rejects.toMatchObject({ code: 'INVALID_STATE' })
  expect(readFileSync(path, 'utf8')).toBe(`${lines.join('\n')}\n`)
})

it('tells in a new file of the one that was moved away, or removed', async () => {
  const path = `${folder()}/audit.jsonl`
  const log = auditLog({ path })
  for (const requestId of ['a', 'b']) await log.append({ event: 'requested', requestId })
  renameSync(path, `${path}.1`)
  for (const requestId of ['c', 'd']) await log.append({ event: 'requested', requestId })
  const moved = verifyAudit({ path: `${path}.1` })
  expect(moved).toMatchObject({ ok: true, entries: 2 })
  expect(verifyAudit({ path })).toMatchObject({ ok: true, entries: 3 })
  const [first, second] = readFileSync(path, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(first).toMatchObject({
    seq: 1,
    event: 'begun_anew',
    lastSeq: 2,
    lastHash: moved.ok && moved.lastHash,
  })
  expect(second).toMatchObject({ seq: 2, event: 'requested', requestId: 'c' })
})

it.each([
  ['moved away', (path: string) => renameSync(path, `${path}.1`)],
  ['emptied', (path: string) => truncateSync(path)],
])('says what each writer wrote last to a log that was %s', async (_how, rotate) => {
  const path = `${folder()}/audit.jsonl`
  const [one, other, stranger] = [auditLog({ path }), auditLog({ path }), auditLog({ path })]
  await one.append({ event: 'requested', requestId: 'a' })
  await other.append({ event: 'requested', requestId: 'b' })
  rotate(path)
  // Who has written nothing yet cannot know that there was more.
  await stranger.append({ event: 'refused', requestId: 'c' })
  for (const log of [one, other, one, other]) await log.append({ event: 'requested' })
  expect(verifyAudit({ path })).toMatchObject({ ok: true, entries: 7 })
  const lines = readFileSync(path, 'utf8').trim().split('\n')
  const told = lines.map((line) => JSON.parse(line)).filter(({ event }) => event === 'begun_anew')
  expect(told).toMatchObject([{ lastSeq: 1 }, { lastSeq: 2 }])
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

describe('an answer', () => {
  const failing = (event: string): AuditLog => ({
    append: async (one) => {
      if (one.event === event) throw new Error('the disk is full')
    },
  })

  it('that cannot be written down is none: nothing runs, and it may be given once more', async () => {
    const path = `${folder()}/audit.jsonl`
    const real = auditLog({ path })
    let full = true
    const audit: AuditLog = {
      append: async (event) => {
        if (full && event.event === 'answered') throw new Error('the disk is full')
        return real.append(event)
      },
    }
    const { approvals, call, ran } = desk({ audit })
    const running = call()
    const { id } = await pending(approvals)
    await expect(approvals.respond(id, { decision: 'approve' })).rejects.toThrow('the disk is full')
    expect((await approvals.get(id))?.status).toBe('pending')
    full = false
    await approvals.respond(id, { decision: 'approve' })
    expect(await running).toMatchObject({ state: 'completed' })
    expect(ran).toHaveLength(1)
    expect(eventsIn(path)).toEqual(['requested', 'answered', 'claimed', 'settled'])
  })

  it('is not written where the request is closed already, or two come at once', async () => {
    const path = `${folder()}/audit.jsonl`
    const { approvals, call } = desk({ audit: auditLog({ path }) })
    const running = call()
    const { id } = await pending(approvals)
    const answers = await Promise.allSettled(
      (['approve', 'reject', 'approve'] as const).map((decision) => approvals.respond(id, { decision })),
    )
    expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected'])
    await running
    expect(eventsIn(path).filter((event) => event === 'answered')).toHaveLength(1)
    expect(eventsIn(path).filter((event) => event === 'refused')).toHaveLength(2)
  })

  it('that the store did not take after all is written down as refused', async () => {
    const path = `${folder()}/audit.jsonl`
    const store = memoryStore()
    store.answer = async () => {
      throw new Error('the store is gone')
    }
    const approvals = createApprovals({ store, audit: auditLog({ path }) })
    await store.add(request('apr_1'))
    await expect(approvals.respond('apr_1', { decision: 'approve' })).rejects.toThrow('the store is gone')
    expect(eventsIn(path)).toEqual(['answered', 'refused'])
  })

  it('that a process wrote down before it was killed is not there twice when it is given once more', async () => {
    const path = `${folder()}/audit.jsonl`
    const log = auditLog({ path })
    const told = { event: 'answered', requestId: 'r1', decision: 'approve' } as const
    await log.append(told)
    await log.append(told)
    await log.append({ ...told, decision: 'reject' })
    await log.append({ ...told, requestId: 'r2' })
    expect(eventsIn(path)).toHaveLength(3)
    expect(verifyAudit({ path })).toMatchObject({ ok: true, entries: 3 })
  })

  it('lets nothing run where the claim cannot be written down', async () => {
    const { approvals, call, ran } = desk({ audit: failing('claimed') })
    const running = call()
    await approvals.respond((await pending(approvals)).id, { decision: 'approve' })
    expect(await running).toMatchObject({ state: 'denied', code: 'approval_error' })
    expect(ran).toEqual([])
  })

  it('is not used up where the claim cannot be written down: the call runs once it can', async () => {
    const path = `${folder()}/audit.jsonl`
    const log = auditLog({ path })
    let full = true
    const audit: AuditLog = {
      append: async (event) => {
        if (full && event.event === 'claimed') throw new Error('the disk is full')
        return log.append(event)
      },
    }
    const store = memoryStore()
    const { approver } = createApprovals({ store, audit })
    await store.add(request('apr_1'))
    await createApprovals({ store, audit }).respond('apr_1', { decision: 'approve' })
    await expect(approver.ledger?.claim('apr_1')).rejects.toThrow('the disk is full')
    full = false
    expect(await approver.ledger?.claim('apr_1')).toEqual({ state: 'run' })
    expect(await approver.ledger?.claim('apr_1')).toEqual({ state: 'unknown' })
    expect(entriesIn(path)).toMatchObject([
      { event: 'answered' },
      { event: 'claimed', state: 'run' },
      { event: 'claimed', state: 'unknown' },
    ])
  })

  it.each([
    ['another process was faster', async () => ({ state: 'unknown' }) as const, 'claimed', 'unknown'],
    [
      'the store is away',
      async () => {
        throw new Error('the store is gone')
      },
      'refused',
      undefined,
    ],
  ])('whose claim was written down is followed by what came of it: %s', async (_why, claim, event, state) => {
    const path = `${folder()}/audit.jsonl`
    const store = memoryStore()
    const approvals = createApprovals({ store, audit: auditLog({ path }) })
    await store.add(request('apr_1'))
    await approvals.respond('apr_1', { decision: 'approve' })
    store.claim = claim
    await approvals.approver.ledger?.claim('apr_1').catch(() => {})
    const [, first, second] = entriesIn(path)
    expect(first).toMatchObject({ event: 'claimed', state: 'run' })
    expect(second).toMatchObject({ event, ...(state && { state }), requestId: 'apr_1' })
  })

  it('is asked for only where the question is in the log', async () => {
    const { approvals, call, ran } = desk({ audit: failing('requested') })
    expect(await call()).toMatchObject({ state: 'denied', code: 'approval_error' })
    expect(await approvals.list()).toEqual([])
    expect(ran).toEqual([])
  })
})

function entriesIn(path: string): AuditEvent[] {
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n')
  return lines.map((line) => JSON.parse(line) as AuditEvent)
}

function eventsIn(path: string): string[] {
  return entriesIn(path).map(({ event }) => event)
}

it('has each call that nobody was asked about any more; one that cannot be written down does not run', async () => {
  const path = `${folder()}/audit.jsonl`
  const log = auditLog({ path })
  let full = false
  const audit: AuditLog = {
    append: async (event) => (full ? Promise.reject(new Error('the disk is full')) : log.append(event)),
  }
  const { approvals, call, ran } = desk({ audit })
  const first = call()
  const { id, argsDigest } = await pending(approvals)
  await approvals.respond(id, { decision: 'approve', alwaysAllow: true, argsDigest })
  await first
  expect((await call({ id: 2 }, 'delete_order', 't2')).state).toBe('completed')
  full = true
  expect(await call({ id: 3 }, 'delete_order', 't3')).toMatchObject({
    state: 'denied',
    code: 'approval_error',
  })
  expect(ran).toEqual([{ id: 1 }, { id: 2 }])
  expect(eventsIn(path)).toEqual(['requested', 'answered', 'claimed', 'settled', 'allowed'])
  const ofTwo = createHash('sha256').update('{"id":2}').digest('hex')
  const last = JSON.parse(readFileSync(path, 'utf8').trimEnd().split('\n').at(-1) as string)
  expect(last).toMatchObject({ operationId: 'op', apiName: 'delete_order', argsDigest: ofTwo })
})

it('tells which gate asked about which call, of whose tool, and whether about what it gave', async () => {
  const path = `${folder()}/audit.jsonl`
  const { approvals, dispatcher } = desk({ audit: auditLog({ path }) })
  dispatcher.use({ name: 'release', gates: [requireHuman({ id: 'release', point: 'afterToolCall' })] })
  const op = dispatcher.startOperation()
  const init = { apiName: 'refund', identifier: 'shop', toolCallId: 't1', args: { id: 1 } }
  const outcome = op.toolCall(init, () => 'done')
  await answer(approvals, { decision: 'approve' })
  await expect.poll(async () => (await pending(approvals)).gateId).toBe('release')
  await answer(approvals, { decision: 'approve' })
  expect((await outcome).state).toBe('completed')
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n')
  const asked = lines.map((line) => JSON.parse(line)).filter(({ event }) => event === 'requested')
  const call = { operationId: op.operationId, identifier: 'shop', apiName: 'refund', toolCallId: 't1' }
  expect(asked).toMatchObject([
    { ...call, gateId: 'require-human', point: 'beforeToolCall' },
    { ...call, gateId: 'release', point: 'afterToolCall' },
  ])
  // As the page of it has it, without a word of ours.
  for (const line of lines) {
    const { hash } = JSON.parse(line)
    expect(
      createHash('sha256')
        .update(line.replace(`"hash":"${hash}",`, ''))
        .digest('hex'),
    ).toBe(hash)
  }
})

it('tells that an answer is for all further calls, or ends the run', async () => {
  const path = `${folder()}/audit.jsonl`
  const approvals = createApprovals({ audit: auditLog({ path }) })
  for (const id of ['r1', 'r2']) await approvals.store.add(request(id))
  await approvals.respond('r1', { decision: 'approve', approver: 'ann', alwaysAllow: true })
  await approvals.respond('r2', { decision: 'reject', approver: 'ann', reason: 'enough', stop: true })
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n')
  expect(lines.map((line) => JSON.parse(line) as AuditEvent)).toMatchObject([
    { event: 'answered', requestId: 'r1', decision: 'approve', approver: 'ann', alwaysAllow: true },
    { event: 'answered', requestId: 'r2', decision: 'reject', reason: 'enough', stop: true },
  ])
})

describe('an answer by somebody who knows nothing of the log', () => {
  const scene = (audit: AuditLog) => {
    const store = memoryStore()
    const { call, ran } = desk({ store, audit })
    // As `hookspan approvals approve --db` without `--audit`.
    return { call, ran, others: createApprovals({ store }) }
  }

  it.each(['approve', 'reject'] as const)('is written there before it counts: %s', async (decision) => {
    const path = `${folder()}/audit.jsonl`
    const { call, ran, others } = scene(auditLog({ path }))
    const outcome = call()
    const { id } = await pending(others)
    await others.respond(id, { decision, approver: 'ines', reason: 'so' })
    await outcome

    expect(ran).toHaveLength(decision === 'approve' ? 1 : 0)
    const entries = readFileSync(path, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    const answered = entries.filter(({ event }) => event === 'answered')
    expect(answered).toMatchObject([
      { requestId: id, decision, approver: 'ines', reason: 'so', elsewhere: true },
    ])
    expect(verifyAudit({ path })).toMatchObject({ ok: true })
  })

  it('does not count where it cannot be written', async () => {
    const { call, ran, others } = scene({
      append: async ({ event }) => {
        if (event === 'answered') throw new Error('the disk is full')
      },
    })
    const outcome = call()
    const { id } = await pending(others)
    await others.respond(id, { decision: 'approve', approver: 'ines' })

    expect(JSON.stringify(await outcome)).toContain('the disk is full')
    expect(ran).toEqual([])
  })

  it('cannot say that it is in the log', async () => {
    const { call, others } = scene({ append: async () => {} })
    void call()
    const { id } = await pending(others)
    await expect(others.respond(id, { decision: 'approve', logged: true } as never)).rejects.toThrow(/logged/)
  })
})
