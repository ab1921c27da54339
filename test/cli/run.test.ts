import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  closeSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { startScriptedServer } from 'hookspan/mock'
import { startViewer } from 'hookspan/viewer'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startCollector } from '../support/collector.ts'
import { freePort } from '../support/free-port.ts'
import { receivedTree, registered as registeredIn } from '../support/registered.ts'
import { runCli } from '../support/run-cli.ts'

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const program = (name: string) => at(`../register/processes/${name}`)
/** Loader hooks of a program's own, in its thread and beside it. */
const HOOKS = `data:text/javascript,${encodeURIComponent(`
import { register, registerHooks } from 'node:module'
registerHooks({ resolve: (...all) => all[2](all[0], all[1]), load: (...all) => all[2](all[0], all[1]) })
register('data:text/javascript,export const load = (url, context, next) => next(url, context)')
`)}`
const BIN = at('../../dist/cli/bin.js')
const REGISTER = at('../../dist/register/index.js')
/** Newer ones guard the network, too. */
const NET = process.allowedNodeEnvironmentFlags.has('--allow-net') ? ['--allow-net'] : []
const TSX = import.meta.resolve('tsx')

let collector: Awaited<ReturnType<typeof startCollector>>
let model: Awaited<ReturnType<typeof startScriptedServer>>
let env: Record<string, string>
beforeAll(async () => {
  model = await startScriptedServer({ respond: () => ({ content: 'It is on its way.' }) })
})
afterAll(() => model.close())
beforeEach(async () => {
  collector = await startCollector()
  env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OPENAI_API_KEY: 'none',
    OPENAI_BASE_URL: model.baseURL,
    HOOKSPAN_CONFIG_HOME: '/nowhere',
  }
})
afterEach(() => collector.stop())

/** `node --import hookspan/register FILE`. */
function registered(name: string, more: { args?: string[]; cwd?: string } = {}) {
  return registeredIn(name.startsWith('/') ? name : program(name), { env, ...more })
}

const spansOf = () => receivedTree(collector.spans)

const RUN = ['invoke_agent', '  step 0', '    chat', '    execute_tool wipe', '  step 1', '    chat']
const turnsOf = (tool: string) => [
  '  step 0',
  '    chat ScriptedModel',
  `    execute_tool ${tool}`,
  '  step 1',
  '    chat ScriptedModel',
]
const shape = (names: string[]) => names.map((name) => name.replace(/(invoke_agent|chat) .*/, '$1'))

