import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { trace } from '@opentelemetry/api'
import { HookDispatcher } from 'hookspan'
import { type StartTracingOptions, spanTitle, startTracing, type Tracing, traceHooks } from 'hookspan/tracing'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { startCollector } from '../support/collector.ts'

setFlagsFromString('--expose-gc')
const gc: () => void = runInNewContext('gc')

type Collector = Awaited<ReturnType<typeof startCollector>>

const CONTAINER = ['unshare', '--pid', '--fork', '--kill-child']
const mayUnsharePids = spawnSync('unshare', [...CONTAINER.slice(1), 'true']).status === 0

const FAST = { delayMs: 20, requestTimeoutMs: 300 }
/** Whoever waits for one of these waits longer than a test may take. */
const LONG = { delayMs: 600_000, requestTimeoutMs: 600_000 }

describe('startTracing', () => {
  let collector: Collector
  let tracing: Tracing | undefined
  let troubles: string[]
  beforeEach(async () => {
    collector = await startCollector()
    troubles = []
  })
  afterEach(async () => {
    await tracing?.shutdown({ timeoutMs: 1_000 })
    tracing = undefined
    await collector.stop()
  })

  function start(options: StartTracingOptions = {}) {
    const queue = { ...FAST, onTrouble: (message: string) => troubles.push(message), ...options.queue }
    tracing = startTracing({ serviceName: 'test', endpoint: collector.url, ...options, queue })
    const dispatcher = new HookDispatcher()
    dispatcher.use(tracing)
    return { tracing, dispatcher }
  }

  async function runAgent(dispatcher: HookDispatcher, name: string) {
    const op = dispatcher.startOperation({ agentName: name })
    const outcome = await op.step((step) => step.toolCall({ apiName: 't', args: {} }, () => 'fine'))
    await op.complete()
    return outcome
  }

  it('delivers a run over OTLP/HTTP', async () => {
    const { dispatcher, tracing } = start({ headers: { 'x-key': 'k' } })
    await runAgent(dispatcher, 'a')
    await tracing.forceFlush()
    expect(collector.names().sort()).toEqual(['execute_tool t', 'invoke_agent a', 'step 0'])
    expect(collector.requests[0]?.headers['x-key']).toBe('k')
    expect(tracing.stats()).toEqual({ queued: 0, exported: 3, dropped: 0 })
  })

  it('loses nothing while the collector is away, and says so once', async () => {
    const { dispatcher, tracing } = start()
    await collector.stop()
    for (let i = 0; i < 20; i++) await runAgent(dispatcher, `away-${i}`)
    await expect.poll(() => tracing.stats().lastError).toEqual(expect.any(String))
    expect(tracing.stats()).toMatchObject({ queued: 60, dropped: 0 })
    collector = await startCollector(collector.port)
    await collector.until(() => collector.spans.length === 60 && troubles.length > 1, 20_000)
    expect(troubles).toEqual([
      expect.stringMatching(/Spans cannot be delivered: .*kept in memory/),
      'Spans are delivered again.',
    ])
  })

  it.each([
    [503, /cannot be delivered/],
    [401, /refuses the credentials \(401\): check its headers/],
    [404, /no OTLP endpoint there \(404\): check the URL/],
  ])('keeps spans that are answered with %d', async (status, trouble) => {
    const { dispatcher, tracing } = start()
    collector.answerWith(status)
    await runAgent(dispatcher, 'a')
    await tracing.forceFlush()
    expect(tracing.stats()).toMatchObject({ queued: 3, dropped: 0 })
    expect(troubles[0]).toMatch(trouble)
    collector.answerWith(200)
    await tracing.forceFlush()
    expect(tracing.stats()).toMatchObject({ queued: 0, exported: 3, dropped: 0 })
  })

  it.each([400, 413])(
    'gives up the one span that is answered with %d, not its neighbours',
    async (status) => {
      const { dispatcher, tracing } = start()
      collector.answerWith((spans) => (spans.some((span) => span.name.includes('poison')) ? status : 200))
      await Promise.all(['a', 'b', 'poison', 'c'].map((name) => runAgent(dispatcher, name)))
      await tracing.forceFlush()
      expect(tracing.stats()).toMatchObject({ queued: 0, exported: 11, dropped: 1 })
      expect(
        collector
          .names()
          .filter((name) => name.startsWith('invoke_agent'))
          .sort(),
      ).toEqual(['invoke_agent a', 'invoke_agent b', 'invoke_agent c'])
      expect(troubles[0]).toMatch(/was dropped/)
    },
  )

  it('does not wait for a collector that never answers', async () => {
    const { dispatcher, tracing } = start({ queue: { requestTimeoutMs: 600_000 } })
    collector.answerWith('hang')
    expect(await runAgent(dispatcher, 'a')).toMatchObject({ state: 'completed', result: 'fine' })
    await expect.poll(() => collector.unanswered()).toBe(1)
    expect(await runAgent(dispatcher, 'b')).toMatchObject({ state: 'completed', result: 'fine' })
    await tracing.shutdown({ timeoutMs: 300 })
  })

  it('drops the oldest spans when the queue is full, and counts them', async () => {
    const { dispatcher, tracing } = start({ queue: { ...FAST, delayMs: 60_000, maxQueueSpans: 6 } })
    for (const name of ['a', 'b', 'c']) await runAgent(dispatcher, name)
    expect(tracing.stats()).toMatchObject({ queued: 6, dropped: 3 })
    await tracing.forceFlush()
    expect(collector.names()).not.toContain('invoke_agent a')
    expect(collector.names()).toContain('invoke_agent c')
  })

  it('keeps what waits when the queue runs over while a request is under way', async () => {
    const batches: string[][] = []
    let answer: (() => void) | undefined
    const exporter: StartTracingOptions['exporter'] = {
      export: (spans, done) => {
        batches.push(spans.map((span) => span.name))
        answer = () => done({ code: 0 })
      },
      shutdown: async () => {},
    }
    const { dispatcher, tracing } = start({ exporter, queue: { delayMs: 60_000, maxQueueSpans: 3 } })
    await runAgent(dispatcher, 'a')
    const flushed = tracing.forceFlush()
    await expect.poll(() => batches.length).toBe(1)
    await runAgent(dispatcher, 'b')
    await runAgent(dispatcher, 'c')
    answer?.()
    await expect.poll(() => batches.length).toBe(2)
    answer?.()
    await flushed
    expect(batches.map((names) => names.at(-1))).toEqual(['invoke_agent a', 'invoke_agent c'])
    expect(tracing.stats()).toEqual({ queued: 0, exported: 6, dropped: 3 })
  })

  it('says what was not delivered when it ends', async () => {
    const { dispatcher, tracing } = start({ endpoint: 'http://127.0.0.1:9' })
    await runAgent(dispatcher, 'a')
    await tracing.shutdown()
    expect(troubles.at(-1)).toMatch(/^3 spans were not delivered before the end and are lost\..*spoolDir/)
  })

  it.each([
    [null, /options of tracing to be an object, got `null`/],
    [{ queue: { maxQueueSpans: -1 } }, /`queue.maxQueueSpans` to be a number >= 1, got `-1`/],
    [{ queue: { delayMs: Number.NaN } }, /`queue.delayMs` to be a number >= 0, got `NaN`/],
  ])('refuses %j', (options, message) => {
    expect(() => startTracing(options as never)).toThrow(message)
  })

  it('leaves nothing running when it refuses an option', async () => {
    expect(() => startTracing({ maxContentBytes: 1 })).toThrow(/maxContentBytes/)
    const { dispatcher, tracing } = start()
    await runAgent(dispatcher, 'after')
    await tracing.forceFlush()
    expect(collector.names()).toContain('invoke_agent after')
  })

  it('can be started again after its end, and refuses a second SDK before', async () => {
    const { tracing: first } = start()
    expect(() => startTracing({ endpoint: collector.url })).toThrow(
      /already running.*earlier startTracing.*traceHooks\(\)/,
    )
    await first.shutdown()
    const { dispatcher, tracing: second } = start()
    await runAgent(dispatcher, 'again')
    await second.forceFlush()
    expect(collector.names()).toContain('invoke_agent again')
    expect(trace.getTracer('x').startSpan('y').isRecording()).toBe(true)
  })

  it('is the one that runs, where a module that starts it is evaluated once more', async () => {
    const asked = () => ({
      endpoint: collector.url,
      resourceAttributes: { 'app.version': '1' },
    })
    const first = startTracing(asked())
    const seconds = startTracing({
      ...asked(),
      captureContent: true,
      redact: () => 'hidden',
    })
    expect(seconds).not.toBe(first)
    const dispatcher = new HookDispatcher()
    dispatcher.use(seconds)
    const op = dispatcher.startOperation({ agentName: 'again' })
    await op.step((step) => step.toolCall({ apiName: 'find', args: { id: '4711' } }, () => 'found'))
    await op.complete({ reason: 'done' })
    await first.forceFlush()
    expect(first.stats()).toMatchObject({ exported: 3, dropped: 0 })
    const tool = collector.spans.find(({ name }) => name === 'execute_tool find')
    expect(tool?.attributes['gen_ai.tool.call.arguments']).toBe('"hidden"')
    expect(() => startTracing({ ...asked(), resourceAttributes: { 'app.version': '2' } })).toThrow(
      /already running/,
    )
    await first.shutdown()
    await startTracing(asked()).shutdown()
  })

  it('is once on a dispatcher that outlives the modules which hand it over', async () => {
    const asked = { endpoint: collector.url, serviceName: 'hot' }
    const kept = new HookDispatcher()
    const other = new HookDispatcher()
    tracing = startTracing(asked)
    kept.use(tracing)
    const op = kept.startOperation({ agentName: 'over a reload' })
    await op.step(async (step) => {
      other.use(startTracing(asked))
      kept.use(startTracing({ ...asked, captureContent: true }))
      await step.toolCall({ apiName: 't', args: {} }, () => 'fine')
    })
    await op.complete()
    kept.use(startTracing({ ...asked, captureContent: true }))
    await runAgent(kept, 'after it')
    await runAgent(other, 'another')
    await tracing.forceFlush()
    const runs = ['over a reload', 'after it', 'another'].map((name) => `invoke_agent ${name}`)
    const steps = ['step 0', 'step 0', 'step 0']
    const tools = ['execute_tool t', 'execute_tool t', 'execute_tool t']
    expect(collector.names().sort()).toEqual([...runs, ...steps, ...tools].sort())
    expect(new Set(collector.spans.map(({ traceId }) => traceId)).size).toBe(3)
    const contents = collector.spans.map(({ attributes }) => attributes['gen_ai.tool.call.arguments'])
    // What was begun goes on as it began.
    expect(contents.filter((arguments_) => arguments_ !== undefined)).toEqual(['{}'])
    expect(kept.plugins).toHaveLength(1)
    expect(() => kept.use(tracing as Tracing)).not.toThrow()
    expect(() => kept.use(tracing as Tracing)).toThrow(/already in use/)
  })

  it('holds no dispatcher whose runs are over', async () => {
    const { tracing } = start()
    const made: WeakRef<HookDispatcher>[] = []
    for (let i = 0; i < 5; i++) {
      const dispatcher = new HookDispatcher()
      dispatcher.use(tracing)
      await runAgent(dispatcher, 'one of a request')
      made.push(new WeakRef(dispatcher))
    }
    await tracing.forceFlush()
    const alive = () => {
      gc()
      return made.filter((ref) => ref.deref() !== undefined).length
    }
    // The last one may be in sight of the test.
    await expect.poll(alive).toBeLessThan(2)
  })

  it('is found by hooks that were made before it, though the SDK has another copy of the API', async () => {
    const early = traceHooks()
    const { tracing } = start()
    const dispatcher = new HookDispatcher()
    dispatcher.use(early)
    await runAgent(dispatcher, 'early')
    await tracing.forceFlush()
    expect(collector.names()).toContain('invoke_agent early')
  })

  it('counts what ends after its end, and says so once', async () => {
    const { dispatcher, tracing } = start()
    const op = dispatcher.startOperation({ agentName: 'open' })
    await tracing.shutdown()
    await op.step((step) => step.toolCall({ apiName: 't', args: {} }, () => 'fine'))
    await op.complete()
    await runAgent(dispatcher, 'later')
    expect(tracing.stats()).toEqual({ queued: 0, exported: 1, dropped: 6 })
    expect(troubles).toEqual([expect.stringMatching(/^A span ended after `shutdown\(\)`, and is lost/)])
  })

  it.each(['in memory', 'on disk'])(
    'tells what is open at its end as interrupted, with spans %s',
    async (where) => {
      const folder = mkdtempSync(join(tmpdir(), 'hookspan-end-'))
      const { dispatcher, tracing } = start(where === 'on disk' ? { spoolDir: folder } : {})
      const op = dispatcher.startOperation({ agentName: 'open' })
      await op.step((step) => step.toolCall({ apiName: 't', args: {} }, () => 'fine'))
      const parked = dispatcher.startOperation({ agentName: 'parked' })
      parked.park({ waitingFor: 'ines' })
      let done = (_: unknown): void => {}
      const working = op.step((step) =>
        step.toolCall({ apiName: 'slow', args: {} }, () => new Promise((resolve) => (done = resolve))),
      )
      await expect.poll(() => dispatcher.stats().operations).toBe(1)
      await tracing.shutdown()
      const told = collector.spans.map(({ name, attributes }) => [
        spanTitle(name, attributes),
        attributes['hookspan.span.state'],
      ])
      expect(told).toEqual([
        ['execute_tool t', undefined],
        ['step 0', undefined],
        ['execute_tool slow', 'interrupted'],
        ['step 1', 'interrupted'],
        ['invoke_agent open', 'interrupted'],
      ])
      const ids = new Set(collector.spans.map(({ spanId }) => spanId))
      const parents = collector.spans.flatMap(({ parentSpanId }) => parentSpanId || [])
      expect(parents.every((id) => ids.has(id))).toBe(true)
      done('late')
      expect(await working).toMatchObject({ state: 'completed' })
      await op.complete()
      expect(collector.spans).toHaveLength(5)
      expect(tracing.stats()).toMatchObject({ queued: 0, exported: 5, dropped: 3 })
      rmSync(folder, { recursive: true, force: true })
    },
  )

  it('tells a run that ends while the last spans are sent as what it is', async () => {
    const { dispatcher, tracing } = start({ queue: LONG })
    await runAgent(dispatcher, 'a')
    const op = dispatcher.startOperation({ agentName: 'open' })
    const ending = tracing.shutdown()
    await op.complete()
    await ending
    expect(collector.spans.map(({ attributes }) => attributes['hookspan.span.state'])).toEqual(
      Array(4).fill(undefined),
    )
  })

  it('ends at once when nobody listens', async () => {
    const { dispatcher, tracing } = start({ endpoint: 'http://127.0.0.1:9', queue: LONG })
    await runAgent(dispatcher, 'a')
    await tracing.shutdown({ timeoutMs: 600_000 })
    expect(tracing.stats()).toMatchObject({ queued: 0, exported: 0, dropped: 3 })
  })

  it('ends at once when everything was delivered', async () => {
    const { dispatcher, tracing } = start({ queue: LONG })
    await runAgent(dispatcher, 'a')
    await tracing.shutdown({ timeoutMs: 600_000 })
    expect(collector.spans).toHaveLength(3)
  })

  it.each(['localhost:4318', 'ftp://x', 'nonsense'])(
    'refuses the endpoint %j and says what is expected',
    (endpoint) => {
      expect(() => startTracing({ endpoint })).toThrow(/http\(s\) URL such as "http:\/\/localhost:4318", got/)
    },
  )
})

