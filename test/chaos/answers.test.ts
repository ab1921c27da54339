/** What humans answer, told by many processes at once, over a log that somebody else holds. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type AuditEvent, sqliteStore, verifyAudit } from 'hookspan/approval'
import { expect, it, onTestFinished } from 'vitest'
import { folder, request } from '../approval/support.ts'
import { tell } from './support/tell.ts'

const TOKEN = 'a bearer token that is long'

function start(script: string, ...args: string[]): ChildProcess {
  const path = fileURLToPath(new URL(`./processes/${script}.ts`, import.meta.url))
  const child = spawn(process.execPath, ['--no-warnings', path, ...args], {
    stdio: ['pipe', 'pipe', 'inherit', 'ipc'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

const message = async (child: ChildProcess): Promise<unknown> => {
  const ended = once(child, 'close').then(() => Promise.reject(new Error('The process ended.')))
  ended.catch(() => {})
  return (await Promise.race([once(child, 'message'), ended]))[0]
}

const eventsIn = (place: string): AuditEvent[] =>
  readFileSync(`${place}/audit.jsonl`, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
const answersIn = (place: string) => eventsIn(place).filter(({ event }) => event === 'answered')

it('an answer while another process holds the log is none: the human is told so, and nothing runs', async () => {
  const place = folder()
  const agent = start('asking', place, TOKEN)
  const { url } = (await message(agent)) as { url: string }
  const store = sqliteStore({ path: `${place}/approvals.db` })
  onTestFinished(() => store.dispose?.())
  await expect.poll(() => store.list({ status: 'pending' })).toHaveLength(1)
  const id = (await store.list())[0]?.request.id
  const respond = () =>
    fetch(`${url}/hitl/approvals/${id}/respond`, {
      method: 'POST',
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
      body: JSON.stringify({ decision: 'approve', approver: 'ann' }),
    })

  const holder = start('hold-lock', `${place}/audit.jsonl.lock`)
  await once(holder.stdout as NonNullable<ChildProcess['stdout']>, 'data')
  const failed = await respond()
  const ran = existsSync(`${place}/ran.log`)
  tell({ done: 'answers while the log is held', times: 1, lost: 0, opened: ran ? 1 : 0 })
  expect([failed.status, ran, (await store.get(`${id}`))?.status]).toEqual([500, false, 'pending'])
  expect(answersIn(place)).toEqual([])

  holder.stdin?.end()
  await once(holder, 'close')
  const outcome = message(agent)
  expect((await respond()).status).toBe(200)
  expect(await outcome).toEqual({ outcome: 'completed' })
  expect(readFileSync(`${place}/ran.log`, 'utf8')).toBe('ran\n')
  expect(answersIn(place)).toMatchObject([{ requestId: id, approver: 'ann' }])
  expect(verifyAudit({ path: `${place}/audit.jsonl` })).toMatchObject({ ok: true })
})

it('of several processes that answer at once one is taken, and the log has that one and no other', async () => {
  const place = folder()
  const store = sqliteStore({ path: `${place}/approvals.db` })
  onTestFinished(() => store.dispose?.())
  const ids = Array.from({ length: 25 }, (_, i) => `apr_${i}`)
  for (const id of ids) await store.add(request(id))
  const names = ['ann', 'bob', 'cid', 'dan']
  const humans = names.map((name) => start('answering', place, name))
  await Promise.all(humans.map(message))
  const taken = humans.map(message)
  for (const human of humans) human.send('go')
  const won = (await Promise.all(taken)) as string[][]

  const logged = answersIn(place)
  const answered = await Promise.all(ids.map((id) => store.get(id)))
  const lost = answered.filter(
    (record) =>
      !logged.some(
        (one) => one.requestId === record?.request.id && one.approver === record?.answer?.approver,
      ),
  )
  const doubled = logged.length - new Set(logged.map(({ requestId }) => requestId)).size
  tell({ done: 'requests answered by four processes at once', times: ids.length, lost: lost.length, doubled })
  expect([lost, doubled]).toEqual([[], 0])
  expect(won.flat().sort()).toEqual(ids.toSorted())
  expect(logged).toHaveLength(ids.length)
  expect(verifyAudit({ path: `${place}/audit.jsonl` })).toMatchObject({ ok: true })
})
