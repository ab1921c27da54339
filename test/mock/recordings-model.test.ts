import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { HookDispatcher, type HookspanError } from 'hookspan'
import { recordTools, replayTools } from 'hookspan/mock'
import { afterAll, expect, it } from 'vitest'
import { BODIES, make, plansOf, recordedRuns, type Told } from './model/recorded-calls.ts'

/** More of them look further: `MODEL_RUNS=5000`; `MODEL_SEED=17` has the same ones again. */
const RUNS = Number(process.env.MODEL_RUNS ?? 100)
const seed = process.env.MODEL_SEED === undefined ? {} : { seed: Number(process.env.MODEL_SEED) }

const folder = mkdtempSync(join(tmpdir(), 'hookspan-recordings-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const file = join(folder, 'run.json')

/** As JSON has it. */
const asJson = (value: unknown): unknown => {
  const text = JSON.stringify(value, (_key, item) => (typeof item === 'bigint' ? String(item) : item))
  return text === undefined ? undefined : JSON.parse(text)
}

it(
  'answers each call of a replay as the real tool did, in whatever order tools end, and runs none',
  async () => {
    const seen = new Set<string>()
    await fc.assert(
      fc.asyncProperty(recordedRuns, fc.boolean(), async (runs, fromFile) => {
        for (const plan of plansOf(runs)) seen.add(plan.body)
        let live = 0
        const count = () => live++
        const first = new HookDispatcher()
        const recorder = recordTools(first, { file })
        const recorded = await make(first, runs, count, ({ turns }) => turns)
        const recording = recorder.recording()
        recorder[Symbol.dispose]()
        live = 0
        const second = new HookDispatcher()
        const replay = replayTools(second, fromFile ? { file } : { recording })
        const replayed = await make(second, runs, count, () => 0)
        expect(live).toBe(0)
        expect(replay.report().divergences.map(({ message }) => message)).toEqual([])
        expect(replay.report()).toMatchObject({
          recorded: plansOf(runs).length,
          served: plansOf(runs).length,
        })
        replay[Symbol.dispose]()
        for (const run of runs.keys()) {
          for (const [at, plan] of plansOf([runs[run] ?? []]).entries()) {
            expectSame(replayed[run]?.[at] as Told, recorded[run]?.[at] as Told, plan.body)
          }
        }
      }),
      { numRuns: RUNS, ...seed },
    )
    expect([...seen].sort()).toEqual([...BODIES].sort())
  },
  Math.max(60_000, RUNS * 50),
)

function expectSame(replayed: Told, recorded: Told, body: string): void {
  expect(replayed.state, body).toBe(recorded.state === 'completed' ? 'mocked' : recorded.state)
  expect(replayed.content, body).toBe(recorded.content)
  expect(replayed.result, body).toEqual(asJson(recorded.result))
  const { name, message, code } = (recorded.error ?? {}) as Error & { code?: unknown }
  const error = (replayed.error ?? {}) as Error & { code?: unknown }
  if (recorded.error instanceof Error && message !== '')
    expect([error.name, error.message], body).toEqual([name, message])
  if (typeof code === 'string') expect(error.code, body).toBe(code)
}

type Loose = Record<string, unknown>
const pick = <T>(list: readonly T[], at: number) => list[at % list.length] as T

/** What may have been done to a file; each is wrong, and none of it could have been recorded. */
const DAMAGES: Readonly<Record<string, (text: string, at: number) => string>> = {
  'is cut': (text, at) => text.trimEnd().slice(0, at % text.trimEnd().length),
  'has the marks of a merge': (text, at) => {
    const lines = text.split('\n')
    return lines.toSpliced(at % lines.length, 0, '<<<<<<< HEAD', '=======', '>>>>>>> other').join('\n')
  },
  'is there twice': (text) => text + text,
  'has a key of no meaning': (text, at) => edited(text, at, (part) => void Object.assign(part, { extra: 1 })),
  'has a key misspelt': (text, at) =>
    edited(text, at, (part) => {
      const key = pick(Object.keys(part), at)
      part[`${key}s`] = part[key]
      delete part[key]
    }),
  'has a value of another type': (text, at) =>
    edited(text, at, (part) => {
      const key = pick(
        Object.keys(part).filter((one) => one !== 'args' && one !== 'result'),
        at,
      )
      part[key] = typeof part[key] === 'number' ? '1' : -1
    }),
  'lacks what each has': (text, at) =>
    edited(text, at, (part) => {
      const needed = [
        'format',
        'version',
        'redacted',
        'tools',
        'calls',
        'agent',
        'step',
        'tool',
        'name',
        'message',
      ]
      delete part[
        pick(
          Object.keys(part).filter((key) => needed.includes(key)),
          at,
        )
      ]
    }),
  'has a result and an error': (text) =>
    changed(
      text,
      ({ calls }) =>
        void Object.assign(calls[0] as Loose, { result: 1, error: { name: 'Error', message: '' } }),
    ),
  'has a call that is none': (text, at) =>
    changed(
      text,
      ({ calls }) => void calls.splice(at % calls.length, 1, pick([null, 'find', []], at) as never),
    ),
}

function changed(text: string, change: (recording: { calls: Loose[] }) => void): string {
  const recording = JSON.parse(text)
  change(recording)
  return JSON.stringify(recording)
}

/** One of the objects that a recording is made of; what a tool was given and gave are anything. */
function edited(text: string, at: number, change: (part: Loose) => void): string {
  return changed(text, (recording) => {
    const parts = [recording as unknown as Loose, ...recording.calls]
    for (const { error } of recording.calls) if (error !== undefined) parts.push(error as Loose)
    change(pick(parts, at))
  })
}

it(
  'refuses a file that was damaged, and answers nothing from it',
  async () => {
    await fc.assert(
      fc.asyncProperty(
        recordedRuns,
        fc.constantFrom(...Object.keys(DAMAGES)),
        fc.nat(10_000),
        async (runs, damage, at) => {
          const first = new HookDispatcher()
          {
            using _recorder = recordTools(first, { file })
            await make(
              first,
              runs,
              () => 0,
              () => 0,
            )
          }
          const damaged = (DAMAGES[damage] as (text: string, at: number) => string)(
            readFileSync(file, 'utf8'),
            at,
          )
          const other = join(folder, 'damaged.json')
          writeFileSync(other, damaged)
          const refused = caught(() => replayTools(new HookDispatcher(), { file: other }).detach())
          expect(refused?.code, `${damage}: ${damaged}`).toBe('INVALID_RECORDING')
          expect(refused?.message).toContain(other)
        },
      ),
      { numRuns: RUNS, ...seed },
    )
  },
  Math.max(60_000, RUNS * 50),
)

function caught(act: () => void): HookspanError | undefined {
  try {
    act()
  } catch (error) {
    return error as HookspanError
  }
  return undefined
}