describe('a process that ends', () => {
  let collector: Collector
  let folder: string
  let child: ChildProcess | undefined
  let stderr: string
  beforeEach(async () => {
    collector = await startCollector()
    folder = mkdtempSync(join(tmpdir(), 'hookspan-spool-'))
  })
  afterEach(async () => {
    child?.kill('SIGKILL')
    await collector.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  const startChild = (...args: string[]) => startBy([], ...args)

  async function startBy(wrapper: string[], ...args: string[]) {
    const script = fileURLToPath(new URL('processes/run-and-wait.ts', import.meta.url))
    const [command = '', ...rest] = [...wrapper, process.execPath, script, ...args]
    child = spawn(command, rest, { stdio: ['ignore', 'pipe', 'pipe'] })
    stderr = ''
    child.stderr?.on('data', (chunk) => {
      stderr += chunk
    })
    await once(child.stdout as NodeJS.ReadableStream, 'data')
    return child
  }

  it('delivers its spans when it has nothing left to do', async () => {
    const process = await startChild(collector.url, '-', 'end')
    const [code] = await once(process, 'exit')
    expect(code).toBe(0)
    expect(collector.names().sort()).toEqual([
      'execute_tool endless',
      'execute_tool first',
      'invoke_agent victim',
      'step 0',
      'step 1',
    ])
  })

  it.each(['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGUSR2'] as const)(
    'ends its open runs as interrupted and delivers them at %s',
    async (signal) => {
      const process = await startChild(collector.url, '-')
      process.kill(signal)
      const [code, by] = await once(process, 'exit')
      expect([code, by]).toEqual([null, signal])
      const run = collector.spans.find((span) => span.name === 'invoke_agent victim')
      expect(run?.attributes['hookspan.operation.reason']).toBe('interrupted')
      expect(collector.names()).toContain('execute_tool endless')
    },
  )

  it.each(['-', 'a spool'])(
    'ends at once at a second Ctrl-C while its collector hangs, with %s',
    async (spool) => {
      collector.answerWith('hang')
      const process = await startChild(collector.url, spool === '-' ? spool : folder)
      process.kill('SIGINT')
      await collector.until(() => collector.unanswered() > 0)
      await sleep(600)
      const asked = performance.now()
      process.kill('SIGINT')
      const [code, by] = await once(process, 'close')
      expect([code, by]).toEqual([null, 'SIGINT'])
      expect(performance.now() - asked).toBeLessThan(1_000)
      if (spool === '-')
        return expect(stderr).toContain('5 spans were not delivered before the end and are lost')
      collector.answerWith(200)
      await startChild(collector.url, folder, 'end')
      await collector.until(() => collector.names().includes('execute_tool endless'))
    },
  )

  it('delivers its spans at one Ctrl-C that it is told twice of, as below npm', async () => {
    const process = await startChild(collector.url, '-')
    collector.answerWith('hang')
    process.kill('SIGINT')
    await collector.until(() => collector.unanswered() > 0)
    process.kill('SIGINT')
    collector.answerWith(200)
    await once(process, 'exit')
    expect(collector.names()).toContain('execute_tool endless')
  })

  it.runIf(mayUnsharePids)(
    'goes on as process 1 of a container, which no signal ends that it does not hear',
    async () => {
      const process = await startBy(CONTAINER, collector.url, '-', 'first')
      const [code, by] = await once(process, 'close')
      expect([code, by]).toEqual([0, null])
      expect(collector.names()).toContain('execute_tool after')
      const run = collector.spans.find((span) => span.name === 'invoke_agent victim')
      expect(run?.attributes['hookspan.operation.reason']).toBe('done')
    },
  )

  it('ends its open runs as interrupted and delivers them at SIGBREAK of Windows', async () => {
    const process = await startChild(collector.url, '-', 'break')
    const [code] = await once(process, 'exit')
    expect(code).toBeGreaterThanOrEqual(128)
    const run = collector.spans.find((span) => span.name === 'invoke_agent victim')
    expect(run?.attributes['hookspan.operation.reason']).toBe('interrupted')
  })

  it('ends by the signal beside a package that waits for others to end the process, too', async () => {
    const process = await startChild(collector.url, '-', 'tidy')
    const stdout = text(process.stdout as NodeJS.ReadableStream)
    process.kill('SIGINT')
    const [code, by] = await once(process, 'close')
    expect([code, by]).toEqual([null, 'SIGINT'])
    expect(await stdout).toBe('tidied up\n')
    expect(collector.names()).toContain('invoke_agent victim')
  })

  it.each(['before', 'after'])(
    'leaves the end to a SIGTERM handler of its own that was there once, %s tracing started',
    async (when) => {
      const process = await startChild(collector.url, '-', `graceful-${when}`)
      const stdout = text(process.stdout as NodeJS.ReadableStream)
      process.kill('SIGTERM')
      const [code, by] = await once(process, 'close')
      expect([code, by]).toEqual([0, null])
      expect(await stdout).toBe('shut down\n')
      expect(collector.names()).toEqual(
        expect.arrayContaining(['execute_tool endless', 'invoke_agent victim']),
      )
      expect(collector.names()).toContain('invoke_agent good bye')
    },
  )

  it.each([
    ['exit', 3],
    ['crash', 1],
  ] as const)('ends its open runs as interrupted and delivers them at its %s', async (how, exitCode) => {
    const process = await startChild(collector.url, '-', how)
    const [code] = await once(process, 'close')
    expect(code).toBe(exitCode)
    const run = collector.spans.find((span) => span.name === 'invoke_agent victim')
    expect(run?.attributes['hookspan.operation.reason']).toBe('interrupted')
    expect(collector.names()).toEqual(expect.arrayContaining(['execute_tool first', 'execute_tool endless']))
    expect(stderr.includes('were not delivered')).toBe(false)
  })

  it('exits without a wait, with its own code, and says what is lost when nobody listens', async () => {
    const process = await startChild('http://127.0.0.1:1', '-', 'exit')
    const [code] = await once(process, 'close')
    expect(code).toBe(3)
    expect(stderr).toContain('5 spans were not delivered before the end and are lost')
    expect(stderr).toContain('spoolDir')
  })

  it.runIf(process.platform === 'linux')('ends at once where `spoolDir` cannot be made', async () => {
    const script = fileURLToPath(new URL('processes/run-and-wait.ts', import.meta.url))
    const options = { timeout: 60_000, killSignal: 'SIGKILL', encoding: 'utf8' } as const
    const ended = spawnSync(process.execPath, [script, collector.url, '/proc/nowhere/spool'], options)
    expect([ended.status, ended.signal]).toEqual([1, null])
    expect(ended.stderr).toContain('Cannot write spans to `spoolDir` `"/proc/nowhere/spool"`')
  })

  it('loses nothing to SIGKILL: the next process delivers the spans, open ones as interrupted', async () => {
    const process = await startChild('http://127.0.0.1:1', folder)
    process.kill('SIGKILL')
    await once(process, 'exit')
    expect(readdirSync(folder)).toHaveLength(1)
    const tracing = startTracing({ endpoint: collector.url, spoolDir: folder, flushOnExit: false })
    await collector.until(() => collector.spans.length >= 5)
    await tracing.shutdown()
    const states = Object.fromEntries(
      collector.spans.map((span) => [
        spanTitle(span.name, span.attributes),
        span.attributes['hookspan.span.state'] ?? 'ended',
      ]),
    )
    expect(states).toEqual({
      'invoke_agent victim': 'interrupted',
      'step 0': 'ended',
      'execute_tool first': 'ended',
      'step 1': 'interrupted',
      'execute_tool endless': 'interrupted',
    })
    expect(new Set(collector.spans.map((span) => span.traceId)).size).toBe(1)
    await collector.until(() => readdirSync(folder).length === 0)
  })

  it('delivers what a killed process left with the headers that the environment names', async () => {
    const process = await startChild('http://127.0.0.1:1', folder)
    process.kill('SIGKILL')
    await once(process, 'exit')
    vi.stubEnv('OTEL_EXPORTER_OTLP_HEADERS', 'authorization=Bearer%20secret, x-tenant=a')
    const tracing = startTracing({ endpoint: collector.url, spoolDir: folder, flushOnExit: false })
    await collector.until(() => collector.spans.length >= 5)
    await tracing.shutdown()
    vi.unstubAllEnvs()
    expect(collector.requests[0]?.headers).toMatchObject({ authorization: 'Bearer secret', 'x-tenant': 'a' })
  })
})
