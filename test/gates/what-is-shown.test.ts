import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { runInNewContext } from 'node:vm'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { HookDispatcher } from 'hookspan'
import { createApprovals, sqliteStore } from 'hookspan/approval'
import { type ApprovalRequest, deny, type Gate, mutate, proceed, requireApproval } from 'hookspan/gates'
import { commandGate, httpGate, requireHuman } from 'hookspan/policies'
import { traceHooks } from 'hookspan/tracing'
import { describe, expect, it, onTestFinished } from 'vitest'
import { folder, pending } from '../approval/support.ts'
import { callTool, gate, start } from './support.ts'

class Order {
  readonly path = '/tmp/a'
  toJSON() {
    return { path: '/tmp/harmless' }
  }
}

const circular: Record<string, unknown> = {}
circular.self = circular

/** Each tells JSON, and so whoever decides by it, something else than what a tool would be given. */
const hiding: [string, unknown, RegExp][] = [
  ['a Map', { m: new Map([['cmd', 'rm -rf /']]) }, /`m` whole: an instance of Map/],
  ['a Set', { list: [1, new Set(['rm'])] }, /`list\[1\]` whole: an instance of Set/],
  ['a symbol', { [Symbol('cmd')]: 'rm' }, /a field under Symbol\(cmd\)/],
  ['a hidden field', Object.defineProperty({}, 'cmd', { value: 'rm' }), /`cmd` whole: not enumerable/],
  ['a lying toJSON', { cmd: 'rm', toJSON: () => ({ cmd: 'ls' }) }, /`toJSON` whole: a function/],
  ['an instance', { order: new Order() }, /`order` whole: an instance of Order/],
  ['an instance as a whole', new Order(), /it whole: an instance of Order/],
  [
    'an accessor',
    {
      get cmd() {
        return 'ls'
      },
    },
    /`cmd` whole: an accessor/,
  ],
  ['a Date', { at: new Date(0) }, /an instance of Date/],
  ['a Buffer', { data: Buffer.from('rm') }, /an instance of Buffer/],
  ['a list with a field', { list: Object.assign(['ls'], { cmd: 'rm' }) }, /a list with holes or with fields/],
  ['a list of a class of its own', { list: new (class Lines extends Array {})() }, /an instance of Lines/],
  ['a hole', { list: Array(1) }, /a list with holes/],
  ['a number that is none', { limit: Number.NaN }, /`limit` whole: NaN/],
  ['a bigint', { limit: 10n }, /a bigint/],
  ['undefined in a list', { list: [undefined] }, /`list\[0\]` whole: undefined/],
  ['what holds itself', circular, /`self` whole: an object that holds itself/],
  ['what never ends', endless(), /nested deeper than 500 levels/],
  ['more than there is room for', bomb(), /more than 1000000 values/],
]

function endless(): unknown {
  let deep: unknown = 1
  for (let i = 0; i < 10_000; i++) deep = { deep }
  return deep
}

function bomb(): unknown {
  let shared: unknown = [1, 2]
  for (let i = 0; i < 40; i++) shared = [shared, shared]
  return { shared }
}

const deciders: [string, Gate][] = [
  ['a gate', gate('beforeToolCall', () => proceed())],
  ['a gate that is open when it fails', gate('beforeToolCall', () => proceed(), { onFailure: 'proceed' })],
  ['a human', requireHuman()],
]
const yes = { requestApproval: async () => ({ decision: 'approve' as const }) }

