/**
 * `hookspan init` in projects as people have them: the packed package, the real SDKs, and what init wrote is run. The
 * programs are those that `hookspan run` is tested with: nothing of hookspan is in them.
 */
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { startScriptedServer } from 'hookspan/mock'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startCollector } from '../support/collector.ts'
import { programEnv } from '../support/registered.ts'
import { runCli } from '../support/run-cli.ts'
import { installPacked, ROOT } from './support.ts'

const PROGRAMS = join(ROOT, 'test/register/processes')

let base: Awaited<ReturnType<typeof installPacked>>
let bin: string
let model: Awaited<ReturnType<typeof startScriptedServer>>
let collector: Awaited<ReturnType<typeof startCollector>>

beforeAll(async () => {
  base = await installPacked()
  linkPackages(join(ROOT, 'node_modules'), join(base.folder, 'node_modules'))
  bin = join(base.folder, 'node_modules/hookspan/dist/cli/bin.js')
  model = await startScriptedServer({
    respond: ({ body }) =>
      JSON.stringify(body).includes('Clean up.')
        ? { toolCalls: [{ id: 'call_1', name: 'wipe', arguments: { what: 'all' } }] }
        : { content: 'It is on its way.' },
  })
})
afterAll(async () => {
  await model.close()
  base.remove()
})
beforeEach(async () => {
  collector = await startCollector()
})
afterEach(() => collector.stop())

/** Beside what is installed there: the SDKs that the repository has. */
function linkPackages(from: string, to: string): void {
  for (const name of readdirSync(from)) {
    if (name.startsWith('.')) continue
    if (!existsSync(join(to, name))) symlinkSync(join(from, name), join(to, name))
    else if (name.startsWith('@')) linkPackages(join(from, name), join(to, name))
  }
}

/** A folder with a package.json and these files. */
function project(name: string, manifest: object, files: Readonly<Record<string, string>> = {}): string {
  const folder = join(base.folder, 'projects', name)
  const all = { 'package.json': JSON.stringify({ name, ...manifest }), ...files }
  for (const [file, text] of Object.entries(all)) {
    mkdirSync(join(folder, file, '..'), { recursive: true })
    writeFileSync(join(folder, file), text)
  }
  return folder
}

const init = (cwd: string, ...args: string[]) => runCli(['init', ...args], { command: bin, cwd })

/** What a program prints, once it is attached. */
function start(cwd: string, ...args: string[]) {
  const env = { ...programEnv(model.baseURL, collector.url), NODE_NO_WARNINGS: '1' }
  const [command = '', ...rest] = args
  return runCli(rest, { command: join(cwd, command), cwd, env })
}

/** Every file of the project with its text. */
function snapshot(folder: string): Record<string, string> {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8', withFileTypes: true })
  return Object.fromEntries(
    names
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path) => [path.slice(folder.length + 1), readFileSync(path, 'utf8')]),
  )
}

const VITEST = join(ROOT, 'node_modules/vitest/vitest.mjs')
const runTests = (cwd: string) =>
  runCli(['run', '--root', cwd], { command: VITEST, cwd, env: { NO_COLOR: '1' } })

const WIPES = ['agents.mjs', 'agents.cjs', 'tool-runner.mjs']

describe.each([
  ['chat.mjs', 'openai', ['chat gpt-4o']],
  ['chat.cjs', 'openai', ['chat gpt-4o']],
  ['agents.mjs', '@openai/agents', ['execute_tool wipe']],
  ['agents.cjs', '@openai/agents', ['execute_tool wipe']],
  ['ai-sdk.mjs', 'ai', ['invoke_agent', 'chat']],
  ['ai-sdk.cjs', 'ai', ['invoke_agent', 'chat']],
  ['langchain.mjs', 'langchain', ['execute_tool get_weather']],
  ['langchain.cjs', 'langchain', ['execute_tool get_weather']],
  ['google.mjs', '@google/genai', ['generate_content gemini-2.5-flash']],
  ['google.cjs', '@google/genai', ['generate_content gemini-2.5-flash']],
  ['tool-runner.mjs', '@anthropic-ai/sdk', ['execute_tool wipe']],
  ['mcp-1.mjs', '@modelcontextprotocol/sdk', ['chat gpt-4o', 'execute_tool find']],
  ['mcp-2.mjs', '@modelcontextprotocol/client', ['chat gpt-4o', 'execute_tool find']],
])('in a project with %s', (name, sdk, spans) => {
  it('attaches it once, and what it wrote runs', async () => {
    const folder = project(name, { dependencies: { [sdk]: '*' } })
    cpSync(join(PROGRAMS, name), join(folder, name))
    const before = snapshot(folder)
    const written = await init(folder, '--yes')
    expect([written.code, written.stderr], written.stdout).toEqual([0, ''])
    const config = join(folder, 'hookspan.config.yaml')
    // Without the second one, the model that is scripted here asks for the tool again and again.
    const given = readFileSync(config, 'utf8')
    const policy = WIPES.includes(name) ? given.replace("'drop_*'", "'drop_*', wipe") : given
    writeFileSync(config, `${policy}  - { id: short, type: budget, maxSteps: 2 }\n`)
    const after = snapshot(folder)
    const own = ['hookspan.config.yaml', `hookspan.setup${name.slice(-4)}`, 'test/hookspan.test.mjs']
    expect(Object.keys(after).sort()).toEqual([...own, ...Object.keys(before)].sort())
    const again = await init(folder, '--yes')
    expect([again.code, again.stdout.trim().split('\n').at(-1)]).toEqual([
      0,
      'Nothing to do: what hookspan init writes is there.',
    ])
    expect(snapshot(folder)).toEqual(after)

    const { code, stdout, stderr } = await start(folder, name)
    if (name !== 'tool-runner.mjs') expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(collector.names()).toEqual(
      expect.arrayContaining(spans.map((span) => expect.stringContaining(span))),
    )
    // The policy holds in it: the tool did not run.
    if (WIPES.includes(name)) expect(stdout).not.toContain('is wiped')
    else expect(stdout).not.toBe('')
  })
})

