/** Meerkat's eight points and three runtimes, in our form. `docs/coming-from.md` names each test. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { type AnyHookType, HookDispatcher, type HookEvent } from 'hookspan'
import { deny, type Gate, type GatePoint } from 'hookspan/gates'
import { commandGate, httpGate, loadConfig } from 'hookspan/policies'
import { describe, expect, it, onTestFinished } from 'vitest'

const reply = { choices: [{ message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }] }

/** A run that passes all points. */
async function run(gate?: Gate, hookType?: AnyHookType) {
  const dispatcher = new HookDispatcher()
  if (gate !== undefined) dispatcher.use({ name: 'm', gates: [gate] })
  const seen: HookEvent[] = []
  const op = dispatcher.startOperation({ input: 'hello' })
  if (hookType !== undefined) {
    dispatcher.register(op.operationId, [
      { id: 'h', type: hookType, handler: (event: HookEvent) => void seen.push(event) } as never,
    ])
  }
  const done: string[] = []
  try {
    await op.step(async (step) => {
      await step.llmCall({ model: 'm', request: {} }, () => done.push('llm') && reply)
      await step.toolCall({ apiName: 't', args: {} }, () => done.push('tool'))
      done.push('step')
    })
    if (op.stopRequested) throw new Error(op.stopRequested.reason)
    await op.complete()
  } catch (error) {
    if (op.stopRequested) await op.complete({ reason: 'denied' })
    else await op.fail(error)
  }
  return { done, seen, op }
}

describe('the eight points', () => {
  const deciding: [string, GatePoint, string[]][] = [
    ['run_started', 'onStart', []],
    ['pre_llm_request', 'beforeLlmCall', []],
    ['pre_tool_execution', 'beforeToolCall', ['llm']],
    ['turn_boundary', 'afterStep', ['llm', 'tool', 'step']],
    ['post_llm_response', 'afterLlmCall', ['llm']],
    ['post_tool_execution', 'afterToolCall', ['llm', 'tool']],
    ['run_completed', 'beforeComplete', ['llm', 'tool', 'step']],
  ]
  it.each(deciding)(
    '%s is the gate %s, and a stopping denial is fatal there',
    async (_theirs, point, done) => {
      const result = await run({ id: 'g', point, decide: () => deny('no', { stop: true }) })
      expect(result.done.slice(0, done.length)).toEqual(done)
      expect(result.op.ended).toBe(true)
      expect(result.op.stopRequested).toMatchObject({ reason: 'no' })
    },
  )

  it('run_failed is the hook onError: a failure is observed, and cannot be denied', async () => {
    const dispatcher = new HookDispatcher()
    const seen: string[] = []
    const handler = (event: HookEvent<'onError'>) =>
      void seen.push(`${event.errorType}: ${event.errorMessage}`)
    const op = dispatcher.startOperation({ hooks: [{ id: 'f', type: 'onError', handler }] })
    await op.fail(new TypeError('boom'))
    expect(seen).toEqual(['TypeError: boom'])
  })
})

describe('the three runtimes', () => {
  const decide = async (gate: Gate) => {
    const dispatcher = new HookDispatcher()
    dispatcher.use({ name: 'm', gates: [gate] })
    return dispatcher.startOperation().toolCall({ apiName: 't', args: { a: 1 } }, () => 1)
  }

  it('in_process', async () => {
    expect(await decide({ id: 'g', point: 'beforeToolCall', decide: () => deny('no') })).toMatchObject({
      reason: 'no',
    })
  })

  it('command: JSON on standard input, JSON on standard output', async () => {
    const script = `process.stdin.on('data', (d) => { const q = JSON.parse(d); console.log(JSON.stringify({ decision: 'deny', reason: q.apiName + q.payload.a })) })`
    const gate = commandGate({
      id: 'g',
      point: 'beforeToolCall',
      command: process.execPath,
      args: ['-e', script],
    })
    expect(await decide(gate)).toMatchObject({ reason: 't1' })
  })

  it('http', async () => {
    const server = createServer(
      (_request, response) => void response.end('{"decision":"deny","reason":"by http"}'),
    )
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => {
      server.closeAllConnections()
      server.close()
    })
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
    expect(
      await decide(httpGate({ id: 'g', point: 'beforeToolCall', url, allowPrivateAddresses: true })),
    ).toMatchObject({ reason: 'by http' })
  })
})

