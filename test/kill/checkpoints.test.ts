/** A run with checkpoints, whose process is killed after each call that changes the disk: it goes on, and ends. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { sqliteCheckpoints, unfinishedRuns } from 'hookspan/agent'
import { afterAll, describe, expect, it } from 'vitest'
import { expectTogether, type SpanLine } from './trace.ts'
import { effectsIn, runWatched } from './watched.ts'

const WORKER = fileURLToPath(new URL('./processes/kept-run.ts', import.meta.url))

const shared = mkdtempSync(`${tmpdir()}/hookspan-kill-kept-`)
afterAll(() => rmSync(shared, { recursive: true, force: true }))
const newFolder = () => mkdtempSync(`${shared}/run-`)
const run = (folder: string, env: NodeJS.ProcessEnv = {}) =>
  runWatched(WORKER, [folder], { shared, folder, env })

interface Told {
  readonly hookType: string
  readonly sequence: number
}

function toldIn(stdout: string): { spans: SpanLine[]; events: Told[] } {
  const lines = stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as SpanLine | Told)
  const spans = lines.filter((line): line is SpanLine => 'at' in line)
  return { spans, events: lines.filter((line): line is Told => 'hookType' in line) }
}

const ranIn = (folder: string) =>
  existsSync(`${folder}/ran.log`) ? readFileSync(`${folder}/ran.log`, 'utf8').trim().split('\n') : []

/** Found by running it once, so that none can be forgotten. */
const whole = newFolder()
await run(whole, { EFFECTS: `${shared}/effects.json` })
const EFFECTS = effectsIn(`${shared}/effects.json`)
const POINTS = EFFECTS.map(
  ({ call, name }, nth) => [`${nth + 1} of ${EFFECTS.length}, ${name}`, call] as const,
)

it('has a point for each thing that is written', () => {
  // Five tools and the result; the beginning of the run, what comes of it, and its end.
  const times = (writer: string) => EFFECTS.filter(({ name }) => name === writer).length
  expect(times('fs.writeFileSync')).toBe(6)
  expect(times('database.exec')).toBeGreaterThan(10)
  expect(ranIn(whole)).toHaveLength(5)
  // At least: each tool, before and after it; the beginning, the end, and what makes the file.
  expect(POINTS.length).toBeGreaterThan(20)
})

describe.concurrent('a run with checkpoints whose process is killed', () => {
  it.for(POINTS)(
    'after %s: it goes on and ends, no tool runs twice that may not, its trace and its sequence are one',
    async ([title, call], { expect }) => {
      const folder = newFolder()
      const { killed, stdout: first } = await run(folder, { KILL_AFTER: String(call) })
      if (killed === undefined) throw new Error(`The process went past ${title} and was not killed.`)
      const { stdout: second } = await run(folder)

      const ran = ranIn(folder)
      const twice = ran.filter((line, i) => ran.indexOf(line) !== i)
      expect(twice.filter((line) => !line.startsWith('look'))).toEqual([])
      expect(twice.length).toBeLessThan(2)
      expect(ran.filter((line) => line.startsWith('pay')).length).toBeLessThan(4)
      const done = JSON.parse(readFileSync(`${folder}/done.json`, 'utf8')) as {
        reason: string
        content: string
      }
      expect(done.reason).toBe('done')
      // One tool was at work, at most, and the model was told if nobody knows what it did.
      const told = done.content.split(' | ')
      expect(told).toHaveLength(5)
      expect(
        ran.length - twice.length + told.filter((text) => text.includes('execution_unknown')).length,
      ).toBeGreaterThanOrEqual(5)

      const store = sqliteCheckpoints({ path: `${folder}/checkpoints.db` })
      expect(await unfinishedRuns(store)).toEqual([])
      await store.dispose?.()

      const [before, after] = [toldIn(first), toldIn(second)]
      const sequence = [...new Set([...before.events, ...after.events].map((event) => event.sequence))]
      expect(sequence.sort((a, b) => a - b)).toEqual(sequence.map((_, index) => index))
      expectTogether(expect, [...before.spans, ...after.spans], killed)
    },
  )
})

it('of three processes that go on with it at once, one does', async () => {
  const folder = newFolder()
  const middle = POINTS[Math.floor(POINTS.length / 2)]?.[1]
  expect((await run(folder, { KILL_AFTER: String(middle) })).killed).toBeDefined()
  const before = ranIn(folder).length
  const others = await Promise.all([1, 2, 3].map(() => run(folder)))
  const refused = others.filter(({ stdout }) => stdout.includes('"refused"'))
  const went = others.filter(({ stdout }) => stdout.includes('"hookType"'))
  expect(went).toHaveLength(1)
  expect(refused.length).toBeLessThan(3)
  const ran = ranIn(folder)
  expect(ran.length).toBeGreaterThan(before)
  expect(ran.filter((line, i) => ran.indexOf(line) !== i && !line.startsWith('look'))).toEqual([])
})