describe('arguments that JSON cannot carry whole', () => {
  for (const [decider, guard] of deciders) {
    it.each(hiding)(`are refused where ${decider} decides: %s`, async (_name, args, problem) => {
      const { outcome, ran } = await callTool(start([guard], { plugin: { approver: yes } }).op, args)
      expect(outcome).toMatchObject({
        state: 'denied',
        code: 'not_json',
        reason: expect.stringMatching(problem),
      })
      expect(ran).toEqual([])
    })
  }

  it.each(hiding)('are no arguments that a gate or a human can write: %s', async (_name, args, problem) => {
    const rewrites = start([gate('beforeToolCall', () => mutate(args))])
    const rewritten = await callTool(rewrites.op)
    expect(rewritten.outcome).toMatchObject({
      code: 'gate_invalid',
      reason: expect.stringMatching(problem),
    })
    const approver = { requestApproval: async () => ({ decision: 'edit' as const, args }) }
    const edited = await callTool(start([requireHuman()], { plugin: { approver } }).op)
    expect(edited.outcome).toMatchObject({
      code: 'approval_error',
      reason: expect.stringMatching(problem),
    })
    expect([...rewritten.ran, ...edited.ran]).toEqual([])
  })

  it('are no answer, wherever requests are kept', async () => {
    for (const store of [undefined, sqliteStore({ path: `${folder()}/approvals.db` })]) {
      const approvals = createApprovals({ pollMs: 5, ...(store && { store }) })
      const { op } = start([requireHuman()], { plugin: { approver: approvals.approver } })
      const call = callTool(op)
      const { id } = await pending(approvals)
      await expect(approvals.respond(id, { decision: 'edit', args: { m: new Map() } })).rejects.toMatchObject(
        { code: 'INVALID_ANSWER', message: expect.stringContaining('instance of Map') },
      )
      await approvals.respond(id, { decision: 'edit', args: { m: 1 } })
      expect((await call).ran).toEqual([{ m: 1 }])
      await approvals.close()
    }
  })

  it('reach the tool as they are where nobody decides, or only looks', async () => {
    const shadow = gate('beforeToolCall', () => deny('no'), { shadow: true })
    const args = { m: new Map([['cmd', 'ls']]) }
    for (const gates of [[], [shadow], [gate('afterToolCall', () => proceed())]]) {
      const { ran } = await callTool(start(gates).op, args)
      expect(ran[0]).toBe(args)
    }
  })

  it('and those that it can carry run as they were, also from another realm', async () => {
    const written = '{"a":[1,-1.5,"x",true,null,{}],"__proto__":{"b":1},"":[[]]}'
    for (const args of [JSON.parse(written), runInNewContext(`JSON.parse('${written}')`)]) {
      const { ran } = await callTool(start([requireHuman()], { plugin: { approver: yes } }).op, args)
      expect(JSON.stringify(ran[0])).toBe(written)
      expect(ran[0]).not.toBe(args)
    }
    for (const args of [null, 'text', 0, []]) {
      expect((await callTool(start([gate('beforeToolCall', () => proceed())]).op, args)).ran).toEqual([args])
    }
  })
})

describe('what runs is what was decided on', () => {
  it('whatever becomes of the arguments afterwards, or while a human thinks', async () => {
    const args = { path: '/tmp/a', list: [1] }
    const change = () => {
      args.path = '/etc/passwd'
      args.list.push(2)
    }
    const looksAndChanges = gate('beforeToolCall', () => change())
    expect((await callTool(start([looksAndChanges]).op, args)).ran).toEqual([{ path: '/tmp/a', list: [1] }])

    const shown: ApprovalRequest[] = []
    const approver = {
      async requestApproval(request: ApprovalRequest) {
        shown.push(structuredClone(request))
        change()
        return { decision: 'approve' as const }
      },
    }
    const { ran } = await callTool(start([requireHuman()], { plugin: { approver } }).op, args)
    expect(ran).toEqual([shown[0]?.args])
    expect(ran).not.toEqual([args])
  })

  it('also of arguments that look different each time', async () => {
    let looks = 0
    const args = new Proxy(
      { cmd: '' },
      {
        getOwnPropertyDescriptor: () => ({
          value: ++looks === 1 ? 'ls' : 'rm',
          enumerable: true,
          configurable: true,
          writable: true,
        }),
        get: () => 'rm',
      },
    )
    const { ran } = await callTool(start([requireHuman()], { plugin: { approver: yes } }).op, args)
    expect(ran).toEqual([{ cmd: 'ls' }])
  })
})

/** A command that answers with this text. */
const answers = (text: string) => ({
  command: process.execPath,
  args: ['-e', `process.stdout.write(${JSON.stringify(text)})`],
})

const twice = [
  '{"decision":"deny","decision":"proceed"}',
  '{"decision":"deny","\\u0064ecision":"proceed"}',
  '{"decision" : "mutate", "payload":{"a":{"path":"/tmp","path":"/etc"}}}',
]