it('hooks.entries of a TOML file, with priority, timeout, command and a background webhook', async () => {
  const cwd = mkdtempSync(`${tmpdir()}/hookspan-meerkat-`)
  onTestFinished(() => rmSync(cwd, { recursive: true }))
  writeFileSync(`${cwd}/check.mjs`, `console.log('{"decision":"deny","reason":"from the file"}')`)
  writeFileSync(
    `${cwd}/hookspan.config.toml`,
    `[[gates]]
id = "safety"
enabled = true
type = "command"
point = "beforeToolCall"
priority = 10
timeoutMs = 5000
command = "${process.execPath}"
args = ["check.mjs"]
env = { LOG = "1" }

[[hooks]]
id = "audit"
type = "webhook"
on = "afterToolCall"
url = "https://audit.example/h"
headers = { x-key = "k" }
`,
  )
  const { plugin } = await loadConfig({ cwd, userFile: false })
  expect(plugin.hooks).toMatchObject([{ id: 'audit', type: 'afterToolCall' }])
  const dispatcher = new HookDispatcher()
  dispatcher.use({ name: 'm', gates: plugin.gates ?? [] })
  expect(await dispatcher.startOperation().toolCall({ apiName: 't', args: {} }, () => 1)).toMatchObject({
    reason: 'from the file',
  })
  const off = await loadConfig({ cwd, userFile: false, run: { disable: ['safety'] } })
  expect(off.plugin.gates).toEqual([])
})

it('a background hook that is slow or full is dropped and counted, and keeps nobody waiting', async () => {
  const dropped: number[] = []
  const dispatcher = new HookDispatcher({
    onHookError: ({ kind, count = 0 }) => kind === 'dropped' && dropped.push(count),
  })
  let release = () => {}
  const slow = new Promise<void>((resolve) => {
    release = resolve
  })
  const hook = { id: 'slow', type: 'afterToolCall' as const, maxPending: 2, handler: () => slow }
  const op = dispatcher.startOperation({ hooks: [hook] })
  for (let i = 0; i < 5; i++) {
    expect((await op.toolCall({ apiName: 't', args: {} }, () => 1)).state).toBe('completed')
  }
  release()
  await dispatcher.drain()
  // One was being handled, two waited.
  expect(dispatcher.stats().dropped).toBe(2)
  expect(dropped).toEqual([2])
})

