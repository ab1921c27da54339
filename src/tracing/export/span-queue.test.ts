import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Span } from '@opentelemetry/api'
import { type ReadableSpan, TracerProvider } from '@opentelemetry/sdk-trace'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type Fault, type FaultyDisk, faultyDisk } from '../../../test/support/faulty-disk.ts'
import { type Answer, type Parcel, type SpanSender, spanOf } from './parcel.ts'
import { SpanQueue } from './span-queue.ts'
import { Leftovers } from './spool/leftovers.ts'
import { SetAside } from './spool/set-aside.ts'
import { Spool } from './spool/spool.ts'

/** One thing after the other happens to a queue with a spool. Numbers choose among the spans that are open. */
type Step =
  | { readonly do: 'start'; readonly isPoison: boolean; readonly chars: number }
  | { readonly do: 'end' | 'handOver'; readonly which: number }
  | { readonly do: 'breakDisk'; readonly fault: Fault; readonly everyNth: number }
  | { readonly do: 'collector'; readonly is: 'up' | 'away' | 'slow' }
  | { readonly do: 'pass'; readonly ms: number }
  | { readonly do: 'flush' }

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('start' as const),
      isPoison: fc.integer({ min: 0, max: 15 }).map((n) => n === 0),
      chars: fc.constantFrom(0, 0, 0, 300, 4_000),
    }),
  },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('end' as const), which: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('handOver' as const), which: fc.nat() }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('breakDisk' as const),
      fault: fc.constantFrom('ENOSPC', 'EIO', 'half', undefined, undefined),
      everyNth: fc.integer({ min: 1, max: 4 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('collector' as const),
      is: fc.constantFrom('up', 'away', 'slow'),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('pass' as const), ms: fc.constantFrom(10, 1_000, 40_000) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('flush' as const) }) },
)

const setting = fc.record({
  maxBytes: fc.constantFrom(300_000, 2_000_000, 1_000_000_000),
  maxQueueSpans: fc.constantFrom(2, 10, 100),
  maxBatchSpans: fc.constantFrom(1, 3, 20),
  maxBatchChars: fc.constantFrom(1_000, 1_000_000),
  keepsSpans: fc.boolean(),
})

type Setting = typeof setting extends fc.Arbitrary<infer T> ? T : never

const tracer = new TracerProvider().getTracer('test')

interface Told {
  readonly name: string
  readonly isInterrupted: boolean
}

function told(parcel: Parcel): Told {
  const { name, attributes } = spanOf(parcel)
  return { name, isInterrupted: 'hookspan.span.state' in attributes }
}

/** A queue, a disk, a collector, and what is true of them. */
class World implements AsyncDisposable {
  readonly #folder = mkdtempSync(join(tmpdir(), 'hookspan-model-'))
  readonly #disk: FaultyDisk = faultyDisk(this.#folder)
  readonly #queue: SpanQueue
  readonly open: (Span & ReadableSpan)[] = []
  readonly ended = new Set<string>()
  readonly received: string[] = []
  #collector: 'up' | 'away' | 'slow' = 'up'
  #held: (() => void)[] = []
  #started = 0
  wasBroken = false

