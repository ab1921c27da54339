import { execFile } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startScriptedServer } from 'hookspan/mock'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { startCollector } from '../support/collector.ts'
import { freePort } from '../support/free-port.ts'
import { programEnv, receivedTree } from '../support/registered.ts'
import { inheritedEnv, runCli } from '../support/run-cli.ts'
import { SDKS_FOLDER } from './support/sdks.ts'

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const BUN = join(SDKS_FOLDER, 'node_modules/.bin/bun')

let collector: Awaited<ReturnType<typeof startCollector>>
let model: Awaited<ReturnType<typeof startScriptedServer>>
let cwd: string
beforeAll(async () => {
  model = await startScriptedServer({
    respond: ({ body }) =>
      /"type":"(function_call_output|tool_result)"|"role":"tool"/.test(JSON.stringify(body)) ||
      !('tools' in body)
        ? { content: 'It is on its way.' }
        : { toolCalls: [{ id: 'call_1', name: 'wipe', arguments: { what: 'all' } }] },
  })
  cwd = mkdtempSync(join(tmpdir(), 'hookspan-bun-'))
  mkdirSync(join(cwd, 'node_modules'))
  const given = [
    'openai',
    '@anthropic-ai/sdk',
    '@openai/agents',
    'ai',
    '@google/genai',
    'langchain',
    '@langchain/core',
    'zod',
  ]
  for (const name of given) {
    mkdirSync(dirname(join(cwd, 'node_modules', name)), { recursive: true })
    symlinkSync(at(`../../node_modules/${name}`), join(cwd, 'node_modules', name))
  }
})
afterAll(async () => {
  rmSync(cwd, { recursive: true, force: true })
  await model.close()
})
beforeEach(async () => {
  collector = await startCollector()
})
afterEach(() => collector.stop())

/** A plain program, run by Bun. */
function run(name: string) {
  copyFileSync(at(`../register/processes/${name}`), join(cwd, name))
  const env = programEnv(model.baseURL, collector.url)
  return runCli(['run', '--', BUN, name], { env, cwd })
}

const withoutNames = () =>
  receivedTree(collector.spans).map((line) => line.replace(/(invoke_agent|chat|generate_content) .*/, '$1'))
const TURNS = ['invoke_agent', '  step 0', '    chat', '    execute_tool wipe', '  step 1', '    chat']

it.each<[name: string, stdout: string, spans: readonly string[]]>([
  ['chat.cjs', 'It is on its way.\n', ['invoke_agent', '  chat']],
  ['agents.mjs', 'all is wiped\ndone\n', TURNS],
  ['ai-sdk.mjs', 'hello\n', ['invoke_agent', '  step 0', '    chat']],
  ['google.cjs', 'It is on its way. true\n', ['invoke_agent', '  generate_content']],
  [
    'langchain.mjs',
    'sunny\n',
    ['invoke_agent', '  step 0', '    chat', '    execute_tool get_weather', '  step 1', '    chat'],
  ],
])('attaches to what Bun runs, by import and by require(): %s', async (name, stdout, spans) => {
  const run1 = await run(name)

  expect({ code: run1.code, stdout: run1.stdout }, run1.stderr).toEqual({ code: 0, stdout })
  expect(withoutNames()).toEqual(spans)
  expect(run1.stderr).toMatch(/^hookspan: attached .+ \d+\.\d+\.\d+/m)
})

it('takes the handling of a request for a run there, too', async () => {
  const { code, stderr } = await run('server.mjs')

  expect(code, stderr).toBe(0)
  const each = (path: string) => [`invoke_agent GET ${path}`, '  chat gpt-4o', '  chat gpt-4o']
  expect(receivedTree(collector.spans).sort()).toEqual([...each('/a'), ...each('/b')].sort())
})

it('attaches to what is required in a handler, when the program has long begun', async () => {
  const { code, stdout, stderr } = await run('late.cjs')

  expect({ code, stdout }, stderr).toEqual({ code: 0, stdout: 'It is on its way.\nIt is on its way.\n' })
  const each = (path: string) => [`invoke_agent GET ${path}`, '  chat gpt-4o']
  expect(receivedTree(collector.spans).sort()).toEqual([...each('/a'), ...each('/b')].sort())
})

it.each([
  ['gates', { gates: [{ id: 'no-wiping', type: 'toolPolicy', deny: ['wipe'] }] }],
  ['mocks', { hooks: [{ id: 'clean', type: 'mock', match: 'wipe', returns: 'as if' }] }],
])('holds the %s of the project there, too', async (_what, config) => {
  writeFileSync(join(cwd, 'hookspan.config.json'), JSON.stringify(config))
  const { stdout, stderr } = await run('tool-runner.mjs')
  rmSync(join(cwd, 'hookspan.config.json'))

  expect(stdout, stderr).toBe('It is on its way.\n')
  expect(withoutNames()).toEqual(TURNS)
})

