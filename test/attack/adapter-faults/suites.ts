import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { EXTENDED_HOOK_TYPES, HOOK_TYPES, HookDispatcher } from 'hookspan'
import { deny } from 'hookspan/gates'
import { mock, mockTools } from 'hookspan/mock'
import { traceHooks } from 'hookspan/tracing'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { Program } from './programs.ts'
import { FAULT, type FaultKind, faultySeam } from './seam.ts'
import { type How, type Told, toldBy, type World } from './told.ts'

type Run = (world: World, dispatcher: HookDispatcher | undefined) => Promise<unknown>

const bare = (run: Run, how?: How) => toldBy((world) => run(world, undefined), how)

const quiet = () => new HookDispatcher({ onHookError: () => {} })

/** The order of an object's keys says nothing. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([key, one]) => [key, sorted(one)]),
  )
}

/** Where two runs first differ, in few words. */
function differenceOf(without: Told, told: Told): string | undefined {
  const [expected, got] = [without, told].map((one) => JSON.stringify(sorted(one))) as [string, string]
  if (expected === got) return undefined
  let at = 0
  while (expected[at] === got[at]) at++
  const from = Math.max(0, at - 60)
  return `without us ${expected.slice(from, at + 120)}\nwith us    ${got.slice(from, at + 120)}`
}

const inAnyOrder = (told: Told): Told => ({ ...told, tools: told.tools.toSorted() })

/** Runs once for each call that the adapter makes of the core, in which that call fails. Gives where that is wrong. */
async function eachFault(
  run: Run,
  { everyNth = 1 }: Program,
  attach: () => HookDispatcher,
  check: (told: Told) => string | undefined,
): Promise<{ readonly faults: number; readonly wrong: readonly string[] }> {
  const wrong: string[] = []
  let faults = 0
  for (const kind of ['instead', 'after'] satisfies FaultKind[]) {
    for (let at = 1; ; at += everyNth) {
      const dispatcher = attach()
      using seam = faultySeam(at, kind)
      const {
        moments: _moments,
        outlasted: _outlasted,
        ...told
      } = await toldBy((world) => run(world, dispatcher))
      if (seam.calls.length < at) break
      faults++
      const said = check(told)
      if (said !== undefined) wrong.push(`${kind} of call ${at}, ${seam.calls[at - 1]}:\n${said}`)
    }
  }
  return { faults, wrong }
}

/** The dangerous call that was let through. */
const refunded = ({ tools }: Told) => tools.find((tool) => tool.startsWith('refund'))

/** How a run ended: of a stream by its last event. */
function endOf({ result, thrown }: Told): Told {
  return { ...(thrown ? { thrown } : { result: Array.isArray(result) ? result.at(-1) : result }), tools: [] }
}