describe('node --import hookspan/register', () => {
  it('attaches to a loop on the openai client: calls that go on from another are one run', async () => {
    const { code, stdout, stderr } = await registered('chat.mjs')

    expect({ code, stdout }).toEqual({ code: 0, stdout: 'It is on its way.\nIt is on its way.\n' })
    expect(spansOf().sort()).toEqual(
      [
        'invoke_agent chat.mjs',
        '  chat gpt-4o',
        '  chat gpt-4o',
        'invoke_agent chat.mjs',
        '  chat gpt-4o',
      ].sort(),
    )
    expect(stderr).toMatch(/^hookspan: 2 runs, the last: sent to http/)
  })

  it('attaches where the program uses require()', async () => {
    const { code, stdout } = await registered('chat.cjs')

    expect({ code, stdout }).toEqual({ code: 0, stdout: 'It is on its way.\n' })
    expect(spansOf()).toEqual(['invoke_agent chat.cjs', '  chat gpt-4o'])
  })

  it.each(['agents.mjs', 'agents.cjs'])('attaches to the Agents SDK and its global run: %s', async (name) => {
    const { code, stdout } = await registered(name)

    expect({ code, stdout }).toEqual({ code: 0, stdout: 'all is wiped\ndone\n' })
    expect(shape(spansOf())).toEqual(RUN)
  })

  it('attaches to the AI SDK', async () => {
    const { code, stdout } = await registered('ai-sdk.mjs')

    expect({ code, stdout }).toEqual({ code: 0, stdout: 'hello\n' })
    expect(shape(spansOf())).toEqual(['invoke_agent', '  step 0', '    chat'])
  })

  it('takes the handling of a request for a run', async () => {
    const { code } = await registered('server.mjs')

    expect(code).toBe(0)
    const each = (path: string) => [`invoke_agent GET ${path}`, '  chat gpt-4o', '  chat gpt-4o']
    expect(spansOf().sort()).toEqual([...each('/a'), ...each('/b')].sort())
  })

  it('tells conversations apart by their ids', async () => {
    const { code, stdout, stderr } = await registered('conversations.mjs')

    expect({ code, stdout }, stderr).toEqual({ code: 0, stdout: 'It is on its way.\n' })
    const run = 'invoke_agent conversations.mjs'
    const runs = [
      run,
      '  chat gpt-4o',
      '  chat gpt-4o',
      run,
      '  chat gpt-4o',
      run,
      '  chat gpt-4o',
      '  chat gpt-4o',
    ]
    expect(spansOf().sort()).toEqual(runs.sort())
    const ofRuns = collector.spans.filter(({ name }) => name.startsWith('invoke_agent'))
    expect(ofRuns.map(({ attributes }) => attributes['gen_ai.conversation.id']).sort()).toEqual([
      'conv_7',
      'conv_8',
      undefined,
    ])
  })

  it('ends no run of a script whose call has no answer yet, however many are open', async () => {
    const { code, stdout, stderr } = await registered('many-calls.mjs')

    expect({ code, stdout }, stderr).toEqual({ code: 0, stdout: '120 answers\n' })
    const calls = collector.spans.filter(({ name }) => name.startsWith('chat'))
    expect(calls).toHaveLength(120)
    expect(calls.filter(({ attributes }) => 'error.type' in attributes)).toEqual([])
  })

  it('keeps the code of a program that calls process.exit(), and delivers its runs', async () => {
    const { code, stdout } = await registered('chat.mjs', { args: ['3'] })

    expect({ code, stdout }).toEqual({ code: 3, stdout: 'It is on its way.\nIt is on its way.\n' })
    expect(spansOf()).toHaveLength(5)
  })

  it.each([
    ['SIGINT', []],
    ['SIGTERM', []],
    ['SIGTERM', ['finishes']],
  ] as const)('ends at %s as without us, beside what else listens: %s', async (signal, args) => {
    const interrupted = async (...options: string[]) => {
      const child = spawn(process.execPath, [...options, program('at-work.mjs'), ...args], {
        env: { ...process.env, ...env },
      })
      const stdout = text(child.stdout)
      await once(child.stdout, 'readable')
      child.kill(signal)
      return { ended: await once(child, 'close'), stdout: await stdout }
    }
    const observed = await interrupted(`--import=${at('../../dist/register/index.js')}`)

    expect(observed).toEqual(await interrupted())
    // What is on its way as the signal comes is sent again where the answer is late, as on a busy machine.
    const each = new Map(collector.spans.map((span) => [span.spanId, span]))
    expect(receivedTree([...each.values()])).toEqual([
      'invoke_agent worker',
      ...turnsOf('work').slice(0, args.length === 0 ? 3 : undefined),
    ])
  })

  it('leaves a program its own OpenTelemetry SDK', async () => {
    const { code, stdout, stderr } = await registered('own-otel.mjs')

    expect({ code, stdout }).toEqual({ code: 0, stdout: 'chat gpt-4o\n' })
    expect(stderr).toContain('traced by the OpenTelemetry SDK of the program')
    expect(collector.spans).toEqual([])
  })

  it('lets a program start tracing of its own after its first run, and says where that goes', async () => {
    const { code, stdout, stderr } = await registered('own-tracing-late.mjs')

    expect({ code, stdout }, stderr).toEqual({ code: 0, stdout: 'done\n' })
    expect(stderr).toContain(`its spans go to ${collector.url}/v1/traces, as those of that run`)
    expect(spansOf()).toEqual(expect.arrayContaining(['invoke_agent own', '  chat gpt-4o']))
  })

  it('says that the sampler of that left its runs out', async () => {
    env.OTEL_TRACES_SAMPLER = 'always_off'
    const { stderr } = await registered('own-otel-shut.mjs')

    expect(stderr).toContain('1 run: left out by the sampler of the OpenTelemetry SDK of the program')
  })

  it('ends its runs before that is shut down', async () => {
    const { code, stdout } = await registered('own-otel-shut.mjs')

    expect({ code, stdout }).toEqual({ code: 0, stdout: 'chat gpt-4o,invoke_agent own-otel-shut.mjs\n' })
  })

  it('attaches to what withOptions() makes of an attached client once', async () => {
    const { code, stderr } = await registered('with-options.mjs')

    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(/^hookspan: 2 runs.*\n$/) })
    expect(collector.spans.filter(({ name }) => name === 'chat gpt-4o')).toHaveLength(2)
  })

  it('holds the gates of hookspan.config.*', async () => {
    const cwd = mkdtempSync(join(tmpdir(), 'hookspan-'))
    const gates = [{ id: 'no-wiping', type: 'toolPolicy', deny: ['wipe'] }]
    writeFileSync(join(cwd, 'hookspan.config.json'), JSON.stringify({ gates }))

    for (const name of ['agents.mjs', 'agents.cjs']) {
      const { code, stdout, stderr } = await registered(name, { cwd })
      expect({ name, code, stdout }, stderr).toEqual({ name, code: 0, stdout: 'done\n' })
    }
  })

  it.each([
    ['a gate', { gates: [{ point: 'beforeLlmCall' }] }, 3],
    ['a hook', { hooks: [{ on: 'onComplete' }] }, 2],
  ])(
    'runs the program of %s, which asks a model, without asking it about itself',
    async (_what, config, times) => {
      const cwd = mkdtempSync(join(tmpdir(), 'hookspan-'))
      const log = join(cwd, 'asked.log')
      const command = { id: 'judge', type: 'command', command: process.execPath, inheritEnv: true }
      // A program that starts beside others may take longer than a gate waits.
      const judge = { ...command, args: [program('judge.mjs'), log], timeoutMs: 60_000 }
      const guards = Object.entries(config).map(([kind, [more]]) => [kind, [{ ...judge, ...more }]])
      writeFileSync(join(cwd, 'hookspan.config.json'), JSON.stringify(Object.fromEntries(guards)))

      const attaching = { ...env, NODE_OPTIONS: `--import=${REGISTER}` }
      const { code, stdout, stderr } = await registeredIn(program('chat.mjs'), { env: attaching, cwd })
      expect({ code, stdout }, stderr).toEqual({ code: 0, stdout: 'It is on its way.\n'.repeat(2) })
      const asked = () => readFileSync(log, 'utf8').trim().split('\n').length
      await expect.poll(asked).toBe(times)
      await new Promise((wait) => setTimeout(wait, 1_000))
      expect(asked()).toBe(times)
    },
  )

  it('keeps no gate waiting for a collector that hangs', async () => {
    const hanging = createServer(() => {}).listen(0, '127.0.0.1')
    await once(hanging, 'listening')
    const { port } = hanging.address() as AddressInfo
    const log = join(mkdtempSync(join(tmpdir(), 'hookspan-')), 'asked.log')
    const sending = {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
      HOOKSPAN_RUN_ASKED_FOR: 'judge',
    }
    const judged = async (more: object) => {
      const begunAt = performance.now()
      const told = await registeredIn(program('judge.mjs'), { env: { ...env, ...more }, args: [log] })
      return { ...told, tookMs: performance.now() - begunAt }
    }
    const alone = await judged({})
    const { code, stderr, tookMs } = await judged(sending)
    hanging.close()
    hanging.closeAllConnections()
    expect(code, stderr).toBe(0)
    expect(stderr).toContain('Spans cannot be delivered')
    // The default of a gate is 5,000 ms, of which the program itself takes as much as the machine lets it.
    expect(tookMs - alone.tookMs).toBeLessThan(4_000)
  })

  it('holds the mocks of hookspan.config.*', async () => {
    const cwd = mkdtempSync(join(tmpdir(), 'hookspan-'))
    const hooks = [{ id: 'clean', type: 'mock', match: 'wipe', returns: 'as if' }]
    writeFileSync(join(cwd, 'hookspan.config.json'), JSON.stringify({ hooks }))

    for (const name of ['agents.mjs', 'agents.cjs']) {
      const { code, stdout, stderr } = await registered(name, { cwd })
      expect({ name, code, stdout }, stderr).toEqual({ name, code: 0, stdout: 'done\n' })
    }
    expect(
      collector.spans.filter(({ attributes }) => attributes['hookspan.mock.rule'] === 'clean'),
    ).toHaveLength(2)
  })

  it.each([
    ['before', `--import=${REGISTER}`, `--import=${TSX}`],
    ['behind', `--import=${TSX}`, `--import=${REGISTER}`],
  ])('holds them %s tsx, which takes over how modules are read', async (_where, command, second) => {
    const cwd = mkdtempSync(join(tmpdir(), 'hookspan-'))
    const gates = [{ id: 'no-wiping', type: 'toolPolicy', deny: ['wipe'] }]
    writeFileSync(join(cwd, 'hookspan.config.json'), JSON.stringify({ gates }))

    for (const [name, said] of [
      ['agents.mjs', 'done\n'],
      ['agents.cjs', 'done\n'],
      ['chat.mjs', 'It is on its way.\nIt is on its way.\n'],
    ] as const) {
      const { code, stdout, stderr } = await runCli([second, program(name)], { command, env, cwd })
      expect({ name, code, stdout }, stderr).toEqual({ name, code: 0, stdout: said })
    }
    expect(shape(spansOf()).filter((name) => name === 'invoke_agent')).toHaveLength(4)
  })

  it('does not start a program whose guards cannot start', async () => {
    const cwd = mkdtempSync(join(tmpdir(), 'hookspan-'))
    writeFileSync(join(cwd, 'hookspan.config.json'), '{"gates":[{"id":"a","type":"toolPolcy"}]}')

    const { code, stdout, stderr } = await registered('agents.mjs', { cwd })

    expect(code).not.toBe(0)
    expect(stdout).toBe('')
    expect(stderr).toContain('toolPolcy')
  })

  it('says that it attaches nothing on a Node that is too old, and leaves out no guard', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'hookspan-'))
    const old = join(folder, 'old.mjs')
    writeFileSync(old, "import Module from 'node:module'\ndelete Module.registerHooks\n")
    const options = { env: { ...env, NODE_OPTIONS: `--import=${old}` } }
    const plain = await registeredIn(program('chat.cjs'), options)

    expect({ code: plain.code, stdout: plain.stdout }).toEqual({ code: 0, stdout: 'It is on its way.\n' })
    expect(plain.stderr).toMatch(
      /^hookspan: this is Node \S+, and hookspan needs .+: nothing is attached\.\n$/,
    )

    writeFileSync(join(folder, 'hookspan.config.json'), '{"version":1,"gates":[]}')
    const guarded = await registeredIn(program('chat.cjs'), { ...options, cwd: folder })
    expect({ code: guarded.code, stdout: guarded.stdout }).toEqual({ code: 1, stdout: '' })
    expect(guarded.stderr).toContain('the hookspan.config.* of this project could not hold')
  })

  it('says that it attaches nothing where require() takes no ES modules, and leaves out no guard', async () => {
    const command = '--no-experimental-require-module'
    const args = [`--import=${REGISTER}`, program('chat.cjs')]
    const plain = await runCli(args, { env, command })

    expect({ code: plain.code, stdout: plain.stdout }).toEqual({ code: 0, stdout: 'It is on its way.\n' })
    expect(plain.stderr).toMatch(/^hookspan: this Node runs without require.*: nothing is attached\.\n$/)

    const cwd = mkdtempSync(join(tmpdir(), 'hookspan-'))
    writeFileSync(join(cwd, 'hookspan.config.json'), '{"version":1,"gates":[]}')
    const guarded = await runCli(args, { env, command, cwd })
    expect({ code: guarded.code, stdout: guarded.stdout }).toEqual({ code: 1, stdout: '' })
    expect(guarded.stderr).toContain('the hookspan.config.* of this project could not hold')
  })

  it('does not start where nobody may see whether there are guards, and says what to allow', async () => {
    const cwd = mkdtempSync(join(tmpdir(), 'hookspan-'))
    // What is read of hookspan and the program, but no config: it may be looked for in more folders than are named here.
    const allowed = ['../../dist', '../../node_modules', '../../package.json', '../register']
    const args = [...NET, ...allowed.map((path) => `--allow-fs-read=${at(path)}`), `--import=${REGISTER}`]
    const run = (...more: string[]) =>
      runCli([...more, ...args, program('chat.cjs')], { env, cwd, command: '--permission' })

    const asked: string[] = []
    for (let last = await run(); last.code !== 0 && asked.length < 9; last = await run(...asked)) {
      const [, flag] =
        / let Node look there: (--allow-fs-read=\S+hookspan\.config\.\*)/.exec(last.stderr) ?? []
      expect(flag, last.stderr).toBeDefined()
      asked.push(flag ?? '')
    }
    expect(asked[0]).toBe('--allow-fs-read=/nowhere/hookspan.config.*')
    expect((await run(...asked)).stdout).toBe('It is on its way.\n')
  })

  it('goes on without us where a part of ours cannot be loaded, but not without its guards', async () => {
    const torn = `data:text/javascript,${encodeURIComponent(`
      import { registerHooks } from 'node:module'
      registerHooks({
        resolve(specifier, context, next) {
          if (specifier.endsWith('/adapters/peer-range.js')) throw new Error('it is torn')
          return next(specifier, context)
        },
      })`)}`
    const args = [`--import=${REGISTER}`, program('chat.cjs')]
    const run = (cwd?: string) => runCli(args, { env, command: `--import=${torn}`, ...(cwd && { cwd }) })
    const plain = await run()

    expect({ code: plain.code, stdout: plain.stdout }).toEqual({ code: 0, stdout: 'It is on its way.\n' })
    expect(plain.stderr).toContain('hookspan: openai could not be attached: it is torn')

    const cwd = mkdtempSync(join(tmpdir(), 'hookspan-'))
    writeFileSync(join(cwd, 'hookspan.config.json'), '{"version":1,"gates":[]}')
    const guarded = await run(cwd)
    expect({ code: guarded.code, stdout: guarded.stdout }).toEqual({ code: 1, stdout: '' })
    expect(guarded.stderr).toContain('the hookspan.config.* of this project could not hold in it')
  })

  it.each(['the program', 'a framework'])(
    'says so of an ES module that nobody but %s imports, once, and does not go without its guards',
    async (who) => {
      const cwd = mkdtempSync(join(tmpdir(), 'hookspan-'))
      const install = (name: string, source: string) => {
        const folder = join(cwd, 'node_modules', name)
        mkdirSync(folder, { recursive: true })
        const manifest = { name, version: '4.104.0', type: 'module', exports: './index.js' }
        writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest))
        writeFileSync(join(folder, 'index.js'), source)
      }
      install('openai', `export class OpenAI { post() { console.log('asked') } }`)
      const asking = `import { OpenAI } from 'openai'\nnew OpenAI().post()`
      install('framework', asking)
      const file = join(cwd, 'old.mjs')
      writeFileSync(file, who === 'the program' ? asking : `import 'framework'`)

      const { code, stdout, stderr } = await registered(file)
      expect({ code, stdout }, stderr).toEqual({ code: 0, stdout: 'asked\n' })
      expect(stderr).toContain('openai 4.104.0 is not attached: hookspan knows')

      const gates = [{ id: 'no-wiping', type: 'toolPolicy', deny: ['wipe'] }]
      writeFileSync(join(cwd, 'hookspan.config.json'), JSON.stringify({ gates }))
      const guarded = await registered(file, { cwd })
      expect({ code: guarded.code, stdout: guarded.stdout }).toEqual({ code: 1, stdout: '' })
      expect(guarded.stderr).toContain('Gate "no-wiping" decides of hookspan.config.*')
    },
  )

  it('says what it does not attach, in one line each, and the program goes on: not without its guards', async () => {
    const cwd = mkdtempSync(join(tmpdir(), 'hookspan-'))
    for (const [name, version] of [
      ['openai', '5.1.0'] as const,
      ['@langchain/langgraph', '1.5.0'] as const,
    ]) {
      const folder = join(cwd, 'node_modules', name)
      mkdirSync(folder, { recursive: true })
      writeFileSync(join(folder, 'package.json'), JSON.stringify({ name, version, main: 'index.js' }))
      writeFileSync(join(folder, 'index.js'), `module.exports = '${name}'`)
    }
    const file = join(cwd, 'old.cjs')
    writeFileSync(file, `console.log(require('openai'), require('@langchain/langgraph'), require('openai'))`)

    const { code, stdout, stderr } = await registered(file)

    expect({ code, stdout }).toEqual({ code: 0, stdout: 'openai @langchain/langgraph openai\n' })
    expect(stderr.trim().split('\n')).toEqual([
      expect.stringContaining('openai 5.1.0 is not attached: hookspan knows'),
      expect.stringContaining('@langchain/langgraph is not attached: hand hookspanCallbacks'),
    ])

    const gates = [{ id: 'no-wiping', type: 'toolPolicy', deny: ['wipe'] }]
    writeFileSync(join(cwd, 'hookspan.config.json'), JSON.stringify({ gates }))
    const guarded = await registered(file, { cwd })
    expect({ code: guarded.code, stdout: guarded.stdout }).toEqual({ code: 1, stdout: '' })
    expect(guarded.stderr).toMatch(/openai 5\.1\.0 is not attached: .*Gate "no-wiping" decides/)
  })
})