it('keeps what it traced in its own viewer where the command is run by Bun, too', async () => {
  copyFileSync(at('../register/processes/chat.cjs'), join(cwd, 'chat.cjs'))
  const db = join(cwd, 'traces.db')
  const endpoint = `http://127.0.0.1:${await freePort()}`
  const env = { ...inheritedEnv(), ...programEnv(model.baseURL, endpoint) }
  const args = ['--bun', at('../../dist/cli/bin.js'), 'run', '--db', db, '--', BUN, 'chat.cjs']

  const { stderr } = await promisify(execFile)(BUN, args, { cwd, env, timeout: 60_000 })

  expect(stderr).toContain(`${endpoint}/`)
  expect((await runCli(['runs', '--db', db])).stdout).toMatch(/chat\.cjs/)
})

const EXECUTABLE = `
import { HookDispatcher } from 'hookspan'
import { startTracing } from 'hookspan/tracing'
const dispatcher = new HookDispatcher()
const tracing = startTracing({ serviceName: 'executable' })
dispatcher.use(tracing)
await dispatcher.startOperation({ agentName: 'alone' }).complete({ reason: 'done' })
await tracing.shutdown()
`

it('traces from one executable, and says how it is to be built', async () => {
  const folder = join(cwd, 'executable')
  mkdirSync(join(folder, 'node_modules/@opentelemetry'), { recursive: true })
  symlinkSync(at('../..'), join(folder, 'node_modules/hookspan'))
  for (const name of ['@opentelemetry/api', '@opentelemetry/sdk-node']) {
    symlinkSync(at(`../../node_modules/${name}`), join(folder, 'node_modules', name))
  }
  writeFileSync(join(folder, 'program.mjs'), EXECUTABLE)
  const env = { ...inheritedEnv(), OTEL_EXPORTER_OTLP_ENDPOINT: collector.url }
  const made = async (...options: string[]) => {
    const args = ['build', '--compile', ...options, 'program.mjs', '--outfile', 'program']
    await promisify(execFile)(BUN, args, { cwd: folder, env })
    return promisify(execFile)(join(folder, 'program'), [], { cwd: tmpdir(), env }).catch(
      (error: { stderr: string }) => error,
    )
  }

  expect((await made()).stderr).toContain(
    '@opentelemetry/sdk-node. And build it with --compile-autoload-package-json.\n',
  )
  expect((await made('--compile-autoload-package-json')).stderr).toBe('')
  expect(collector.spans.map(({ name }) => name)).toEqual(['invoke_agent alone'])
})

const RUNNER = `
import { expect, test } from 'bun:test'
import { HookDispatcher } from 'hookspan'
import { matchTrajectory, mock, mockTools } from 'hookspan/mock'
const dispatcher = new HookDispatcher()
const find = () => dispatcher.startOperation().toolCall({ apiName: 'find', args: { id: '7' } }, () => 1)
test('ok: a tool fails by itself', async () => {
  using mocks = mockTools(dispatcher, [mock('find').calls(() => Buffer.alloc(-1))])
  expect(await find()).toMatchObject({ state: 'errored' })
})
test('bad: a mock expects what is not so', async () => {
  using mocks = mockTools(dispatcher, [mock('find').calls(({ id }) => expect(id).toBe('8'))])
  await find()
})
test('bad: a matcher of bun', () => {
  const args = expect.objectContaining({ id: '8' })
  expect(matchTrajectory([{ name: 'find', args: { id: '7' } }], [{ name: 'find', args }]).pass).toBe(false)
})
`

it('runs tests, and fails those in which an expectation of a mock fails', async () => {
  symlinkSync(at('../..'), join(cwd, 'node_modules/hookspan'))
  writeFileSync(join(cwd, 'runner.test.mjs'), RUNNER)
  const { stderr } = await promisify(execFile)(BUN, ['test', './runner.test.mjs'], {
    cwd,
    env: inheritedEnv(),
  }).catch((error: { stderr: string }) => error)
  expect(stderr).toMatch(/\(pass\) ok: a tool fails by itself/)
  expect(stderr).toMatch(/\(fail\) bad: a mock expects what is not so/)
  expect(stderr).toMatch(/What a mock of "find" expects is not so: [\s\S]*Expected: "8"/)
  expect(stderr).toMatch(/\(fail\) bad: a matcher of bun/)
  expect(stderr).toContain('can ask its `expect.objectContaining()`')
})