describe('JSON with a key twice', () => {
  it.each(twice)('is no decision of a command or an endpoint: %s', async (text) => {
    const server = createServer((_, response) => response.end(text)).listen(0, '127.0.0.1')
    onTestFinished(() => void server.close())
    await new Promise((resolve) => server.once('listening', resolve))
    const { port } = server.address() as AddressInfo
    const point = 'beforeToolCall'
    for (const guard of [
      commandGate({ id: 'c', point, timeoutMs: 20_000, ...answers(text) }),
      httpGate({ id: 'h', point, url: `http://127.0.0.1:${port}/`, allowPrivateAddresses: true }),
    ]) {
      const { outcome, ran } = await callTool(start([guard]).op)
      expect(outcome).toMatchObject({
        code: 'gate_invalid',
        reason: expect.stringMatching(/has the key "(decision|path)" twice in one object/),
      })
      expect(ran).toEqual([])
    }
  })

  it('is none also where keys only look the same: a text may say anything, and two objects may have one key', async () => {
    const text =
      '{"decision":"mutate","payload":{"a":"{\\"a\\":1,\\"a\\":2}","b":[{"a":1},{"a":"b\\\\"}],"a:":1}}'
    const guard = commandGate({ id: 'c', point: 'beforeToolCall', timeoutMs: 20_000, ...answers(text) })
    expect((await callTool(start([guard]).op)).ran).toEqual([JSON.parse(text).payload])
  })
})

describe('a reason', () => {
  function traced() {
    const exporter = new InMemorySpanExporter()
    const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })
    const dispatcher = new HookDispatcher()
    dispatcher.use(traceHooks({ tracer: provider.getTracer('t'), meter: false }))
    return { dispatcher, spans: () => exporter.getFinishedSpans() }
  }

  it('goes with every decision, and is kept: in the event and on the span', async () => {
    const { dispatcher, spans } = traced()
    const gates: Gate[] = [
      commandGate({
        id: 'service',
        point: 'beforeToolCall',
        timeoutMs: 20_000,
        ...answers('{"decision":"proceed","reason":"ok","code":"allowlisted"}'),
      }),
      { id: 'edits', point: 'beforeToolCall', decide: () => ({ ...mutate({ q: 2 }), reason: 'cleaned' }) },
    ]
    dispatcher.use({ name: 'gates', gates })
    const told: unknown[] = []
    const op = dispatcher.startOperation({
      hooks: [{ id: 'h', type: 'afterToolCall', handler: (event) => void told.push(event.gates) }],
    })
    const { outcome, ran } = await callTool(op)
    await op.complete()
    expect(outcome).toMatchObject({ state: 'completed' })
    expect(ran).toEqual([{ q: 2 }])
    const kept = [
      { gateId: 'service', decision: 'proceed', reason: 'ok', code: 'allowlisted' },
      { gateId: 'edits', decision: 'mutate', reason: 'cleaned' },
    ]
    expect(told).toMatchObject([kept])
    const gateSpan = spans().find(({ name }) => name === 'gate service')
    expect(gateSpan?.attributes).toMatchObject({ 'hookspan.gate.reason': 'ok' })
    const tool = spans().find(({ name }) => name.startsWith('execute_tool'))
    expect(tool?.events[0]?.attributes).toMatchObject({ 'hookspan.gate.reason': 'cleaned' })
  })

  it('is what a human is told, where the gate has no other words', async () => {
    const seen: unknown[] = []
    const approver = {
      async requestApproval({ instructions }: ApprovalRequest) {
        seen.push(instructions)
        return { decision: 'approve' as const }
      },
    }
    const asks = (more: object) => gate('beforeToolCall', () => ({ ...requireApproval(), ...more }))
    await callTool(start([asks({ reason: 'over 100 EUR' })], { plugin: { approver } }).op)
    await callTool(start([asks({ reason: 'r', instructions: 'look' })], { plugin: { approver } }).op)
    expect(seen).toEqual(['over 100 EUR', 'look'])
  })

  it('that is no text is refused, as other fields are that there are not', async () => {
    for (const more of [{ reason: 1 }, { reasons: 'ok' }]) {
      const { ran } = await callTool(
        start([gate('beforeToolCall', () => ({ ...proceed(), ...more }) as never)]).op,
      )
      expect(ran).toEqual([])
    }
  })
})