const TYPED = `import OpenAI from 'openai'
import { question } from './question.ts'

const client: OpenAI = new OpenAI()
const { choices } = await client.chat.completions.create({
  model: 'gpt-4o' as string,
  messages: [{ role: 'user', content: question }],
})
console.log(choices[0]?.message.content)
`

describe('what init writes', () => {
  it('is only shown where nobody says yes', async () => {
    const folder = project('asked', { dependencies: { openai: '*' } })
    cpSync(join(PROGRAMS, 'chat.mjs'), join(folder, 'chat.mjs'))
    const before = snapshot(folder)
    const asked = await init(folder)
    expect([asked.code, asked.stderr]).toEqual([1, ''])
    expect(asked.stdout).toContain('+++ b/chat.mjs')
    expect(asked.stdout).toContain('Nothing was written: there is nobody to ask.')
    const shown = await init(folder, '--dry-run')
    expect(shown.code).toBe(0)
    expect(snapshot(folder)).toEqual(before)
  })

  it('runs in TypeScript as Node takes it, is right for the compiler, and its test passes at once', async () => {
    const folder = project(
      'typed',
      { type: 'module', devDependencies: { openai: '*', vitest: '*' } },
      { 'src/agents/ask.ts': TYPED, 'src/agents/question.ts': "export const question: string = 'Where?'\n" },
    )
    const { code, stdout } = await init(folder, '--yes')
    expect(code).toBe(0)
    expect(stdout).toContain('npx vitest run test/hookspan.test.mts')
    expect(Object.keys(snapshot(folder)).sort()).toEqual([
      'hookspan.config.yaml',
      'package.json',
      'src/agents/ask.ts',
      'src/agents/hookspan.setup.ts',
      'src/agents/question.ts',
      'test/hookspan.test.mts',
    ])
    const ran = await start(folder, 'src/agents/ask.ts')
    expect([ran.code, ran.stdout, ran.stderr]).toEqual([0, 'It is on its way.\n', ''])
    expect(collector.names()).toContain('chat gpt-4o')

    const flags = ['--noEmit', '--strict', '--target', 'es2023', '--module', 'nodenext', '--skipLibCheck']
    const files = ['src/agents/ask.ts', 'test/hookspan.test.mts']
    const tsc = await runCli([...flags, '--allowImportingTsExtensions', '--types', 'node', ...files], {
      command: join(ROOT, 'node_modules/typescript/bin/tsc'),
      cwd: folder,
    })
    expect([tsc.code, tsc.stdout]).toEqual([0, ''])
    const tests = await runTests(folder)
    expect(tests.stdout, tests.stderr).toMatch(/Tests {2}1 passed/)
  })

  it.each([
    ['CommonJS', {}],
    ['ES modules', { type: 'module' }],
  ])('is a beginning for a loop of one’s own, in %s', async (name, manifest) => {
    const folder = project(`own ${name}`, { ...manifest, devDependencies: { vitest: '*' } })
    const { code, stdout } = await init(folder, '--yes')
    expect(code).toBe(0)
    expect(stdout).toContain('A loop of your own is attached by hand')
    const setup = readdirSync(folder).find((file) => file.startsWith('hookspan.setup.')) ?? ''
    expect((await start(folder, setup)).stderr).toBe('')
    expect((await runTests(folder)).stdout).toMatch(/Tests {2}1 passed/)
  })

  it('keeps to a config that is there, and the program does not start without it', async () => {
    const folder = project(
      'configured',
      { dependencies: { openai: '*' } },
      { 'hookspan.config.json': '{"gates":[]}', 'chat.mjs': "import OpenAI from 'openai'\nnew OpenAI()\n" },
    )
    expect((await init(folder, '--yes')).code).toBe(0)
    expect(readFileSync(join(folder, 'hookspan.config.json'), 'utf8')).toBe('{"gates":[]}')
    expect(existsSync(join(folder, 'hookspan.config.yaml'))).toBe(false)
    expect((await runTests(folder)).stdout).toMatch(/Tests {2}1 passed/)
    expect((await start(folder, 'chat.mjs')).code).toBe(0)

    renameSync(join(folder, 'hookspan.config.json'), join(folder, 'elsewhere.json'))
    const { code, stderr } = await start(folder, 'chat.mjs')
    expect(code).not.toBe(0)
    expect(stderr).toContain(`There is no hookspan.config.* in ${folder}`)
  })
})
