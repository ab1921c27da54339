import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startScriptedServer } from 'hookspan/mock'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { startCollector } from '../support/collector.ts'
import { programEnv, receivedTree, registered } from '../support/registered.ts'

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url))

let collector: Awaited<ReturnType<typeof startCollector>>
let model: Awaited<ReturnType<typeof startScriptedServer>>
beforeAll(async () => {
  model = await startScriptedServer({
    respond: ({ body }) =>
      /Clean up\.(?!.*functionResponse)/.test(JSON.stringify(body))
        ? { toolCalls: [{ id: 'call_1', name: 'wipe', arguments: { what: 'all' } }] }
        : { content: 'It is on its way.' },
  })
})
afterAll(() => model.close())
beforeEach(async () => {
  collector = await startCollector()
})
afterEach(() => collector.stop())

/** A plain program, with nothing of hookspan in it. */
function program(name: string, cwd?: string, ...args: string[]) {
  const env = programEnv(model.baseURL, collector.url)
  return registered(at(`processes/${name}`), { env, args, ...(cwd && { cwd }) })
}

const spansOf = () => receivedTree(collector.spans)

const turns = (model: string, ...tools: string[]) => [
  '  step 0',
  `    chat ${model}`,
  ...tools.map((tool) => `    execute_tool ${tool}`),
  '  step 1',
  `    chat ${model}`,
]

it.each(['langchain.mjs', 'langchain.cjs', 'langchain-handed.mjs'])(
  'attaches to agents of LangChain: %s',
  async (name) => {
    const { code, stdout, stderr } = await program(name)

    expect({ code, stdout }, stderr).toEqual({ code: 0, stdout: 'sunny\n' })
    expect(spansOf()).toEqual([`invoke_agent ${name}`, ...turns('fake-model-builder', 'get_weather')])
    expect(stderr).not.toContain('not attached')
  },
)

it('is told of an agent of LangChain that ends before its last node', async () => {
  const { code, stdout, stderr } = await program('langchain-limit.mjs')

  expect({ code, stdout }, stderr).toEqual({ code: 0, stdout: 'GraphRecursionError\n' })
  const [run, ...below] = collector.spans
    .toSorted((a, b) => a.name.localeCompare(b.name))
    .filter(({ name }) => name.startsWith('invoke_agent'))
  expect(run).toMatchObject({ attributes: { 'hookspan.operation.reason': 'max_steps' } })
  expect(below).toEqual([])
})

it('an agent of LangChain whose middleware wraps tools ends with the tool that throws, as it does alone', async () => {
  const { code, stdout, stderr } = await program('langchain-wrapped.mjs')

  expect({ code, stdout }, stderr).toEqual({ code: 0, stdout: 'no such place\n' })
  expect(spansOf()).toEqual([
    'invoke_agent langchain-wrapped.mjs',
    '  step 0',
    '    chat fake-model-builder',
    '    execute_tool get_weather',
  ])
  expect(collector.spans.find(({ name }) => name.startsWith('invoke_agent'))).toMatchObject({
    attributes: { 'hookspan.operation.reason': 'error' },
  })
})

it('leaves to the program what it attaches by itself, and says so once', async () => {
  const { code, stdout, stderr } = await program('own.mjs')

  const stated = 'ai: onStart,beforeLlmCall\ngoogle: onStart,beforeLlmCall\n'
  expect({ code, stdout }, stderr).toEqual({ code: 0, stdout: stated })
  expect(spansOf()).toEqual([])
  expect(stderr.match(/left to its own dispatcher/g)).toHaveLength(1)
})

it('leaves to the program a client that it observes before its first request, and gives no other advice', async () => {
  const { code, stdout, stderr } = await program('own-client.mjs')

  expect({ code, stdout }, stderr).toEqual({ code: 0, stdout: 'told\n' })
  expect(spansOf()).toEqual([])
  expect(stderr.match(/left to its own dispatcher/g)).toHaveLength(1)
  expect(stderr).not.toContain('is not attached')
})

