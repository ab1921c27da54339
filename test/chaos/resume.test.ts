/** One saved run, and several processes that go on from it: what needs nobody's approval is done once, too. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { AgentRun } from 'hookspan/agent'
import { sqliteStore } from 'hookspan/approval'
import { expect, it, onTestFinished } from 'vitest'
import { folder } from '../approval/support.ts'
import { COMPILED } from './support/compiled.ts'
import { tell } from './support/tell.ts'

const SCRIPT = fileURLToPath(new URL('./processes/resuming.ts', import.meta.url))

type Ended = Partial<AgentRun> & { code?: string }

class Worker {
  readonly child: ChildProcess
  readonly #said: unknown[] = []

  constructor(...args: string[]) {
    this.child = spawn(process.execPath, ['--no-warnings', SCRIPT, ...args], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      env: { ...process.env, ...COMPILED },
    })
    this.child.on('message', (message) => this.#said.push(message))
    onTestFinished(() => void this.child.kill('SIGKILL'))
  }

  async said(word: string): Promise<void> {
    await expect.poll(() => this.#said).toContain(word)
  }

  go(): void {
    this.child.send('go')
  }

  async ended(): Promise<Ended> {
    if (this.child.exitCode === null && this.child.signalCode === null) await once(this.child, 'close')
    return (this.#said.at(-1) as { run: Ended }).run
  }

  async kill(): Promise<void> {
    this.child.kill('SIGKILL')
    await once(this.child, 'close')
  }
}

async function parked(): Promise<{ place: string; state: string }> {
  const place = folder()
  const run = await new Worker('park', place).ended()
  expect(run.status).toBe('waiting_for_human')
  const store = sqliteStore({ path: `${place}/approvals.db` })
  const id = run.pendingApprovals?.[0]?.id ?? ''
  await store.answer(id, { decision: 'approve' }, Date.now())
  await store.dispose?.()
  return { place, state: JSON.stringify(run.state) }
}

const ran = (place: string) => readFileSync(`${place}/ran.log`, 'utf8').trimEnd().split('\n')
const doubledIn = (place: string) => ran(place).length - new Set(ran(place)).size

it('the one that comes first goes on, the others are told so', async () => {
  const times = 5
  let doubled = 0
  for (let i = 0; i < times; i++) {
    const { place, state } = await parked()
    const workers = Array.from({ length: 3 }, () => new Worker('resume', place, state, '300'))
    await Promise.all(workers.map((worker) => worker.said('ready')))
    for (const worker of workers) worker.go()
    const ended = await Promise.all(workers.map((worker) => worker.ended()))
    doubled += doubledIn(place)
    expect(ran(place)).toEqual(['refund', 'send_mail'])
    const went = ended.filter((run) => run.status === 'done' && run.resumedBefore === undefined)
    const told = ended.filter((run) => run.code === 'STATE_CLAIMED' || run.resumedBefore === true)
    expect([went.length, told.length]).toEqual([1, 2])
    // Who asks when all is over is given what came of it.
    const late = new Worker('resume', place, state)
    await late.said('ready')
    late.go()
    expect(await late.ended()).toMatchObject({ status: 'done', content: 'done', resumedBefore: true })
    expect(ran(place)).toEqual(['refund', 'send_mail'])
    expect(readdirSync(place).filter((name) => name.includes('.holder-'))).toEqual([])
  }
  tell({ done: 'one saved run resumed by three processes at once', times, lost: 0, doubled })
})

it('while it lives, and no longer: when it is killed another one goes on', async () => {
  const { place, state } = await parked()
  const first = new Worker('resume', place, state, '600000')
  await first.said('ready')
  first.go()
  await first.said('sent')
  const second = new Worker('resume', place, state)
  await second.said('ready')
  second.go()
  expect(await second.ended()).toEqual({ code: 'STATE_CLAIMED' })
  await first.kill()
  const third = new Worker('resume', place, state)
  await third.said('ready')
  third.go()
  expect(await third.ended()).toMatchObject({ status: 'done', content: 'done' })
  // What was approved ran once; of the other nobody wrote down that it had been begun.
  expect(ran(place).filter((name) => name === 'refund')).toHaveLength(1)
  expect(readdirSync(place).filter((name) => name.includes('.holder-'))).toEqual([])
})
