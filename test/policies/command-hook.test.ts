import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HookDispatcher } from 'hookspan'
import { commandHooks, loadConfig } from 'hookspan/policies'
import { afterAll, describe, expect, it } from 'vitest'

const folder = mkdtempSync(join(tmpdir(), 'hookspan-command-hook-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** Appends what it is told to the file that it is given, and ends with the code that it is given. */
const WRITER = `
let told = ''
process.stdin.on('data', (chunk) => (told += chunk)).on('end', () => {
  require('node:fs').appendFileSync(process.argv[1], told + ' ' + JSON.stringify(Object.keys(process.env)) + '\\n')
  process.stdout.write('{"decision":"deny"}')
  process.exit(Number(process.argv[2] ?? 0))
})
`
const program = (path: string, code = 0) => ({
  command: process.execPath,
  args: ['-e', WRITER, path, String(code)],
})
const linesOf = (path: string) =>
  readFileSync(path, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line.slice(0, line.lastIndexOf(' ['))))

async function runOnce(dispatcher: HookDispatcher) {
  const op = dispatcher.startOperation({ operationId: 'op', agentName: 'support' })
  const outcome = await op.toolCall({ toolCallId: 't1', apiName: 'search', args: { q: 1 } }, () => 'found')
  await op.complete()
  await dispatcher.drain(undefined, { timeoutMs: 60_000 })
  return outcome
}

describe('commandHooks', { timeout: 120_000 }, () => {
  it('tells a program each event of its types, and the agent takes no notice of it', async () => {
    process.env.HOOKSPAN_TEST_SECRET = 'hidden'
    const path = join(folder, 'all.txt')
    const dispatcher = new HookDispatcher()
    const hooks = commandHooks({
      ...{ id: 'audit', types: ['beforeToolCall', 'onComplete'], ...program(path) },
      fields: ['operationId', 'apiName', 'reason'] as never,
    })
    expect(hooks.map(({ id, type }) => [id, type])).toEqual([
      ['audit:beforeToolCall', 'beforeToolCall'],
      ['audit:onComplete', 'onComplete'],
    ])
    dispatcher.use({ name: 'test', hooks })
    expect(await runOnce(dispatcher)).toMatchObject({ state: 'completed', result: 'found' })
    delete process.env.HOOKSPAN_TEST_SECRET
    // The two are queues of their own.
    expect(linesOf(path).sort((a, b) => (a.type < b.type ? -1 : 1))).toEqual([
      {
        ...{ id: expect.stringMatching(/^op\.\d+\.audit$/), type: 'beforeToolCall' },
        event: { operationId: 'op', apiName: 'search' },
      },
      {
        ...{ id: expect.stringMatching(/^op\.\d+\.audit$/), type: 'onComplete' },
        event: { operationId: 'op', reason: 'done' },
      },
    ])
    expect(readFileSync(path, 'utf8')).not.toContain('HOOKSPAN_TEST_SECRET')
  })

  it('reports a program that fails, and one that is not there, as hooks that fail', async () => {
    const failures: string[] = []
    const dispatcher = new HookDispatcher({
      onHookError: ({ hookId, error }) => failures.push(`${hookId}: ${(error as Error).message}`),
    })
    dispatcher.use({
      name: 'test',
      hooks: [
        ...commandHooks({ id: 'bad', types: ['onComplete'], ...program(join(folder, 'bad.txt'), 3) }),
        ...commandHooks({ id: 'gone', types: ['onComplete'], command: 'no-such-program' }),
      ],
    })
    expect(await runOnce(dispatcher)).toMatchObject({ state: 'completed' })
    expect(failures.sort()).toEqual([
      'bad:onComplete: it ended with exit code 3',
      'gone:onComplete: the command no-such-program was not found',
    ])
  })

  it('comes out of an entry of a config file, whose folder it runs in', async () => {
    const path = join(folder, 'config.txt')
    writeFileSync(
      join(folder, 'writer.cjs'),
      WRITER.replaceAll('argv[1]', 'argv[2]').replaceAll('argv[2] ??', 'argv[3] ??'),
    )
    const file = join(folder, 'hookspan.config.json')
    const entry = { id: 'audit', type: 'command', command: process.execPath, args: ['writer.cjs', path] }
    const load = (more: object) => {
      writeFileSync(file, JSON.stringify({ hooks: [{ ...entry, ...more }] }))
      return loadConfig({ file, userFile: false })
    }
    const dispatcher = new HookDispatcher()
    dispatcher.use((await load({ on: ['onComplete'], fields: ['reason'] })).plugin)
    await runOnce(dispatcher)
    expect(linesOf(path)).toMatchObject([{ type: 'onComplete', event: { reason: 'done' } }])

    await expect(load({ on: 'onFinish' })).rejects.toThrow(/onFinish/)
    await expect(load({ on: 'onComplete', command: '../out' })).rejects.toThrow(/leads out of/)
    await expect(load({ on: 'onComplete', comand: 'x' })).rejects.toThrow(/unknown field .*"comand".*command/)
  })

  it.each([
    ['no types', { types: [] }, /types/],
    ['one type twice', { types: ['onComplete', 'onComplete'] }, /each once/],
    ['a program with spaces around', { command: ' ls' }, /to be a program/],
    ['fields that no event has', { fields: ['nope'] }, /nope/],
  ])('refuses %s', (_what, more, message) => {
    expect(() => commandHooks({ id: 'x', types: ['onComplete'], command: 'ls', ...more } as never)).toThrow(
      message,
    )
  })
})