describe('hookspan run', () => {
  const run = (...args: string[]) => runCli(['run', ...args], { env })

  it('runs a program as it is, and says where its runs went', async () => {
    const { code, stdout, stderr } = await run('--', process.execPath, program('chat.mjs'), '7')

    expect({ code, stdout }).toEqual({ code: 7, stdout: 'It is on its way.\nIt is on its way.\n' })
    expect(spansOf()).toHaveLength(5)
    expect(stderr).toContain(`spans are sent to ${collector.url}`)
    expect(stderr).toMatch(/attached openai 7\./)
  })

  it('says that spans were not taken where something answers that is no collector', async () => {
    const web = createServer((_request, response) => response.writeHead(404).end('<html>')).listen(0)
    await once(web, 'listening')
    env.OTEL_EXPORTER_OTLP_ENDPOINT = `http://127.0.0.1:${(web.address() as AddressInfo).port}`
    const { code, stderr } = await run('--', process.execPath, program('chat.mjs'), '7')
    web.close()

    expect(code).toBe(7)
    expect(stderr).toMatch(/hookspan: 2 runs, the last: not taken by http/)
    expect(stderr).toMatch(/attached openai 7\.\S+ Not all spans were taken\./)
    expect(stderr).not.toMatch(/[Ww]ere sent to|: sent to/)
  })

  it('attaches to TypeScript that tsx runs, by import and by require()', async () => {
    const tsx = at('../../node_modules/.bin/tsx')
    const shapes = {
      'typed.ts': ['invoke_agent', '  step 0', '    chat', 'invoke_agent', '  chat'],
      'typed.cts': ['invoke_agent', '  step 0', '    chat'],
    }
    for (const [name, expected] of Object.entries(shapes)) {
      collector.spans.length = 0
      const { code, stdout, stderr } = await run('--', tsx, program(name))
      const said = name === 'typed.ts' ? 'It is on its way.\n' : 'hello\n'
      expect({ name, code, stdout }, stderr).toEqual({ name, code: 0, stdout: said })
      expect(shape(spansOf())).toEqual(expected)
      expect(stderr).toMatch(/attached .*ai 7\./)
    }
  })

  it('leaves a program to who compiles what is required, as ts-node does, and attaches to it', async () => {
    const cwd = mkdtempSync(join(tmpdir(), 'hookspan-'))
    symlinkSync(at('../../node_modules'), join(cwd, 'node_modules'))
    const compiler = `
const { readFileSync } = require('node:fs')
require.extensions['.ts'] = (module, file) =>
  module._compile(readFileSync(file, 'utf8').replace(/import (.*) from (.*)/, 'const $1 = require($2)').replace(/enum.*/, ''), file)`
    const files = {
      'package.json': '{}',
      'compiler.cjs': compiler,
      'asked.ts': "exports.asked = 'Where is it?'",
      'ask.ts': `import { OpenAI } from 'openai'
enum Kind { Chat = 'chat' }
const { asked } = require('./asked')
new OpenAI().chat.completions
  .create({ model: 'gpt-4o', messages: [{ role: 'user', content: asked }] })
  .then(({ choices }) => console.log(choices[0].message.content))
`,
    }
    for (const [name, text] of Object.entries(files)) writeFileSync(join(cwd, name), text)
    const args = ['run', '--', process.execPath, '-r', './compiler.cjs', 'ask.ts']
    const { code, stdout, stderr } = await runCli(args, { env, cwd })
    expect([code, stdout], stderr).toEqual([0, 'It is on its way.\n'])
    expect(stderr).toMatch(/attached openai 7\./)
    expect(shape(spansOf())).toEqual(['invoke_agent', '  chat'])
  })

  it('hears of the requests of a server that tsx runs', async () => {
    const tsx = at('../../node_modules/.bin/tsx')
    const { code, stderr } = await run('--', tsx, program('server.mjs'))

    expect(code, stderr).toBe(0)
    const runs = spansOf().filter((name) => name.startsWith('invoke_agent'))
    expect(runs.sort()).toEqual(['invoke_agent GET /a', 'invoke_agent GET /b'])
  })

  it('attaches to what npm starts, whose own process has nothing to attach', async () => {
    const { code, stdout, stderr } = await runCli(['run', '--', 'npm', 'start', '--silent'], {
      env,
      cwd: program('npm-start'),
    })

    expect({ code, stdout }, stderr).toEqual({ code: 0, stdout: 'It is on its way.\n' })
    expect(spansOf()).toEqual(['invoke_agent chat.cjs', '  chat gpt-4o'])
    expect(stderr).toMatch(/attached openai 7\./)
  })

  it('stands before what NODE_OPTIONS preloads, which may load an SDK', async () => {
    const NODE_OPTIONS = `--import=${program('past/preload.mjs')}`
    const { code, stderr } = await runCli(['run', '--', process.execPath, program('chat.mjs')], {
      env: { ...env, NODE_OPTIONS },
    })

    expect(code, stderr).toBe(0)
    expect(spansOf()).toContain('invoke_agent chat.mjs')
    expect(stderr).not.toContain('not attached')
  })

  it('starts a viewer where nothing listens, and says what shows the run when it has ended', async () => {
    const port = await freePort()
    const db = join(mkdtempSync(join(tmpdir(), 'hookspan-')), 'runs.db')
    const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` }

    const { code, stdout, stderr } = await runCli(
      ['run', '--db', db, '--', process.execPath, program('chat.cjs')],
      { env: { ...env, ...endpoint } },
    )

    expect({ code, stdout }).toEqual({ code: 0, stdout: 'It is on its way.\n' })
    expect(stderr).toContain(`runs are shown at http://127.0.0.1:${port}`)
    // No link to a viewer that has ended by then.
    expect(stderr).not.toContain('/run/')
    const [, show] = /1 run: npx hookspan (show .*)/.exec(stderr) ?? []
    const shown = await runCli(show?.split(' ') ?? [])
    expect(shown.stdout).toContain('chat.cjs')
    expect(shown.stdout).toContain('Where is order 7?')
  })

  it('names no command for a run that no viewer has', async () => {
    const port = await freePort()
    const given = ['run', '--db', '/dev/null/runs.db', '--', process.execPath, program('chat.cjs')]
    const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` }
    const { stdout, stderr } = await runCli(given, { env: { ...env, ...endpoint } })
    expect(stdout).toBe('It is on its way.\n')
    expect(stderr).toContain('hookspan: 1 run: kept nowhere, as no viewer could be started\n')
    expect(stderr).not.toContain('npx hookspan')
  })

  it.each(['a viewer that listens already', '--keep'])(
    'leads to the run in the page of one that stays: %s',
    async (which) => {
      const db = join(mkdtempSync(join(tmpdir(), 'hookspan-')), 'runs.db')
      const port = await freePort()
      const keep = which === '--keep'
      // As it is said: one that is there already by the name that the program is told.
      const link = `http://${keep ? '127.0.0.1' : 'localhost'}:${port}`
      const viewer = keep ? undefined : await startViewer({ db, port })
      const child = spawn(
        process.execPath,
        [BIN, 'run', ...(keep ? ['--keep', '--db', db] : []), '--', process.execPath, program('chat.cjs')],
        {
          env: {
            ...process.env,
            ...env,
            OTEL_EXPORTER_OTLP_ENDPOINT: `http://localhost:${port}`,
            NODE_OPTIONS: '',
            // By npx.
            npm_command: 'exec',
          },
          stdio: ['ignore', 'ignore', 'pipe'],
        },
      )
      let stderr = ''
      for await (const said of child.stderr) {
        stderr += said
        if (keep && stderr.includes('the viewer stays open')) child.kill('SIGINT')
      }
      await viewer?.close()

      expect(stderr).toMatch(new RegExp(`1 run: ${link}/run/[0-9a-f]{32}\n`))
      expect(stderr).toMatch(new RegExp(`attached openai 7\\.[^ ]+ Look at ${link}`))
    },
  )

  it('answers a program that sends before the viewer has been loaded', async () => {
    const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${await freePort()}` }
    const db = join(mkdtempSync(join(tmpdir(), 'hookspan-')), 'runs.db')
    const sends = `const { get } = require('node:http')
      get(process.env.OTEL_EXPORTER_OTLP_ENDPOINT + '/v1/hookspan', (answer) => {
        answer.on('data', (body) => console.log(JSON.parse(body).name))
      })`

    const given = ['run', '--db', db, '--', process.execPath, '-e', sends]

    expect(await runCli(given, { env: { ...env, ...endpoint } })).toMatchObject({
      code: 0,
      stdout: 'hookspan-viewer\n',
    })
  })

  it('runs the program where no viewer can be started, which waits for nobody', async () => {
    const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${await freePort()}` }
    const sends = `fetch(process.env.OTEL_EXPORTER_OTLP_ENDPOINT).catch(() => console.log('nobody'))`

    const given = ['run', '--db', '/dev/null/runs.db', '--', process.execPath, '-e', sends]
    const { code, stdout, stderr } = await runCli(given, { env: { ...env, ...endpoint } })

    expect({ code, stdout }).toEqual({ code: 0, stdout: 'nobody\n' })
    expect(stderr).toContain('no viewer could be started (')
  })

  it('runs the program where nothing temporary can be written, and ends with it', async () => {
    const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${await freePort()}` }
    const db = join(mkdtempSync(join(tmpdir(), 'hookspan-')), 'runs.db')
    const nowhere = { TMPDIR: '/dev/null', TMP: '/dev/null', TEMP: '/dev/null' }

    const given = ['run', '--db', db, '--', process.execPath, program('agents.mjs')]
    const { code, stdout, stderr } = await runCli(given, { env: { ...env, ...endpoint, ...nowhere } })

    expect({ code, stdout }, stderr).toEqual({ code: 0, stdout: 'all is wiped\ndone\n' })
    expect(stderr).toMatch(/^hookspan: what is attached will not be told, .*\/dev\/null/m)
    expect(stderr).toContain(`Look at it with: npx hookspan view --db ${db}`)
    expect((await runCli(['runs', '--db', db])).stdout).toContain('janitor')
  })

  // Before `run`, --debug leads to the parser of all commands.
  it.each([
    [['--', process.execPath, '-p', 'process.argv.slice(1)', '--', '--keep', '--', 'x']],
    [[process.execPath, '-p', 'process.argv.slice(1)', '--', '--db', 'y']],
    [['--', '--db']],
    [['--']],
    [['--db']],
    [['--db', '', '--', 'node']],
    [['--nonsense', '--', 'node']],
    [['--help']],
    [[]],
  ])('reads what is given as the other commands do: %s', async (given) => {
    const [plain, parsed] = await Promise.all([run(...given), runCli(['--debug', 'run', ...given], { env })])

    expect(plain).toEqual(parsed)
  })

  it.each(['SIGINT', 'SIGTERM'] as const)(
    'at %s it shows what was attached, and where to look',
    async (signal) => {
      const port = await freePort()
      const db = join(mkdtempSync(join(tmpdir(), 'hookspan-')), 'runs.db')
      const child = spawn(
        process.execPath,
        [BIN, 'run', '--db', db, '--', process.execPath, program('stays.mjs')],
        {
          env: {
            ...process.env,
            ...env,
            OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
            NODE_OPTIONS: '',
          },
          stdio: ['ignore', 'pipe', 'pipe'],
        },
      )
      const stderr = text(child.stderr)
      await once(child.stdout, 'readable')
      child.kill(signal)

      expect(await once(child, 'close')).toEqual([null, signal])
      expect(await stderr).toMatch(/attached openai 7\..*Look at it with: npx hookspan view --db /)
      expect((await runCli(['runs', '--db', db])).stdout).toMatch(/interrupted +stays\.mjs/)
    },
  )

  it("finds the SDK of OpenTelemetry in the program's folder where npx has fetched hookspan itself", async () => {
    const folder = mkdtempSync(join(tmpdir(), 'hookspan-'))
    const fetched = join(folder, '_npx/1/node_modules')
    const project = join(folder, 'project')
    const modules = (of: string) => at(`../../node_modules/${of}`)
    cpSync(at('../../dist'), join(fetched, 'hookspan/dist'), { recursive: true })
    cpSync(at('../../package.json'), join(fetched, 'hookspan/package.json'))
    mkdirSync(join(fetched, '@opentelemetry'))
    symlinkSync(modules('@opentelemetry/api'), join(fetched, '@opentelemetry/api'))
    mkdirSync(join(project, 'node_modules/@opentelemetry'), { recursive: true })
    symlinkSync(modules('openai'), join(project, 'node_modules/openai'))
    copyFileSync(program('chat.cjs'), join(project, 'chat.cjs'))
    const command = join(fetched, 'hookspan/dist/cli/bin.js')
    const start = () => runCli(['run', '--', process.execPath, 'chat.cjs'], { env, cwd: project, command })

    const without = await start()
    expect({ code: without.code, stdout: without.stdout }).toEqual({ code: 0, stdout: 'It is on its way.\n' })
    expect(without.stderr).toContain('runs are not traced: startTracing() needs @opentelemetry/sdk-node')
    expect(without.stderr).not.toMatch(/1 run|were sent/)
    expect(without.stderr).toMatch(/attached openai 7\..*Not all of it could be traced/)

    symlinkSync(modules('@opentelemetry/sdk-node'), join(project, 'node_modules/@opentelemetry/sdk-node'))
    const { code, stderr } = await start()
    expect({ code, spans: spansOf() }, stderr).toEqual({
      code: 0,
      spans: ['invoke_agent chat.cjs', '  chat gpt-4o'],
    })
  })

  it('says that a program has nothing to attach to whose SDKs are bundled inside', async () => {
    const bundle = join(mkdtempSync(join(tmpdir(), 'hookspan-')), 'bundle.cjs')
    const { build } = await import('esbuild')
    const entryPoints = [program('chat.cjs')]
    await build({
      entryPoints,
      outfile: bundle,
      bundle: true,
      platform: 'node',
      format: 'cjs',
      logLevel: 'silent',
    })
    const { code, stdout, stderr } = await run('--', process.execPath, bundle)

    expect({ code, stdout }, stderr).toEqual({ code: 0, stdout: 'It is on its way.\n' })
    expect(stderr).toMatch(/^hookspan: nothing was attached: .* or has it bundled inside\.$/m)

    const cwd = mkdtempSync(join(tmpdir(), 'hookspan-'))
    writeFileSync(join(cwd, 'hookspan.config.json'), '{"version":1,"gates":[]}')
    const guarded = await runCli(['run', '--', process.execPath, bundle], { env, cwd })
    expect(guarded.stderr).toMatch(/bundled inside\. No gate and no mock of hookspan\.config\.\* held\.$/m)
    expect(collector.spans).toEqual([])
  })

  it('says that nothing was attached', async () => {
    const { code, stdout, stderr } = await run('--', process.execPath, '-p', '1')

    expect({ code, stdout }).toEqual({ code: 0, stdout: '1\n' })
    expect(stderr).toContain('nothing was attached')
  })

  it('says that no run was seen of what the program merely loads, as a framework does that asks its model by itself', async () => {
    const cwd = mkdtempSync(join(tmpdir(), 'hookspan-'))
    writeFileSync(
      join(cwd, 'hookspan.config.json'),
      '{"gates":[{"id":"a","type":"toolPolicy","deny":["wipe"]}]}',
    )
    const load = `import(${JSON.stringify(import.meta.resolve('@modelcontextprotocol/sdk/client/index.js'))})`
    const { code, stderr } = await runCli(['run', '--', process.execPath, '-e', load], { env, cwd })

    expect(code, stderr).toBe(0)
    expect(stderr).toMatch(
      /^hookspan: attached @modelcontextprotocol\/sdk [\d.]+, and saw no run\. No gate and no mock of hookspan\.config\.\* held\.$/m,
    )
  })

  it('says that no process of it was reached, whose NODE_OPTIONS are its own', async () => {
    const { code, stdout, stderr } = await run(
      '--',
      'env',
      'NODE_OPTIONS=',
      process.execPath,
      program('agents.mjs'),
    )

    expect({ code, stdout }, stderr).toEqual({ code: 0, stdout: 'all is wiped\ndone\n' })
    expect(stderr).toMatch(/^hookspan: no process of it said what was attached: .*sets NODE_OPTIONS/m)
  })

  it('attaches under --permission where it may be read, and says so by itself where nothing may be written', async () => {
    const under = (...args: string[]) =>
      run('--', process.execPath, '--permission', ...NET, ...args, program('agents.mjs'))
    const [allowed, forbidden] = await Promise.all([
      under('--allow-fs-read=*'),
      under(`--allow-fs-read=${program('agents.mjs')}`),
    ])

    expect({ code: allowed.code, stdout: allowed.stdout }, allowed.stderr).toEqual({
      code: 0,
      stdout: 'all is wiped\ndone\n',
    })
    expect(allowed.stderr).toMatch(/^hookspan: attached @openai\/agents-core/m)
    expect(shape(spansOf())).toEqual(RUN)
    expect(forbidden.code).toBe(1)
    expect(forbidden.stderr).toContain(`has to let it read ${at('../../dist')}`)
  })

  it.each<[string, readonly string[]]>([
    ['a worker', ['-e', `new worker_threads.Worker(${JSON.stringify(program('agents.mjs'))})`]],
    [
      'a worker without options',
      ['-e', `new worker_threads.Worker(${JSON.stringify(program('agents.mjs'))}, { execArgv: [] })`],
    ],
    ['a fork', ['-e', `child_process.fork(${JSON.stringify(program('agents.mjs'))})`]],
    ['--eval', ['--input-type=module', '-e', `await import(${JSON.stringify(program('agents.mjs'))})`]],
    ['--frozen-intrinsics', ['--frozen-intrinsics', program('agents.mjs')]],
    ['no eval()', ['--disallow-code-generation-from-strings', program('agents.mjs')]],
    ['hooks of its own', ['--import', HOOKS, program('agents.mjs')]],
    ['--test', ['--test', '--test-reporter=dot', program('agents.mjs')]],
  ])('attaches to %s', async (_name, args) => {
    const { code, stderr } = await run('--', process.execPath, ...args)

    expect(code, stderr).toBe(0)
    expect(shape(spansOf())).toEqual(RUN)
    expect(stderr).toContain('hookspan: attached @')
  })

  it.each([
    ['is terminated', 'postMessage(1)', true],
    ['ends by itself', '', false],
  ])('says whether spans may be lost where a worker %s', async (_name, last, lost) => {
    const file = join(mkdtempSync(join(tmpdir(), 'hookspan-')), 'worker.mjs')
    writeFileSync(
      file,
      `import { parentPort } from 'node:worker_threads'
      await import(${JSON.stringify(program('chat.mjs'))})
      ${last && `parentPort.${last}; setInterval(() => {}, 1_000)`}`,
    )
    const main = `const w = new worker_threads.Worker(${JSON.stringify(file)}); w.once('message', () => w.terminate())`
    const ended = await run('--', process.execPath, '-e', main)

    expect(ended.code, ended.stderr).toBe(0)
    expect(ended.stderr).toContain('hookspan: attached openai')
    expect(/a worker thread was ended from outside/.test(ended.stderr), ended.stderr).toBe(lost)
  })

  it('leaves the last word to a process that its config keeps from starting', async () => {
    const cwd = mkdtempSync(join(tmpdir(), 'hookspan-'))
    writeFileSync(join(cwd, 'hookspan.config.json'), '{"gates":[{"id":"a","type":"toolPolcy"}]}')

    const { code, stderr } = await runCli(['run', '--', process.execPath, program('chat.cjs')], { env, cwd })

    expect(code).toBe(1)
    expect(stderr).toContain('Did you mean "toolPolicy"?')
    expect(stderr).not.toContain('no process of it said what was attached')
  })

  it.each(['no-such-command', ''])(
    'says that there is no such command, and no more: "%s"',
    async (command) => {
      const { code, stderr } = await run('--', command)

      expect(code).toBe(127)
      expect(stderr.trim().split('\n').at(-1)).toBe(`hookspan: there is no command "${command}".`)
    },
  )

  it.each(['SIGQUIT', 'SIGUSR1', 'SIGCONT'])(
    'hands %s on, which the program may listen to',
    async (signal) => {
      const listens = `process.once('${signal}', () => process.exit(3)); setTimeout(() => {}, 5_000); console.log('ready')`
      const child = spawn(process.execPath, [BIN, 'run', '--', process.execPath, '-e', listens], {
        env: { ...process.env, ...env, NODE_OPTIONS: '' },
        stdio: ['ignore', 'pipe', 'ignore'],
      })
      await once(child.stdout, 'data')
      child.kill(signal as NodeJS.Signals)

      expect(await once(child, 'close')).toEqual([3, null])
    },
  )

  it('stops with a program that stops itself at Ctrl-Z, as `node:readline` does in a terminal', async () => {
    // In the place of `hookspan run`, which would be stopped: nobody could ask it.
    const parent = `
      process.on('SIGTSTP', () => { console.log('stopped'); child.kill('SIGKILL') })
      setTimeout(() => child.kill('SIGKILL'), 5_000)
      const { spawn } = require('node:child_process')
      const env = { ...process.env, NODE_OPTIONS: '--import=' + process.argv[1], HOOKSPAN_RUN_PID: String(process.pid) }
      const stops = 'process.kill(process.pid, "SIGTSTP"); setTimeout(() => {}, 5_000)'
      const child = spawn(process.execPath, ['-e', stops], { env, stdio: 'inherit' })
      child.on('exit', () => process.exit())`
    const child = spawn(process.execPath, ['-e', parent, REGISTER], {
      env: { ...process.env, ...env, NODE_OPTIONS: '' },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    try {
      expect(String(await once(child.stdout, 'data'))).toBe('stopped\n')
    } finally {
      child.kill()
    }
  })

  it.each([
    ['its own code', ['9'], { code: 9, signal: null }],
    ['zero', ['0'], { code: 0, signal: null }],
  ])('hands a signal to the program, which ends with %s', async (_name, args, expected) => {
    const child = spawn(
      process.execPath,
      [BIN, 'run', '--', process.execPath, program('waits.mjs'), ...args],
      {
        env: { ...process.env, ...env, NODE_OPTIONS: '' },
        stdio: ['ignore', 'pipe', 'ignore'],
      },
    )
    const output = text(child.stdout)
    await once(child.stdout, 'readable')
    child.kill('SIGTERM')
    const [code, signal] = await once(child, 'close')

    expect({ code, signal }).toEqual(expected)
    expect(await output).toBe('ready\nheard\n')
  })

  it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
    'does not hand %s on to a program that has had it, as from a service manager: its shutdown goes on to the end',
    async (signal) => {
      const shutsDown = `
        process.once('${signal}', () => setTimeout(() => process.exit(3), 500))
        setInterval(() => {}, 1_000)
        console.log('ready')`
      const child = spawn(process.execPath, [BIN, 'run', '--', process.execPath, '-e', shutsDown], {
        env: { ...process.env, ...env, NODE_OPTIONS: '' },
        stdio: ['ignore', 'pipe', 'ignore'],
        detached: true,
      })
      await once(child.stdout, 'data')
      process.kill(-(child.pid ?? 0), signal)

      expect(await once(child, 'close')).toEqual([3, null])
    },
  )

  it.each(['a pipe that nobody reads', 'a full disk'])(
    'stays with the program where it can say nothing: %s',
    async (where) => {
      // Only Linux has a disk that is always full.
      if (where === 'a full disk' && !existsSync('/dev/full')) return
      const full = where === 'a full disk' ? openSync('/dev/full', 'w') : 'pipe'
      const wait = 'setTimeout(() => process.exit(3), 1_000)'
      const child = spawn(process.execPath, [BIN, 'run', '--', process.execPath, '-e', wait], {
        env: { ...process.env, ...env, NODE_OPTIONS: '' },
        stdio: ['ignore', 'ignore', full],
      })
      child.stderr?.destroy()
      if (typeof full === 'number') closeSync(full)

      expect(await once(child, 'close')).toEqual([3, null])
    },
  )

  it('ends the program where npx has ended, which ends the shell between and says nothing', async () => {
    const heard = `process.once('SIGTERM', () => { console.log('heard'); process.exit() }); setTimeout(() => {}, 9_000); console.log('ready')`
    const child = spawn(
      'sh',
      ['-c', '"$0" "$@"; exit 0', process.execPath, BIN, 'run', '--', process.execPath, '-e', heard],
      {
        env: { ...process.env, ...env, NODE_OPTIONS: '', npm_command: 'exec' },
        stdio: ['ignore', 'pipe', 'ignore'],
      },
    )
    const output = text(child.stdout)
    await once(child.stdout, 'readable')
    child.kill()

    expect(await output).toBe('ready\nheard\n')
  })

  it('ends by the signal that ended the program', async () => {
    const kill = 'process.kill(process.pid, "SIGKILL")'
    const child = spawn(process.execPath, [BIN, 'run', '--', process.execPath, '-e', kill], {
      env: { ...process.env, ...env, NODE_OPTIONS: '' },
      stdio: 'ignore',
    })

    expect(await once(child, 'close')).toEqual([null, 'SIGKILL'])
  })
})