it('says that a program observes its client by another copy of hookspan, and gives no other advice', async () => {
  const cwd = mkdtempSync(join(tmpdir(), 'hookspan-'))
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }))
  const own = join(cwd, 'node_modules/hookspan')
  mkdirSync(own, { recursive: true })
  for (const part of ['dist', 'package.json'])
    cpSync(at(`../../${part}`), join(own, part), { recursive: true })
  for (const name of ['openai', '@opentelemetry']) {
    symlinkSync(at(`../../node_modules/${name}`), join(cwd, 'node_modules', name))
  }
  cpSync(at('processes/own-client.mjs'), join(cwd, 'own-client.mjs'))
  const env = programEnv(model.baseURL, collector.url)
  const { code, stdout, stderr } = await registered(join(cwd, 'own-client.mjs'), { env, cwd })

  expect({ code, stdout }, stderr).toEqual({ code: 0, stdout: 'told\n' })
  expect(
    stderr.match(/the program has another copy of hookspan \(.*node_modules\/hookspan\): /g),
  ).toHaveLength(1)
  expect(stderr).not.toContain('did not pass')
  expect(spansOf()).toEqual(['invoke_agent own-client.mjs', '  chat gpt-4o'])
})

it('says that a program has another copy of hookspan bundled inside, by which it observes its client', async () => {
  const cwd = mkdtempSync(join(tmpdir(), 'hookspan-'))
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }))
  const bundle = join(cwd, 'own-client.mjs')
  const { build } = await import('esbuild')
  await build({
    entryPoints: [at('processes/own-client.mjs')],
    outfile: bundle,
    bundle: true,
    platform: 'node',
    format: 'esm',
    external: ['openai', '@opentelemetry/*'],
    logLevel: 'silent',
  })
  symlinkSync(at('../../node_modules'), join(cwd, 'node_modules'))
  const env = programEnv(model.baseURL, collector.url)
  const { code, stdout, stderr } = await registered(bundle, { env, cwd })

  expect({ code, stdout }, stderr).toEqual({ code: 0, stdout: 'told\n' })
  expect(stderr.match(/another copy of hookspan \(bundled inside\): /g)).toHaveLength(1)
})

it('attaches to chats of @google/genai: what goes on is one run', async () => {
  const { code, stdout, stderr } = await program('google.mjs')

  expect({ code, stdout }, stderr).toEqual({ code: 0, stdout: 'It is on its way.\nIt is on its way.\n' })
  const call = '  generate_content gemini-2.5-flash'
  expect(spansOf()).toEqual(['invoke_agent google.mjs', call, call])
})

it('attaches to interactions of @google/genai: one that goes on with another is of its run', async () => {
  const { code, stdout, stderr } = await program('google-interactions.mjs')

  expect({ code, stdout }, stderr).toEqual({ code: 0, stdout: 'It is on its way.\nIt is on its way.' })
  const call = '  generate_content gemini-2.5-flash'
  expect(spansOf()).toEqual(['invoke_agent google-interactions.mjs', call, call])
})

it('attaches to automatic function calling of @google/genai, whose runs have the name of the script', async () => {
  const { code, stdout, stderr } = await program('google-tools.mjs')

  expect({ code, stdout }, stderr).toEqual({ code: 0, stdout: 'It is on its way.\n' })
  const step = (index: number) => [`  step ${index}`, '    generate_content gemini-2.5-flash']
  expect(spansOf()).toEqual([
    'invoke_agent google-tools.mjs',
    ...step(0),
    '    execute_tool wipe',
    ...step(1),
  ])
})

it('attaches to @google/genai where it is required, and its class stays what it is', async () => {
  const { code, stdout, stderr } = await program('google.cjs')

  expect({ code, stdout }, stderr).toEqual({ code: 0, stdout: 'It is on its way. true\n' })
  expect(spansOf()).toEqual(['invoke_agent google.cjs', '  generate_content gemini-2.5-flash'])
})

it('attaches to what is required in a handler, when the program has long begun', async () => {
  const { code, stdout, stderr } = await program('late.cjs')

  expect({ code, stdout }, stderr).toEqual({ code: 0, stdout: 'It is on its way.\nIt is on its way.\n' })
  const each = (path: string) => [`invoke_agent GET ${path}`, '  chat gpt-4o']
  expect(spansOf().sort()).toEqual([...each('/a'), ...each('/b')].sort())
})

it('attaches to the AI SDK where it is required', async () => {
  const { code, stdout, stderr } = await program('ai-sdk.cjs')

  expect({ code, stdout }, stderr).toEqual({ code: 0, stdout: 'hello\n' })
  expect(spansOf()[0]).toBe('invoke_agent ai-sdk.cjs')
  expect(spansOf().map((name) => name.trim().split(' ')[0])).toEqual(['invoke_agent', 'step', 'chat'])
})

it('attaches to a module that is required where nobody says that it is one', async () => {
  const before = `--import=${new URL('processes/no-formats.mjs', import.meta.url)}`
  const env = { ...programEnv(model.baseURL, collector.url), NODE_OPTIONS: before }
  const { code, stdout, stderr } = await registered(at('processes/ai-sdk.cjs'), { env })

  expect({ code, stdout }, stderr).toEqual({ code: 0, stdout: 'hello\n' })
  expect(spansOf().map((name) => name.trim().split(' ')[0])).toEqual(['invoke_agent', 'step', 'chat'])
})