/** What holds of each program, whatever of ours fails in it. */
export function faultSuites(programs: readonly Program[]): void {
  const WAYS = programs.flatMap((program) => {
    const { name, run, stream } = program
    const ways: [string, Run, Program][] = [[name, run.bind(program), program]]
    if (stream) ways.push([`${name}, streamed`, stream.bind(program), program])
    return ways
  })

  beforeAll(() => {
    vi.spyOn(console, 'warn').mockImplementation(() => {})
  })
  afterAll(() => {
    vi.restoreAllMocks()
  })

  /** Those whose tools hookspan sees. */
  const WITH_TOOLS = WAYS.filter(([, , { name }]) => name !== 'openai')
  /** Those whose model it sees. */
  const WITH_MODEL = WAYS.filter(([, , { name }]) => !name.startsWith('mcp'))

  describe('a failure of ours', () => {
    it.each(WAYS)(
      '%s: leaves all as it is without us, whichever call of ours fails',
      async (_name, run, program) => {
        const { moments: _moments, outlasted: _outlasted, ...without } = await bare(run)

        const { faults, wrong } = await eachFault(run, program, quiet, (told) =>
          // Of calls that begin at once, one that goes another way may begin later.
          differenceOf(inAnyOrder(without), inAnyOrder(told)),
        )

        expect(wrong).toEqual([])
        expect(faults).toBeGreaterThan(5)
      },
    )

    it.each(WITH_TOOLS)('%s: lets no call through that a gate denies', async (_name, run, program) => {
      const gated = () => {
        const dispatcher = quiet()
        const decide = () => deny('not today')
        dispatcher.use({
          name: 'policy',
          gates: [{ id: 'refunds', point: 'beforeToolCall', match: 'refund', decide }],
        })
        return dispatcher
      }
      const { wrong } = await eachFault(run, program, gated, refunded)

      expect(wrong).toEqual([])
    })

    it.each(WITH_TOOLS)('%s: lets no call through to a tool that is mocked', async (_name, run, program) => {
      const mocked = () => {
        const dispatcher = quiet()
        mockTools(dispatcher, [mock('refund').returns('refunded')], { onUnmocked: 'passthrough' })
        return dispatcher
      }
      const { wrong } = await eachFault(run, program, mocked, refunded)

      expect(wrong).toEqual([])
    })

    it.each(WITH_MODEL)('%s: asks no model that a gate denies', async (_name, run, program) => {
      const gated = () => {
        const dispatcher = quiet()
        const decide = () => deny('not today')
        dispatcher.use({ name: 'policy', gates: [{ id: 'models', point: 'beforeLlmCall', decide }] })
        return dispatcher
      }
      const { wrong } = await eachFault(run, program, gated, ({ tools }) => tools[0])

      expect(wrong).toEqual([])
    })
  })

  describe('an observer', () => {
    const FAILURES = {
      throws: () => {
        throw new Error(FAULT)
      },
      rejects: () => Promise.reject(new Error(FAULT)),
      hangs: () => new Promise<void>(() => {}),
    }

    it.each(WAYS)(
      '%s: changes nothing when each of its hooks throws, rejects or hangs',
      async (_name, run) => {
        const { moments: _moments, outlasted: _outlasted, ...without } = await bare(run)

        for (const [how, handler] of Object.entries(FAILURES)) {
          const dispatcher = quiet()
          const hooks = [...HOOK_TYPES, ...EXTENDED_HOOK_TYPES].map((type) => ({
            id: type,
            type,
            handler,
            ...(type === 'beforeToolCall' && { mocks: false }),
          }))
          dispatcher.use({ name: 'observer', hooks })
          const { moments: _its, outlasted: _nor, ...told } = await toldBy((world) => run(world, dispatcher))
          expect([how, differenceOf(without, told)]).toEqual([how, undefined])
        }
      },
    )
  })

  describe('tracing', () => {
    const throwing = (): never => {
      throw new Error(FAULT)
    }
    /** All of whose methods throw. */
    const broken = () => new Proxy({}, { get: () => throwing }) as never
    const sending = (exporter: object) => {
      const provider = new TracerProvider({
        spanProcessors: [new SimpleSpanProcessor({ exporter: exporter as never })],
      })
      return provider.getTracer('test')
    }
    const TRACERS = {
      'starts no span': () => ({ tracer: { startSpan: throwing, startActiveSpan: throwing } as never }),
      'has spans that throw': () => ({
        tracer: { startSpan: broken, startActiveSpan: throwing } as never,
      }),
      'exports to what throws': () => ({
        tracer: sending({ export: throwing, shutdown: throwing, forceFlush: throwing }),
      }),
      'exports to what never answers': () => ({
        tracer: sending({ export: () => {}, shutdown: async () => {} }),
      }),
      'captures what cannot be redacted': () => ({
        tracer: sending(new InMemorySpanExporter()),
        captureContent: true,
        redact: throwing,
      }),
    }

    it.each(WAYS)('%s: changes nothing where it fails', async (_name, run) => {
      const { moments: _moments, outlasted: _outlasted, ...without } = await bare(run)

      for (const [how, options] of Object.entries(TRACERS)) {
        const dispatcher = quiet()
        dispatcher.use(traceHooks({ meter: false, ...options() }))
        const { moments: _its, outlasted: _nor, ...told } = await toldBy((world) => run(world, dispatcher))
        expect([how, differenceOf(without, told)]).toEqual([how, undefined])
      }
    })
  })

  describe('an abort by the user', () => {
    it.each(WAYS)('%s: ends the run as it does without us, at each moment', async (_name, run) => {
      const { moments, ...whole } = await bare(run)
      const wrong: string[] = []

      for (let abortAt = 1; abortAt <= moments; abortAt++) {
        const without = await bare(run, { abortAt })
        const told = await toldBy((world) => run(world, quiet()), { abortAt })
        const difference = differenceOf(endOf(without), endOf(told))
        // It may have been over with the last of its moments.
        const isOver = differenceOf(endOf(whole), endOf(told)) === undefined && abortAt === moments
        if (difference !== undefined && !isOver) wrong.push(`moment ${abortAt}:\n${difference}`)
        const more = told.tools.filter((tool) => !without.tools.includes(tool))
        if (more.length > 0) wrong.push(`moment ${abortAt}:\nran after the abort\n${more}`)
      }

      expect(wrong).toEqual([])
    })
  })

  describe('a tool that never returns', () => {
    it.each(WITH_TOOLS)(
      '%s: holds the run up no longer than without us, once it is aborted',
      async (_name, run, { elsewhere }) => {
        const without = await bare(run, { hangs: true, elsewhere })
        const told = await toldBy((world) => run(world, quiet()), { hangs: true, elsewhere })

        expect(differenceOf(endOf(without), endOf(told))).toBeUndefined()
        expect(told.outlasted && !without.outlasted).toBe(false)
      },
    )
  })
}
