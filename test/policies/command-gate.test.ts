import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { type Gate, proceed } from 'hookspan/gates'
import { type CommandGateOptions, commandGate } from 'hookspan/policies'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { callTool, gate, start } from '../gates/support.ts'

const GUARD = fileURLToPath(new URL('./commands/guard.mjs', import.meta.url))
const folder = mkdtempSync(`${tmpdir()}/hookspan-command-`)
afterAll(() => rmSync(folder, { recursive: true }))

function guard(args: string[], more: Partial<CommandGateOptions> = {}): Gate {
  return commandGate({
    id: 'guard',
    point: 'beforeToolCall',
    command: process.execPath,
    args: [GUARD, ...args],
    ...more,
  })
}

const decide = async (one: Gate) => callTool(start([one]).op)

function script(name: string, content: string, mode = 0o755): string {
  const path = `${folder}/${name}`
  writeFileSync(path, content)
  chmodSync(path, mode)
  return path
}

describe('commandGate', () => {
  it('takes each decision from standard output', async () => {
    expect((await decide(guard(['proceed']))).outcome.state).toBe('completed')
    const denied = await decide(guard(['answer', '{"decision":"deny","reason":"no","code":"mine"}']))
    expect(denied.outcome).toMatchObject({ state: 'denied', code: 'mine', reason: 'no' })
    const changed = await decide(guard(['answer', '{"decision":"mutate","payload":{"q":2}}']))
    expect(changed.ran).toEqual([{ q: 2 }])
    const skipped = await decide(guard(['answer', '{"decision":"skip","result":"canned"}']))
    expect(skipped.outcome).toMatchObject({ state: 'skipped', result: 'canned' })
  })

  it('tells the command what is decided on, with the schema version and no secret of the process', async () => {
    process.env.HOOKSPAN_TEST_SECRET = 'hidden'
    const { ran } = await decide(guard(['echo'], { env: { MODE: 'strict' } }))
    delete process.env.HOOKSPAN_TEST_SECRET
    const [{ question, env }] = ran as [{ question: object; env: Record<string, string> }]
    expect(question).toMatchObject({
      schemaVersion: '1.0',
      gateId: 'guard',
      point: 'beforeToolCall',
      operationId: 'op',
      rootOperationId: 'op',
      apiName: 'search',
      identifier: 'local',
      toolCallId: 't1',
      payload: { q: 1 },
      totals: { toolCalls: 1 },
    })
    expect(env).toMatchObject({ MODE: 'strict', PATH: process.env.PATH })
    expect(env).not.toHaveProperty('HOOKSPAN_TEST_SECRET')
  })

  it('starts no shell', async () => {
    const { outcome } = await decide(guard(['answer', '{"decision":"deny","reason":"$(id) `id` ; id"}']))
    expect(outcome).toMatchObject({ reason: '$(id) `id` ; id' })
  })

  it('takes a program written in any language', async () => {
    const path = script(
      'deny.sh',
      '#!/bin/sh\ncat > /dev/null\necho \'{"decision":"deny","reason":"from sh"}\'\n',
    )
    expect((await decide(guard([], { command: path }))).outcome).toMatchObject({ reason: 'from sh' })
  })

  it('takes an answer that was given without reading the question', async () => {
    const path = script('deaf.sh', '#!/bin/sh\nexec <&-\necho \'{"decision":"proceed"}\'\n')
    const { op } = start([guard([], { command: path })])
    expect((await callTool(op, { big: 'x'.repeat(500_000) })).outcome.state).toBe('completed')
  })

  const failures: [string, () => Gate, string, RegExp][] = [
    ['is not found', () => guard([], { command: `${folder}/none` }), 'gate_error', /was not found/],
    ['is not on the PATH', () => guard([], { command: 'no-such-guard' }), 'gate_error', /was not found/],
    ['has no folder', () => guard(['proceed'], { cwd: `${folder}/none` }), 'gate_error', /does not exist/],
    [
      'is not executable',
      () => guard([], { command: script('plain', '#!/bin/sh\n', 0o644) }),
      'gate_error',
      /is not executable/,
    ],
    ['is a folder', () => guard([], { command: folder }), 'gate_error', /is not executable/],
    ['exits with 1', () => guard(['exit', '1']), 'gate_error', /exit code 1: guard is broken/],
    ['exits with 2', () => guard(['exit', '2']), 'gate_error', /exit code 2/],
    ['is killed', () => guard(['killed']), 'gate_error', /killed by SIGTERM/],
    [
      'has Windows line ends',
      () => guard([], { command: script('crlf', '#!/bin/sh\r\necho\r\n') }),
      'gate_error',
      /first line of .*crlf names was not found/,
    ],
    [
      'has Windows line ends, and is named from its folder',
      () => guard([], { command: `./${basename(script('crlf', '#!/bin/sh\r\necho\r\n'))}`, cwd: folder }),
      'gate_error',
      /first line of .*crlf names was not found/,
    ],
    [
      'is written as for a shell',
      () => guard([], { command: `${process.execPath} --version` }),
      'gate_error',
      /no shell reads it, so that what follows the program goes into `args`/,
    ],
    ['is slow', () => guard(['slow'], { timeoutMs: 300 }), 'gate_timeout', /no decision within 300 ms/],
    ['floods its output', () => guard(['flood']), 'gate_error', /more than 1048576 bytes/],
    ['answers nothing', () => guard(['answer', '']), 'gate_invalid', /is not JSON/],
    ['answers no JSON', () => guard(['answer', 'yes']), 'gate_invalid', /is not JSON: "yes"/],
    [
      'answers two objects',
      () => guard(['answer', '{"decision":"proceed"}{"decision":"deny"}']),
      'gate_invalid',
      /is not JSON/,
    ],
    ['answers a list', () => guard(['answer', '[]']), 'gate_invalid', /expected a decision object/],
    [
      'answers an unknown field',
      () => guard(['answer', '{"decision":"proceed","patches":[]}']),
      'gate_invalid',
      /unknown field `patches`/,
    ],
    [
      'answers a wrong type',
      () => guard(['answer', '{"decision":"deny","stop":"yes"}']),
      'gate_invalid',
      /`stop` to be a boolean/,
    ],
    [
      'answers what is no UTF-8',
      () =>
        guard([], {
          command: script('latin1', `#!/bin/sh\nprintf '{"decision":"mutate","payload":{"q":"\\377"}}'\n`),
          args: [],
        }),
      'gate_invalid',
      /is not UTF-8/,
    ],
    [
      'is asked too much',
      () => guard(['proceed'], { maxBodyBytes: 10 }),
      'gate_error',
      /bytes, more than 10/,
    ],
  ]

  it.each(failures)('denies when the command %s', async (_name, make, code, reason) => {
    const { outcome, ran } = await decide(make())
    expect(ran).toEqual([])
    expect(outcome).toMatchObject({ state: 'denied', code, reason: expect.stringMatching(reason) })
    expect(JSON.parse(outcome.toToolMessage().content)).toMatchObject({ denied: true, code })
  })

  it.each(failures)(
    'lets the call through when the command %s, if the user wrote so',
    async (_name, make) => {
      const { outcome } = await decide({ ...make(), onFailure: 'proceed' })
      expect(outcome.state).toBe('completed')
    },
  )

  it('leaves no process of its group behind', async () => {
    const { outcome } = await decide(guard(['leave-child']))
    const pid = Number((outcome as { reason: string }).reason)
    await expect.poll(() => isAlive(pid)).toBe(false)
  })

  it('lets go of what left the group, so that this process can end', async () => {
    const guarded = script('escaped.sh', '#!/bin/sh\nsetsid sleep 20 &\nsleep 0.1\n')
    const pipes = () => process.getActiveResourcesInfo().filter((name) => name === 'PipeWrap').length
    const before = pipes()
    const { outcome } = await decide(guard([], { command: guarded, timeoutMs: 300 }))
    expect(outcome).toMatchObject({ state: 'denied', code: 'gate_timeout' })
    await expect.poll(pipes).toBe(before)
  })

  it('takes the answer of a command that has ended, whatever it left holding its output', async () => {
    const guarded = script(
      'daemon.sh',
      '#!/bin/sh\nsetsid sleep 20 &\nsleep 0.1\necho \'{"decision":"deny","code":"mine"}\'\n',
    )
    const { outcome } = await decide(guard([], { command: guarded, onFailure: 'proceed' }))
    expect(outcome).toMatchObject({ state: 'denied', code: 'mine' })
  })

  it('takes the answer of what a command left in its place', async () => {
    const answering = '(sleep 0.5; echo \'{"decision":"deny","code":"mine"}\')'
    const guarded = script(
      'launcher.sh',
      `#!/bin/sh\nsetsid sh -c "${answering.replaceAll('"', '\\"')}" &\nsleep 0.1\n`,
    )
    const { outcome } = await decide(guard([], { command: guarded }))
    expect(outcome).toMatchObject({ state: 'denied', code: 'mine' })
  })

  describe('that is asked when a signal comes', () => {
    // Whoever reaps a process that has lost its parent may be busy.
    const SOON = { timeout: 10_000 }
    const asking = async (...ways: string[]) => {
      const pidFile = script('pid', '')
      const program = fileURLToPath(new URL('processes/asking.mjs', import.meta.url))
      const child = spawn(process.execPath, [program, pidFile, ...ways], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      onTestFinished(() => void child.kill('SIGKILL'))
      const ended = once(child, 'exit')
      const said = text(child.stdout)
      return { pid: async () => Number(readFileSync(pidFile, 'utf8')), child, ended, said }
    }

    it.each([
      ['SIGTERM', []],
      ['SIGINT', []],
      ['SIGHUP', []],
      ['SIGTERM', ['traces']],
      ['SIGINT', ['traces']],
    ] as const)('ends with its program, which %s ends as ever: %j', async (signal, ways) => {
      const { pid, child, ended } = await asking(...ways)
      await expect.poll(pid, SOON).toBeGreaterThan(0)
      const asked = await pid()
      child.kill(signal)
      expect(await ended).toEqual([null, signal])
      await expect.poll(() => isAlive(asked), SOON).toBe(false)
    })

    it('goes on where the program hears the signal itself', async () => {
      const { pid, child, ended, said } = await asking('listens', 'late')
      await expect.poll(pid, SOON).toBeGreaterThan(0)
      const asked = await pid()
      child.kill('SIGTERM')
      expect(await ended).toEqual([7, null])
      expect(await said).toBe('heard\n')
      await expect.poll(() => isAlive(asked), SOON).toBe(false)
    })

    it.each(['late', 'missing'])('leaves nobody listening to signals when it is over: %s', async (way) => {
      const { ended, said } = await asking(way)
      expect(await ended).toEqual([0, null])
      expect(await said).toBe('denied 0 0 0\n')
    })
  })

  it('hands on the trace', async () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    const scope = { run: <T>(fn: () => T) => fn(), end: () => {}, traceparent }
    const { op } = start([guard(['echo'])], { plugin: { instrument: { start: () => scope } } })
    const [{ env, question }] = (await callTool(op)).ran as [{ env: object; question: object }]
    expect(env).toMatchObject({ TRACEPARENT: traceparent })
    expect(question).toMatchObject({ traceparent })
  })

  it('is an activity of its own in a trace, and a gate of this process is a note on the call', async () => {
    const seen: unknown[] = []
    const { op } = start([gate('beforeToolCall', () => proceed(), { id: 'inner' }), guard(['proceed'])], {
      plugin: {
        instrument: {
          start: (activity) => ({
            run: (fn) => fn(),
            annotate: (note) => void seen.push([activity.kind, note]),
            end: (end) => void seen.push([activity.kind, end.kind === 'gate' ? end.gate : undefined]),
          }),
        },
      },
    })
    await callTool(op)
    expect(seen).toMatchObject([
      ['tool', { kind: 'gate', record: { gateId: 'inner' } }],
      ['gate', { gateId: 'guard', decision: 'proceed' }],
      ['tool', undefined],
    ])
  })

  it('proves that the command starts and answers', async () => {
    const { signal } = new AbortController()
    await expect(guard(['proceed']).check?.({ signal })).resolves.toBeUndefined()
    await expect(guard(['exit', '1']).check?.({ signal })).rejects.toThrow('exit code 1')
  })

  it.each<[string, Partial<CommandGateOptions>]>([
    ['an empty command', { command: '' }],
    ['a command with a null byte', { command: 'a\0b' }],
    ['arguments that are no list', { args: 'x' as never }],
    ['an argument that is no text', { args: [1 as never] }],
    ['a variable that is no text', { env: { A: 1 as never } }],
    ['a variable with = in its name', { env: { 'A=B': '1' } }],
  ])('refuses %s at once', (_name, options) => {
    expect(() => guard([], options)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }))
  })
})

/** What was killed may stay as a zombie where nobody reaps it. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}