it.each(['mcp-1.mjs', 'mcp-1.cjs', 'mcp-2.mjs', 'mcp-2.cjs'])(
  'attaches to clients and servers of MCP: %s',
  async (name) => {
    const { code, stdout, stderr } = await program(name)

    expect({ code, stdout }, stderr).toEqual({ code: 0, stdout: 'found bags\n' })
    const spans = spansOf()
    expect(spans.slice(0, 3)).toEqual([`invoke_agent ${name}`, '  chat gpt-4o', '  execute_tool find'])
  },
)

it.each(['server 1', 'behind McpServer', 'McpServer', 'server 2'])(
  'attaches to the Server of MCP that frameworks make by themselves, once, and holds the gates of the project: %s',
  async (kind) => {
    const cwd = mkdtempSync(join(tmpdir(), 'hookspan-'))
    const gates = [{ id: 'no-wiping', type: 'toolPolicy', deny: ['wipe'] }]
    writeFileSync(join(cwd, 'hookspan.config.json'), JSON.stringify({ gates }))
    const env = programEnv(model.baseURL, collector.url)
    const { code, stdout, stderr } = await registered(at('processes/mcp-low.mjs'), { env, cwd, args: [kind] })

    expect(code, stderr).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ denied: true, code: 'tool_not_allowed' })
    expect(spansOf()).toEqual(['invoke_agent shop', '  execute_tool wipe'])
  },
)

it.each([
  ['tool-runner.mjs', 'claude-opus-4-6'],
  ['run-tools.mjs', 'gpt-4o'],
  ['run-tools-copied.mjs', 'gpt-4o'],
])(
  'attaches to the first run of tools of a client, and holds the gates of the project: %s',
  async (name, asked) => {
    const cwd = mkdtempSync(join(tmpdir(), 'hookspan-'))
    const gates = [
      { id: 'no-wiping', type: 'toolPolicy', deny: ['wipe'] },
      { id: 'short', type: 'budget', maxSteps: 2 },
    ]
    writeFileSync(join(cwd, 'hookspan.config.json'), JSON.stringify({ gates }))

    const { stdout } = await program(name, cwd)

    expect(stdout).not.toContain('is wiped')
    expect(spansOf().slice(0, 4)).toEqual([
      `invoke_agent ${name}`,
      '  step 0',
      `    chat ${asked}`,
      '    execute_tool wipe',
    ])
  },
)

it.each(['alone', 'entry-first', 'entry-last'])(
  'attaches to clients of Anthropic that are built on the one of the package, and holds the gates of the project: %s',
  async (kind) => {
    const cwd = mkdtempSync(join(tmpdir(), 'hookspan-'))
    writeFileSync(
      join(cwd, 'hookspan.config.json'),
      JSON.stringify({ gates: [{ id: 'no-wiping', type: 'toolPolicy', deny: ['wipe'] }] }),
    )

    const { code, stdout, stderr } = await program('anthropic-platform.mjs', cwd, kind)

    expect({ code, stdout }, stderr).toEqual({ code: 0, stdout: '' })
    const asked = 'claude-opus-4-6'
    const call = ['invoke_agent anthropic-platform.mjs', `  chat ${asked}`]
    const run = [call[0], '  step 0', `    chat ${asked}`, '    execute_tool wipe']
    expect(spansOf().toSorted()).toEqual([...run, ...run, ...call, ...call].toSorted())
    expect(stderr).not.toContain('not attached')
  },
)

it('attaches to a client of OpenAI that is loaded by its own path', async () => {
  const { code, stdout, stderr } = await program('azure.mjs')

  expect({ code, stdout }, stderr).toEqual({ code: 0, stdout: 'It is on its way.\n' })
  expect(spansOf()).toEqual(['invoke_agent azure.mjs', '  chat gpt-4o'])
})