  constructor({ maxBytes, keepsSpans, ...settings }: Setting) {
    const folder = this.#folder
    const onTrouble = () => {}
    const setAside = new SetAside(folder)
    const leftovers = new Leftovers({ folder, setAside, onTrouble })
    const spool: Spool = new Spool({
      ...{ folder, maxBytes, setAside, onTrouble },
      otherBytes: () => leftovers.bytesBeside(spool.path),
      dropLeftover: () => leftovers.dropOldest(spool.path),
    })
    this.#queue = new SpanQueue({
      sender: this.#sender,
      settings: { ...settings, delayMs: 100, giveUpAfterMs: 30_000, onTrouble },
      disk: { spool, leftovers, setAside },
      keepsSpans,
    })
  }

  readonly #sender: SpanSender = {
    send: async (parcels) => {
      if (this.#collector === 'slow') await new Promise<void>((resolve) => this.#held.push(resolve))
      return this.#answer(parcels.map(told))
    },
    shutdown: async () => {},
  }

  #answer(spans: readonly Told[]): Answer {
    if (this.#collector === 'away') return { state: 'failed', message: 'away' }
    if (spans.some(({ name }) => name.includes('poison'))) {
      return { state: 'refused', status: 400, message: 'poison' }
    }
    expect(spans.filter(({ isInterrupted }) => isInterrupted)).toEqual([])
    this.received.push(...spans.map(({ name }) => name))
    return { state: 'accepted', rejected: 0 }
  }

  get stats() {
    return this.#queue.stats()
  }

  async run(step: Step): Promise<void> {
    if (step.do === 'start') {
      const name = `${this.#started++} ${step.isPoison ? 'poison' : ''}${'x'.repeat(step.chars)}`
      const span = tracer.startSpan(name) as Span & ReadableSpan
      this.open.push(span)
      this.#queue.onStart(span)
    } else if (step.do === 'end' || step.do === 'handOver') {
      const [span] = this.open.splice(step.which % Math.max(1, this.open.length), 1)
      if (span === undefined) return
      if (step.do === 'handOver') return this.#queue.handOver(span, false)
      span.end()
      this.ended.add(span.name)
      this.#queue.onEnd(span)
    } else if (step.do === 'breakDisk') {
      this.wasBroken ||= step.fault !== undefined
      let calls = 0
      this.#disk.fault = () => (++calls % step.everyNth === 0 ? step.fault : undefined)
    } else if (step.do === 'collector') {
      this.#collector = step.is
      if (step.is !== 'slow') await this.#release()
    } else if (step.do === 'pass') {
      await vi.advanceTimersByTimeAsync(step.ms)
    } else if (this.#collector !== 'slow') {
      await this.#queue.forceFlush()
    }
  }

  async #release(): Promise<void> {
    for (const resolve of this.#held.splice(0)) resolve()
    // Its answers are heard.
    await vi.advanceTimersByTimeAsync(0)
  }

  /** Everything works again, until nothing waits. */
  async recover(): Promise<void> {
    await this.run({ do: 'breakDisk', fault: undefined, everyNth: 1 })
    await this.run({ do: 'collector', is: 'up' })
    for (let i = 0; i < 500 && this.stats.queued > 0; i++) await vi.advanceTimersByTimeAsync(5_000)
  }

  /** What another process would find if this one died now. */
  leftover(): Told[] {
    const copy = mkdtempSync(join(tmpdir(), 'hookspan-copy-'))
    cpSync(this.#folder, copy, { recursive: true })
    const leftovers = new Leftovers({ folder: copy, setAside: new SetAside(copy), onTrouble: () => {} })
    leftovers.look(undefined)
    const parcels = leftovers.next({ spans: 100_000, chars: Number.POSITIVE_INFINITY })
    leftovers.close()
    rmSync(copy, { recursive: true })
    return parcels.map(told)
  }

  async shutdown(): Promise<string[]> {
    await this.#queue.shutdown()
    return readdirSync(this.#folder)
  }

  async [Symbol.asyncDispose]() {
    await this.recover()
    await this.#queue.shutdown()
    this.#disk[Symbol.dispose]()
    rmSync(this.#folder, { recursive: true })
  }
}

/** Many more by HOOKSPAN_MODEL_RUNS, after a change to the spool or the queue. */
const RUNS = { numRuns: Number(process.env.HOOKSPAN_MODEL_RUNS ?? 15) }
const steps = fc.array(step, { minLength: 20, maxLength: 200, size: 'max' })

// Hundreds of files are made and removed, which takes its time on a disk that is busy.
describe('a queue with a spool', { timeout: 180_000 }, () => {
  beforeEach(() => {
    vi.useFakeTimers({
      toFake: ['performance', 'setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'],
    })
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  it('delivers once, or counts as dropped, whatever the disk and the collector do', async () => {
    await fc.assert(
      fc.asyncProperty(setting, steps, async (setting, steps) => {
        await using world = new World(setting)
        for (const step of steps) await world.run(step)
        await world.recover()
        const { received, ended, stats } = world
        expect(stats.queued).toBe(0)
        expect(new Set(received).size).toBe(received.length)
        expect(received.filter((name) => !ended.has(name))).toEqual([])
        expect(received.length + stats.dropped).toBe(ended.size)
        expect(stats.exported).toBe(received.length)
        expect((await world.shutdown()).filter((name) => name !== 'set-aside.ndjson')).toEqual([])
      }),
      RUNS,
    )
  })

  it('leaves to the next process what was not delivered, and what was open, wherever it dies', async () => {
    await fc.assert(
      fc.asyncProperty(setting, steps, async (setting, steps) => {
        await using world = new World(setting)
        for (const step of steps) if (step.do !== 'breakDisk') await world.run(step)
        const { received, ended, open, stats } = world
        const left = world.leftover()
        const [interrupted, whole] = [true, false].map((is) =>
          left.filter(({ isInterrupted }) => isInterrupted === is).map(({ name }) => name),
        ) as [string[], string[]]
        expect(new Set(interrupted)).toEqual(new Set(open.map(({ name }) => name)))
        expect(interrupted.length).toBe(open.length)
        const done = new Set(received)
        expect(whole.filter((name) => !ended.has(name) || done.has(name))).toEqual([])
        expect(new Set(whole).size).toBe(whole.length)
        if (setting.maxBytes > 2_000_000) expect(whole.length + done.size + stats.dropped).toBe(ended.size)
      }),
      RUNS,
    )
  })
})
