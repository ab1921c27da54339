import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startViewer } from 'hookspan/viewer'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { callCli } from '../support/call-cli.ts'
import { refusingUrl, startOtlpStub } from '../support/otlp-stub.ts'
import { runCli } from '../support/run-cli.ts'

const call = (id: string, name: string, text: string) => ({
  id,
  type: 'function',
  function: { name, arguments: text },
})
const textOf = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))
const chat = {
  id: 'two-turns',
  model: 'gpt-4o',
  messages: [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'weather in Berlin?' },
    { role: 'assistant', content: null, tool_calls: [call('c1', 'get_weather', '{"city": "Berlin"}')] },
    { role: 'tool', tool_call_id: 'c1', content: '7 °C' },
    { role: 'assistant', content: 'It is 7 °C.' },
    { role: 'user', content: 'thanks' },
  ],
}

describe('hookspan replay', { timeout: 120_000 }, () => {
  let folder: string
  let nobody: string
  const file = (name: string, value: unknown) => {
    const path = join(folder, name)
    writeFileSync(path, typeof value === 'string' ? value : JSON.stringify(value))
    return path
  }
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'hookspan-replay-'))
    nobody = await refusingUrl()
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  const toNobody = (): Record<string, string> => ({ OTEL_EXPORTER_OTLP_ENDPOINT: nobody })
  const replay = (args: string[], env = toNobody()) => callCli(['replay', ...args], { env })
  /** In a process of its own. */
  const start = (args: string[], env = toNobody()) => runCli(['replay', ...args], { env })

  it('shows one run as a tree and says that nobody kept it', async () => {
    const { code, stdout, stderr } = await start([file('chat.json', chat)])

    expect(stderr).toBe('')
    expect(stdout).toContain('invoke_agent chat')
    expect(stdout).toContain('execute_tool get_weather')
    expect(stdout).toMatch(/✓ 1 run replayed in .+: 2 model turns, 1 tool call, 0 failed/)
    expect(stdout).toContain(`nothing answers at ${nobody}/v1/traces`)
    expect(
      Math.max(
        ...stdout
          .split('\n')
          .slice(0, 8)
          .map((line) => line.length),
      ),
    ).toBeLessThanOrEqual(100)
    expect(code).toBe(0)
  })

  it('writes OTLP/JSON and gives a run a trace id of its own each time, the same one with the same label', async () => {
    const path = file('chat.json', chat)
    const traceId = async (...args: string[]) => {
      const out = join(folder, 'out', 'trace.otlp.json')
      const { code, stdout } = await replay([path, '--out', out, '--json', ...args])
      expect(code).toBe(0)
      const { resourceSpans } = JSON.parse(readFileSync(out, 'utf8'))
      const spans = resourceSpans.flatMap((part: { scopeSpans: { spans: { traceId: string }[] }[] }) =>
        part.scopeSpans.flatMap((scope) => scope.spans),
      )
      expect(spans).toHaveLength(6)
      const summary = JSON.parse(stdout)
      expect(summary).toMatchObject({ runs: 1, failedRuns: 0, modelTurns: 2, toolCalls: 1, file: out })
      expect(summary.results[0]).toMatchObject({ id: 'two-turns', traceId: spans[0].traceId })
      return spans[0].traceId
    }

    const ids = [
      await traceId(),
      await traceId(),
      await traceId('--label', 'b'),
      await traceId('--label', 'b'),
    ]
    expect(new Set(ids).size).toBe(3)
    expect(ids[3]).toBe(ids[2])
  })

  it('runs several files, and arguments that are not JSON', async () => {
    const odd = structuredClone(chat)
    odd.id = 'odd'
    odd.messages[2]!.tool_calls = [call('c1', 'get_weather', 'city: Berlin')]
    const { code, stdout } = await replay([
      file('list.jsonl', [chat, odd].map((run) => JSON.stringify(run)).join('\n')),
      file('chat.json', chat),
      '--json',
    ])

    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ runs: 3, failedRuns: 0, toolCallsByName: { get_weather: 3 } })
  })

  it('replays one run by its id or its position', async () => {
    const list = file('list.json', [chat, { ...chat, id: 'second' }])
    const idOf = async (run: string) =>
      JSON.parse((await replay([list, '--run', run, '--json'])).stdout).results
    expect(await idOf('second')).toMatchObject([{ id: 'second', index: 1 }])
    expect(await idOf('0')).toMatchObject([{ id: 'two-turns', index: 0 }])
  })

  it('keeps the recorded times, and waits as the recording did, faster', async () => {
    const at = (second: number) => `2025-08-01T16:00:0${second}.000000`
    const tau2 = file('tau2.json', {
      info: { environment_info: { policy: 'Be brief.' } },
      simulations: [
        {
          id: 's1',
          messages: [
            { role: 'user', content: 'hi', timestamp: at(0) },
            { role: 'assistant', content: 'hello', timestamp: at(4) },
          ],
        },
      ],
    })
    const out = join(folder, 'timed.json')
    const { code, stdout } = await replay([tau2, '--recorded-times', '--speed', '10', '--out', out, '--json'])
    expect(code).toBe(0)
    expect(JSON.parse(stdout).durationMs).toBeGreaterThanOrEqual(400)
    const spans: { name: string; startTimeUnixNano: string; endTimeUnixNano: string }[] = JSON.parse(
      readFileSync(out, 'utf8'),
    ).resourceSpans[0].scopeSpans[0].spans
    const run = spans.find(({ name }) => name === 'invoke_agent tau2')!
    const [start, end] = [run.startTimeUnixNano, run.endTimeUnixNano].map((nanos) =>
      Number(BigInt(nanos) / 1_000_000n),
    )
    expect([start, end]).toEqual([Date.parse(`${at(0)}Z`), Date.parse(`${at(4)}Z`)])

    const untimed = await replay([file('chat.json', chat), '--recorded-times'])
    expect(untimed.stderr).toBe(
      'note: 1 run of 1 holds no times, so --recorded-times leaves the times of now there.\n',
    )
  })

  it.each([
    ['no file', [], /missing required argument 'file'/],
    [
      'a file that is not there',
      ['/nowhere/runs.json'],
      /runs\.json: the file cannot be read .*Check the path/,
    ],
    ['an unknown option', ['x.json', '--nope'], /unknown option '--nope'/],
    ['a concurrency of none', ['x.json', '--concurrency', '0'], /'0' is invalid.*at least 1/s],
    ['a speed that is no number', ['x.json', '--speed', 'fast'], /'fast' is invalid.*above 0/s],
  ])('exits with 2 for %s', async (_what, args, message) => {
    const { code, stderr } = await start(args)
    expect(stderr).toMatch(message)
    expect(stderr).not.toMatch(/^\s+at /m)
    expect(code).toBe(2)
  })

  it.each([
    ['a file that ends too early', '{"messages": [{"role"', /ends too early: copy or download it again/],
    ['another format', { spans: [] }, /no known format: found .*Known are OpenAI chat messages/],
    ['an empty file', '', /the file is empty/],
  ])('exits with 2 and sends nothing for %s', async (_what, value, message) => {
    await using stub = await startOtlpStub({ status: 200 })
    const { code, stderr } = await start([
      file('chat.json', chat),
      file('bad.json', value),
      '--endpoint',
      stub.url,
    ])
    expect(stderr).toMatch(message)
    expect(stderr).not.toMatch(/^\s+at /m)
    expect(stub.bodies).toHaveLength(0)
    expect(code).toBe(2)
  })

  it('leaves out the conversations that cannot be replayed, names them and exits with 1', async () => {
    const broken = [{ role: 'tool', tool_call_id: 'c9', content: 'x' }]
    const list = file('some.jsonl', [chat, broken, '{"messages": [', chat].map(textOf).join('\n'))
    const robot = file('robot.json', [{ role: 'robot', content: 'x' }])
    const { code, stdout, stderr } = await replay([list, robot])
    expect(stdout).toMatch(
      /✓ 2 runs replayed in .+: 4 model turns, 2 tool calls, 0 failed\n {2}3 conversations left out/,
    )
    expect(stderr.trim().split('\n').sort()).toEqual([
      expect.stringMatching(
        /^left out: .*robot\.json, run 0, message 0: expected `role` to be .* got `"robot"`/,
      ),
      expect.stringMatching(/^left out: .*some\.jsonl, run 1, message 0: .*"c9" belongs to no call/),
      expect.stringMatching(/^left out: .*some\.jsonl, run 2: line 3 is not JSON/),
    ])
    expect(code).toBe(1)

    const json = await replay([list, robot, '--json'])
    expect(JSON.parse(json.stdout)).toMatchObject({
      ...{ runs: 2, failedRuns: 0 },
      leftOut: [{ run: 2 }, { run: 1, message: 0 }, { source: robot }],
    })
    const none = await replay([robot])
    expect(none.stderr).toMatch(/robot\.json, run 0, message 0: expected `role`/)
    expect(none.code).toBe(2)
  })

  it('says what was cut, and what is invented', async () => {
    const long = structuredClone(chat)
    long.messages[4]!.content = 'It is 7 °C. '.repeat(100)
    const unfinished = { ...chat, messages: chat.messages.slice(0, 3) }
    const path = file('notes.json', [long, unfinished, chat])
    const cut = await replay([path, '--content', '--max-content-bytes', '600', '--json'])
    expect(cut.stderr).toMatch(
      /^note: the content of 1 of 3 runs was cut, by [\d.,k]+ bytes: an attribute holds 600\. Give --max-content-bytes for more\.$/m,
    )
    expect(cut.stderr).toMatch(
      /^note: the recordings hold no result of 1 tool call: what is told of it is invented, and marked with hookspan\.replay\.invented\.$/m,
    )
    const { results } = JSON.parse(cut.stdout)
    expect(results.map(({ cutBytes }: { cutBytes: number }) => cutBytes > 0)).toEqual([true, false, false])
    expect(results.map(({ inventedResults }: { inventedResults: number }) => inventedResults)).toEqual([
      0, 1, 0,
    ])
    expect(cut.code).toBe(0)

    const whole = await replay([file('chat.json', chat), '--content', '--max-content-bytes', '600'])
    expect(whole.stderr).toBe('')
  })

  it('keeps two replays apart in the viewer, and refuses a label that it has', {
    timeout: 120_000,
  }, async () => {
    const viewer = await startViewer({ db: ':memory:', port: 0 })
    try {
      const path = file('chat.json', chat)
      const args = [path, '--endpoint', viewer.url, '--json']
      const runs = async () =>
        ((await (await fetch(`${viewer.url}/api/runs`)).json()) as { runs: unknown[] }).runs
      for (const wanted of [1, 2]) {
        expect((await replay(args)).code).toBe(0)
        expect(await runs()).toHaveLength(wanted)
      }
      expect((await replay([...args, '--label', 'x'])).code).toBe(0)
      const again = await replay([...args, '--label', 'x'])
      expect(again.stderr).toMatch(
        /^hookspan: The hookspan viewer at .* has run "two-turns" with the label "x" already \(trace [0-9a-f]{32}\).* Give another --label, or none\.\n$/,
      )
      expect(again.code).toBe(2)
      expect(await runs()).toHaveLength(3)
    } finally {
      await viewer.close()
    }
  })

  it('keeps what the user said beside a tool of their own before that tool', {
    timeout: 120_000,
  }, async () => {
    const viewer = await startViewer({ db: ':memory:', port: 0 })
    try {
      const path = file('dual.json', {
        info: { environment_info: { policy: 'Be brief.' } },
        simulations: [
          {
            id: 'dual',
            messages: [
              { role: 'assistant', content: 'Please restart it.' },
              {
                ...{ role: 'user', content: 'One moment, I restart it.' },
                tool_calls: [{ id: 'u1', name: 'restart', arguments: {}, requestor: 'user' }],
              },
              { role: 'tool', id: 'u1', content: 'restarted', requestor: 'user', error: false },
              { role: 'user', content: 'It works.' },
              { role: 'assistant', content: 'Good.' },
            ],
          },
        ],
      })
      const { stdout } = await replay([path, '--endpoint', viewer.url, '--content', '--json'])
      const { traceId } = JSON.parse(stdout).results[0]
      const answer = await fetch(`${viewer.url}/api/runs/${traceId}/conversation`)
      const { items } = (await answer.json()) as {
        items: { kind: string; name?: string; pieces?: { text?: string }[] }[]
      }
      expect(
        items
          .filter(({ kind }) => kind !== 'step')
          .map(({ kind, name, pieces }) => (kind === 'tool' ? name : JSON.stringify(pieces))),
      ).toEqual([
        expect.stringContaining('Be brief.'),
        expect.stringContaining('Please restart it.'),
        expect.stringContaining('One moment'),
        'restart',
        expect.stringContaining('It works.'),
        expect.stringContaining('Good.'),
      ])
    } finally {
      await viewer.close()
    }
  })

  it('names a run that is not there, and shows the stack with --debug only', async () => {
    const args = [file('chat.json', chat), '--run', 'task-9']
    const { code, stderr } = await replay(args)
    expect(stderr).toBe(
      'hookspan: There is no run "task-9". Give an id, such as two-turns, or a position from 0 to 0.\n',
    )
    expect(code).toBe(2)
    expect((await replay([...args, '--debug'])).stderr).toMatch(/^\s+at /m)
  })

  it('refuses an endpoint that is no URL and a file it cannot write', async () => {
    const path = file('chat.json', chat)
    const garbage = await replay([path, '--endpoint', 'localhost:4318'])
    expect(garbage.stderr).toMatch(
      /Expected the OTLP endpoint to be an http\(s\) URL .*got `"localhost:4318"`/,
    )
    expect(garbage.code).toBe(2)
    const folders = [join(path, 'below'), ...(process.platform === 'linux' ? ['/proc/nowhere/below'] : [])]
    for (const folder of folders) {
      const unwritable = await replay([path, '--out', join(folder, 'a-file.json')])
      expect(unwritable.stderr).toMatch(/Cannot write to ".*a-file\.json" .*Give another file with --out/)
      expect(unwritable.code).toBe(2)
    }
  })

  it.each([
    [
      'refuses the connection',
      undefined,
      /not delivered: .*(ECONNREFUSED|nothing listens|Spans cannot be delivered)/i,
    ],
    ['answers 400', { status: 400 }, /not delivered: .*refused a span \(400\)/],
    [
      'answers 413',
      { status: 413 },
      /not delivered: .*too large for the collector \(413\).*lower `maxContentBytes`/,
    ],
    ['answers 503', { status: 503 }, /not delivered: .*/],
    ['wants credentials', { status: 401 }, /not delivered: .*refuses the credentials \(401\)/],
  ])(
    'does every run and exits with 1 when the endpoint that was named %s',
    async (_what, answer, message) => {
      await using stub = answer && (await startOtlpStub(answer))
      const { code, stdout, stderr } = await start([
        file('chat.json', chat),
        '--endpoint',
        stub?.url ?? nobody,
      ])
      expect(stdout).toMatch(/✓ 1 run replayed/)
      expect(stderr).toMatch(message)
      expect(stderr).toContain('Run `hookspan doctor` for the cause.')
      expect(stderr).not.toMatch(/^\s+at /m)
      expect(code).toBe(1)
    },
  )

  it('does every run and exits with 1 when the endpoint that was named never answers', async () => {
    await using stub = await startOtlpStub(undefined)
    const { code, stdout, stderr } = await start([file('chat.json', chat), '--endpoint', stub.url])
    expect(stdout).toMatch(/✓ 1 run replayed/)
    expect(stderr).toMatch(
      /^not delivered: .*no answer within 5000 ms\. Run `hookspan doctor` for the cause\.\n$/,
    )
    expect(code).toBe(1)
  })

  it('hands a result of 50 MB to the model whole, and to the collector cut', async () => {
    const big = structuredClone(chat)
    big.messages[3]!.content = '7 °C '.repeat(9_000_000)
    await using stub = await startOtlpStub({ status: 200 })
    const { code, stdout, stderr } = await replay([
      file('big.json', big),
      '--content',
      '--endpoint',
      stub.url,
    ])
    expect(stderr).toMatch(/^note: the content of 1 of 1 run was cut, by [^\n]+\n$/)
    expect(stdout).toMatch(/✓ 1 run replayed in .+: 2 model turns, 1 tool call, 0 failed/)
    expect(Math.max(...stub.bodies.map((body) => body.length))).toBeLessThan(1_000_000)
    expect(stub.bodies.map(String).join('')).toContain('hookspan.content.cut_bytes')
    expect(code).toBe(0)
  })

  it('leaves the colours out of a pipe and puts them in where they are forced', async () => {
    const path = file('chat.json', chat)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the escape is what is looked for
    const colour = /\u001b\[/
    expect((await start([path])).stdout).not.toMatch(colour)
    expect((await start([path], { FORCE_COLOR: '1', OTEL_EXPORTER_OTLP_ENDPOINT: nobody })).stdout).toMatch(
      colour,
    )
  })
})