describe('under another name', () => {
  const root = at('../../')
  let app: string
  beforeAll(() => {
    mkdirSync(join(root, '.cache'), { recursive: true })
    // Inside of the repository, so that what the packages need themselves is found.
    app = mkdtempSync(join(root, '.cache/aliases-'))
    for (const name of ['openai', 'ai']) {
      cpSync(join(root, 'node_modules', name), join(app, 'node_modules', `my-${name}`), {
        recursive: true,
        dereference: true,
        filter: (path) => !/\/(src|docs)$|\.map$|\.d\.m?ts$/.test(path),
      })
    }
  })
  afterAll(() => rmSync(app, { recursive: true, force: true }))

  /** A program as it is, but for the name by which it asks for its SDK. */
  const renamed = (name: string) => {
    const text = readFileSync(at(`processes/${name}`), 'utf8')
    const path = join(app, name)
    writeFileSync(path, text.replaceAll(/'(ai|openai)(\/test)?'/g, "'my-$1$2'"))
    return (cwd = app) => registered(path, { env: programEnv(model.baseURL, collector.url), cwd })
  }

  it.each(['chat.mjs', 'chat.cjs', 'ai-sdk.mjs', 'ai-sdk.cjs'])('attaches to an SDK: %s', async (name) => {
    const { code, stderr } = await renamed(name)()

    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.not.stringContaining('not attached') })
    expect(spansOf()[0]).toBe(`invoke_agent ${name}`)
  })

  it.each([
    ['chat.mjs', 'openai', '.nitro/openai@7'],
    ['ai-sdk.mjs', 'ai', '.nitro/ai@7'],
    ['chat.mjs', 'openai', '.store/openai-npm-7.0.0-1a2b/package'],
    ['chat.cjs', 'openai', '.store/openai-npm-7.0.0-1a2b/package'],
    ['ai-sdk.mjs', 'ai', '.store/ai-virtual-1a2b/package'],
  ])(
    'attaches to an SDK where Nitro has put several versions, or Yarn has its store: %s, %s in %s',
    async (name, sdk, folder) => {
      const installed = join(app, 'node_modules')
      cpSync(join(installed, `my-${sdk}`), join(installed, folder), { recursive: true })
      rmSync(join(installed, sdk), { force: true })
      symlinkSync(folder, join(installed, sdk))
      const path = join(app, name)
      cpSync(at(`processes/${name}`), path)
      const { code, stderr } = await registered(path, {
        env: programEnv(model.baseURL, collector.url),
        cwd: app,
      })

      expect({ code, stderr }).toEqual({ code: 0, stderr: expect.not.stringContaining('not attached') })
      expect(spansOf()[0]).toBe(`invoke_agent ${name}`)
    },
  )

  it('leaves to an agent what a package brings of a version that is not known, and refuses to ask it outside', async () => {
    const brings = join(app, 'node_modules/brings')
    cpSync(join(app, 'node_modules/my-openai'), join(brings, 'node_modules/openai'), { recursive: true })
    writeFileSync(join(brings, 'index.mjs'), "export { default } from 'openai'")
    const path = join(brings, 'node_modules/openai/package.json')
    writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, 'utf8')), version: '5.0.0' }))
    const cwd = mkdtempSync(join(tmpdir(), 'hookspan-'))

    const bare = await program('brought.mjs', cwd, join(brings, 'index.mjs'))
    const stated = 'all is wiped\nIt is on its way.\nIt is on its way.\n'
    expect({ code: bare.code, stdout: bare.stdout }, bare.stderr).toEqual({ code: 0, stdout: stated })
    expect(bare.stderr).toMatch(/hookspan: openai 5\.0\.0 is not attached/)

    const gates = [{ id: 'no-wiping', type: 'toolPolicy', deny: ['wipe'] }]
    writeFileSync(join(cwd, 'hookspan.config.json'), JSON.stringify({ gates }))
    const held = await program('brought.mjs', cwd, join(brings, 'index.mjs'))
    expect({ code: held.code, stdout: held.stdout }, held.stderr).toEqual({
      ...{ code: 1, stdout: 'It is on its way.\n' },
    })
    expect(held.stderr).toMatch(/openai 5\.0\.0 is not attached: .* Gate "no-wiping" decides/)
  })

  it('starts nothing without its guards, where the version is none that is known', async () => {
    const path = join(app, 'node_modules/my-openai/package.json')
    const manifest = readFileSync(path, 'utf8')
    const run = renamed('chat.mjs')
    const gates = [{ id: 'no-wiping', type: 'toolPolicy', deny: ['wipe'] }]
    writeFileSync(path, JSON.stringify({ ...JSON.parse(manifest), version: '99.0.0' }))
    writeFileSync(join(app, 'hookspan.config.json'), JSON.stringify({ gates }))
    try {
      const { code, stderr } = await run()

      expect(code).toBe(1)
      expect(stderr).toMatch(/openai 99\.0\.0 is not attached: .* Gate "no-wiping" decides/)
      expect(spansOf()).toEqual([])
    } finally {
      writeFileSync(path, manifest)
      rmSync(join(app, 'hookspan.config.json'))
    }
  })
})
