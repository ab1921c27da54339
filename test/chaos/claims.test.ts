/** One saved run of each adapter, and three processes that go on from it: it goes on once, and the others are told. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { sqliteStore } from 'hookspan/approval'
import { expect, it, onTestFinished } from 'vitest'
import { folder } from '../approval/support.ts'
import { startCollector } from '../support/collector.ts'
import type { Order } from './processes/racing.ts'
import { COMPILED } from './support/compiled.ts'
import { tell } from './support/tell.ts'

const SCRIPT = fileURLToPath(new URL('./processes/racing.ts', import.meta.url))
const RACES = 20

interface Said {
  readonly race: number
  readonly status?: string
  readonly state?: unknown
  readonly code?: unknown
}

class Racer {
  readonly #child: ChildProcess
  readonly #said: (Said | 'ready')[] = []

  constructor(...args: string[]) {
    this.#child = spawn(process.execPath, ['--no-warnings', SCRIPT, ...args], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      env: { ...process.env, ...COMPILED },
    })
    this.#child.on('message', (message) => this.#said.push(message as Said | 'ready'))
    onTestFinished(() => void this.#child.kill('SIGKILL'))
  }

  ready(): Promise<void> {
    return expect.poll(() => this.#said).toContain('ready')
  }

  async does(order: Order): Promise<Said> {
    this.#child.send(order)
    const answer = () => this.#said.find((said) => said !== 'ready' && said.race === order.race)
    await expect.poll(answer).toBeDefined()
    return answer() as Said
  }

  async end(): Promise<void> {
    this.#child.send('end')
    await once(this.#child, 'close')
  }
}

it.each([
  ['startOperation', 'observeOpenAI'],
  ['resumeAgent', 'execAgent'],
  ['ai-sdk', 'ai-sdk'],
  ['openai-agents', 'openai-agents'],
  ['langchain', 'langchain'],
])('%s goes on from a state once, however many processes do', async (entry, subject) => {
  const place = folder()
  const collector = await startCollector()
  onTestFinished(() => collector.stop())
  const first = new Racer(subject, place, collector.url)
  await first.ready()
  const states: unknown[] = []
  for (let race = 0; race < RACES; race++) {
    const said = await first.does({ race })
    expect(said).toMatchObject({ status: 'waiting' })
    states.push(said.state)
  }
  await first.end()
  const store = sqliteStore({ path: `${place}/approvals.db` })
  for (const { request } of await store.list({ status: 'pending' })) {
    await store.answer(request.id, { decision: 'approve' }, Date.now())
  }
  await store.dispose?.()

  const racers = Array.from({ length: 3 }, () => new Racer(subject, place, collector.url))
  await Promise.all(racers.map((racer) => racer.ready()))
  const told: Said[] = []
  for (const [race, state] of states.entries()) {
    told.push(...(await Promise.all(racers.map((racer) => racer.does({ race, state })))))
  }
  await Promise.all(racers.map((racer) => racer.end()))

  const ran = readFileSync(`${place}/ran.log`, 'utf8').trimEnd().split('\n')
  const doubled = ran.length - new Set(ran).size
  tell({
    done: `${entry}: one saved run resumed by three processes at once`,
    times: RACES,
    lost: 2 * RACES - new Set(ran).size,
    doubled,
  })
  expect(ran.sort()).toEqual(
    Array.from({ length: RACES }, (_, race) => [`${race} refund`, `${race} send_mail`])
      .flat()
      .sort(),
  )
  const losers = told.filter(({ code }) => code === 'STATE_CLAIMED')
  // Whoever asks `resumeAgent` when all is over is given what came of it.
  if (entry !== 'resumeAgent') expect(losers).toHaveLength(2 * RACES)
  expect(told.filter(({ status }) => status === 'done')).toHaveLength(3 * RACES - losers.length)

  const runs = Map.groupBy(collector.spans, ({ traceId }) => traceId)
  expect(runs.size).toBe(RACES)
  const shapes = [...runs.values()].map((spans) =>
    spans
      .map(({ name, parentSpanId }) => `${parentSpanId ? '' : 'root '}${name.replace(/ race \d+/, '')}`)
      .sort(),
  )
  expect(shapes[0]?.filter((name) => /^root|send_mail/.test(name))).toEqual([
    'execute_tool send_mail',
    'root invoke_agent',
  ])
  // What a loser had exported would be there besides.
  expect(new Set(shapes.map((shape) => shape.join())).size).toBe(1)
  const ids = collector.spans.map(({ spanId }) => spanId)
  expect(new Set(ids).size).toBe(ids.length)
})