describe('protocol: meerkat', () => {
  const DENY = { decision: 'deny', hook_id: 'x', reason_code: 'policy_violation', message: 'not today' }

  /** An endpoint as Meerkat's reference has it: an invocation comes, `{ decision? }` goes. */
  async function endpoint(answer: (invocation: Record<string, unknown>) => unknown, status = 200) {
    const got: Record<string, unknown>[] = []
    const server = createServer(async (request, response) => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk as Buffer)
      const invocation = JSON.parse(Buffer.concat(chunks).toString())
      got.push(invocation)
      response.writeHead(status).end(JSON.stringify(answer(invocation)))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, got }
  }

  const POINTS: GatePoint[] = [
    'onStart',
    'beforeLlmCall',
    'afterLlmCall',
    'beforeToolCall',
    'afterToolCall',
    'afterStep',
    'beforeComplete',
  ]

  it('asks an endpoint at its seven points, in its words', async () => {
    const { url, got } = await endpoint(() => ({ decision: { decision: 'allow' } }), 202)
    const { op } = await run(
      httpGate({ id: 'm', point: POINTS, url, protocol: 'meerkat', allowPrivateAddresses: true }),
    )
    const session_id = op.operationId
    expect(got).toEqual([
      { point: 'run_started', session_id, prompt: 'hello' },
      {
        point: 'pre_llm_request',
        session_id,
        turn_number: 0,
        llm_request: { max_tokens: 0, message_count: 0 },
      },
      {
        point: 'post_llm_response',
        session_id,
        turn_number: 0,
        llm_response: { assistant_text: 'hi', tool_call_names: [], stop_reason: 'stop' },
      },
      {
        point: 'pre_tool_execution',
        session_id,
        turn_number: 0,
        tool_call: {
          tool_use_id: expect.any(String),
          name: 't',
          provenance: { kind: 'local', source_id: 'local' },
          args: {},
        },
      },
      {
        point: 'post_tool_execution',
        session_id,
        turn_number: 0,
        tool_result: {
          tool_use_id: expect.any(String),
          name: 't',
          provenance: { kind: 'local', source_id: 'local' },
          content: '2',
          content_blocks: [{ type: 'text', text: '2' }],
          is_error: false,
        },
      },
      { point: 'turn_boundary', session_id, turn_number: 0 },
      { point: 'run_completed', session_id },
    ])
  })

  it('ends the run with a denial, as there', async () => {
    const { url } = await endpoint(({ point }) => (point === 'pre_tool_execution' ? { decision: DENY } : {}))
    const gate = httpGate({ id: 'm', point: POINTS, url, protocol: 'meerkat', allowPrivateAddresses: true })
    const { op } = await run(gate)
    expect(op.stopRequested).toMatchObject({ code: 'policy_violation', reason: 'not today' })
  })

  const command = (answer: string) =>
    commandGate({
      id: 'm',
      point: 'beforeToolCall',
      protocol: 'meerkat',
      command: process.execPath,
      args: [
        '-e',
        `const q = JSON.parse(require('node:fs').readFileSync(0, 'utf8')); if (q.tool_call.name !== 't') process.exit(1); process.stdout.write(process.argv[1])`,
        answer,
      ],
    })
  const outcome = async (answer: unknown) => {
    const dispatcher = new HookDispatcher()
    dispatcher.use({
      name: 'm',
      gates: [command(typeof answer === 'string' ? answer : JSON.stringify(answer))],
    })
    return dispatcher.startOperation().toolCall({ apiName: 't', args: { a: 1 } }, () => 1)
  }

  it.each([{}, { decision: null }, { decision: { decision: 'allow' } }])(
    'lets a command say nothing or allow: %j',
    async (answer) => {
      expect((await outcome(answer)).state).toBe('completed')
    },
  )

  it('lets a command deny', async () => {
    expect(await outcome({ decision: DENY })).toMatchObject({
      state: 'denied',
      code: 'policy_violation',
      reason: 'not today',
      stop: true,
    })
  })

  it.each([
    ['', 'JSON'],
    [{ decision: 'deny' }, 'to be an object'],
    [{ decision: { ...DENY, reason_code: 'because' } }, 'reason_code'],
    [{ decision: { ...DENY, message: 7 } }, 'message'],
    [{ decision: { decision: 'maybe' } }, 'allow or deny'],
    [{ patches: [{ patch_type: 'tool_args', args: {} }] }, 'unknown field `patches`'],
  ])('denies what is no answer there: %j', async (answer, why) => {
    expect(await outcome(answer)).toMatchObject({
      state: 'denied',
      code: 'gate_invalid',
      reason: expect.stringContaining(why),
    })
  })

  it('does not know two of our points', () => {
    expect(() =>
      httpGate({ id: 'm', point: 'beforeCompact', url: 'https://a.example', protocol: 'meerkat' }),
    ).toThrow('The protocol "meerkat" of gate "m" cannot ask at `beforeCompact`')
  })
})
