/** hookspan where a bundler was: in Next.js, built and asked for real, and in bundles of esbuild and webpack. */
import { type ChildProcess, spawn } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startCollector } from '../support/collector.ts'
import { OTEL_SDKS } from './otel-sdks.ts'
import { installPacked, outside, run } from './support.ts'

const AGENT = `
import * as ai from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { HookDispatcher } from 'hookspan'
import { observeAISDK } from 'hookspan/ai-sdk'
import { toolPolicy } from 'hookspan/policies'
import { startTracing } from 'hookspan/tracing'
import { z } from 'zod'
export const tracing = startTracing({ serviceName: 'next-app' })
const dispatcher = new HookDispatcher()
dispatcher.use(tracing)
dispatcher.use({ name: 'careful', gates: [toolPolicy({ deny: ['drop_*'] })] })
const { generateText } = observeAISDK(ai, { dispatcher })
const tokens = { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0, text: 1, reasoning: 0 }
const usage = { inputTokens: tokens, outputTokens: tokens }
const call = (toolName) => ({ type: 'tool-call', toolCallId: toolName, toolName, input: '{"id":7}' })
export async function answer(prompt) {
  const turns = [
    { content: [call('find_order'), call('drop_table')], finishReason: { unified: 'tool-calls', raw: '' }, usage, warnings: [] },
    { content: [{ type: 'text', text: 'shipped' }], finishReason: { unified: 'stop', raw: '' }, usage, warnings: [] },
  ]
  const model = new MockLanguageModelV4({ doGenerate: async () => turns.shift() })
  const ran = []
  const tool = (name) => ai.tool({ inputSchema: z.object({ id: z.number() }), execute: () => ran.push(name) })
  const tools = { find_order: tool('find_order'), drop_table: tool('drop_table') }
  const { text } = await generateText({ model, prompt, tools, stopWhen: ai.isStepCount(3) })
  await tracing.forceFlush()
  return { text, ran }
}
`
const ROUTE = `
import { answer } from '../../agent.js'
export const dynamic = 'force-dynamic'
export async function GET(request) {
  return Response.json(await answer(new URL(request.url).pathname))
}
`
const LAYOUT = 'export default ({ children }) => <html><body>{children}</body></html>'

const RESTATE = '@restatedev/restate-sdk'

/** What a function of AWS Lambda may be made of. */
const LAMBDA = `
import { HookDispatcher } from 'hookspan'
import { sqliteStore } from 'hookspan/approval'
import { scriptedFetch } from 'hookspan/mock'
import { observeOpenAI } from 'hookspan/openai'
import { loadConfig } from 'hookspan/policies'
import { startTracing } from 'hookspan/tracing'
import OpenAI from 'openai'
async function main() {
  const dispatcher = new HookDispatcher()
  const tracing = startTracing({ serviceName: 'bundle', spoolDir: 'spool' })
  dispatcher.use(tracing)
  dispatcher.use((await loadConfig({ userFile: false })).plugin)
  const fetch = scriptedFetch({ steps: [{ content: 'hi' }] })
  const client = observeOpenAI(new OpenAI({ apiKey: 'none', fetch }), { dispatcher })
  const op = dispatcher.startOperation({ agentName: 'a' })
  await client.chat.completions.create({ model: 'm', messages: [{ role: 'user', content: 'hi' }] })
  const { state } = await op.toolCall({ apiName: 'wipe', args: {} }, () => 'wiped')
  await op.complete({ reason: 'done' })
  await tracing.shutdown()
  const store = sqliteStore({ path: 'approvals.db' })
  const pending = await store.list({ status: 'pending' })
  console.log(JSON.stringify({ ...tracing.stats(), state, pending }))
}
`

/** What people put before ES modules of esbuild's, for what is CommonJS in them, as `yaml` is. */
const REQUIRE = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);"

describe('hookspan in Next.js', () => {
  let project: Awaited<ReturnType<typeof installPacked>>
  let collector: Awaited<ReturnType<typeof startCollector>>
  const servers: ChildProcess[] = []
  const save = (path: string, text: string) => {
    mkdirSync(join(project.folder, path, '..'), { recursive: true })
    writeFileSync(join(project.folder, path), text)
  }
  const env = () => ({ ...outside, NEXT_TELEMETRY_DISABLED: '1', OTEL_EXPORTER_OTLP_ENDPOINT: collector.url })
  beforeAll(async () => {
    collector = await startCollector()
    const next = ['next@16', 'react@19', 'react-dom@19']
    project = await installPacked(OTEL_SDKS['3.x'], [...next, 'ai@7', 'zod@4'])
    save('package.json', JSON.stringify({ private: true }))
    save('app/layout.jsx', LAYOUT)
    save('app/page.jsx', 'export default () => <p>hi</p>')
    save('app/agent.js', AGENT)
    save('app/one/route.js', ROUTE.replace('../../', '../'))
    save('app/two/route.js', ROUTE.replace('../../', '../'))
  })
  afterAll(async () => {
    for (const server of servers) if (server.pid !== undefined) process.kill(-server.pid, 'SIGKILL')
    project?.remove()
    await collector.stop()
  })

  /** Not beyond its test: the next one's build is refused beside one that still goes on. */
  const buildNext = (signal: AbortSignal, config: object = {}) => {
    // A worker for each core would load it all again, for three routes.
    save('next.config.mjs', `export default ${JSON.stringify({ experimental: { cpus: 1 }, ...config })}`)
    return run(process.execPath, ['node_modules/next/dist/bin/next', 'build'], {
      cwd: project.folder,
      env: env(),
      signal,
    })
  }
  const KEPT_OUT = {
    serverExternalPackages: ['hookspan'],
    output: 'standalone',
    outputFileTracingIncludes: { '/*': ['node_modules/@opentelemetry/**/*', 'node_modules/hookspan/**/*'] },
  }
  const serve = (mode: 'start' | 'dev') =>
    answers(project.folder, ['node_modules/next/dist/bin/next', mode, '--port', '0'])
  async function answers(cwd: string, args: string[]): Promise<(path: string) => Promise<unknown>> {
    const server = spawn(process.execPath, args, { cwd, env: { ...env(), PORT: '0' }, detached: true })
    servers.push(server)
    const url = await new Promise<string>((resolve, reject) => {
      let said = ''
      server.stdout.on('data', (text: Buffer) => {
        said += text
        const [, local] = /Local: +(http:\S+)[\s\S]*Ready/.exec(said) ?? []
        if (local !== undefined) resolve(local)
      })
      server.once('exit', () => reject(new Error(said)))
    })
    return async (path) => {
      const response = await fetch(url + path)
      return response.ok ? response.json() : response.text()
    }
  }
  const held = { text: 'shipped', ran: ['find_order'] }
  const runs = () => collector.spans.filter(({ name }) => name.startsWith('invoke_agent')).length

  it('traces and decides in each route, bundled with what it is asked for by the guards of a config', async ({
    signal,
  }) => {
    const gates = "module.exports = { gates: [{ id: 'a', type: 'toolPolicy', deny: ['drop_*'] }] }"
    save('hookspan.config.cjs', gates)
    save(
      'app/agent.js',
      AGENT.replace(/^import \{ toolPolicy \}.*$/m, "import { loadConfig } from 'hookspan/policies'")
        .replace(
          /^dispatcher.use\(\{ name: 'careful'.*$/m,
          'const loaded = loadConfig({ userFile: false }).then(({ plugin }) => dispatcher.use(plugin))',
        )
        .replace('const ran = []', 'await loaded\n  const ran = []'),
    )
    await buildNext(signal)
    const get = await serve('start')
    expect([await get('/one'), await get('/two')]).toEqual([held, held])
    expect(runs()).toBe(2)
    save('app/agent.js', AGENT)
  })

  it('traces and decides in each route, kept out of the bundle', async ({ signal }) => {
    await buildNext(signal, KEPT_OUT)
    const get = await serve('start')
    const before = runs()
    expect([await get('/one'), await get('/two'), await get('/one')]).toEqual([held, held, held])
    expect(runs()).toBe(before + 3)
    expect(collector.spans.filter(({ name }) => name === 'execute_tool drop_table')).toHaveLength(before + 3)
  })

  // What the build before has made.
  it('is in a standalone build with what it loads, where the trace of files names both', async () => {
    // Elsewhere: above its own folder are all the packages of the project.
    const folder = mkdtempSync(join(tmpdir(), 'hookspan-standalone-'))
    try {
      cpSync(join(project.folder, '.next/standalone'), folder, { recursive: true, dereference: true })
      const before = runs()
      const get = await answers(folder, ['server.js'])
      expect(await get('/one')).toEqual(held)
      expect(runs()).toBe(before + 1)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })

  it('goes on when its code is edited in development', async () => {
    const get = await serve('dev')
    const before = runs()
    expect(await get('/one')).toEqual(held)
    save('app/agent.js', AGENT.replace("text: 'shipped'", "text: 'lost'"))
    await expect.poll(() => get('/one'), { timeout: 30_000 }).toEqual({ ...held, text: 'lost' })
    expect(await get('/two')).toEqual({ ...held, text: 'lost' })
    expect(runs()).toBeGreaterThanOrEqual(before + 3)
  })
})

describe('hookspan in a minified bundle', () => {
  let project: Awaited<ReturnType<typeof installPacked>>
  beforeAll(async () => {
    project = await installPacked(OTEL_SDKS['3.x'], ['openai@7', 'webpack@5', '@restatedev/restate-sdk@1'])
  })
  afterAll(() => project?.remove())

  /** Each in a file of its own in the project. webpack takes long to make names short. */
  const bundlers = {
    'esbuild.cjs': () => bundled('esbuild.cjs', 'cjs'),
    'esbuild.mjs': () => bundled('esbuild.mjs', 'esm', `${LAMBDA}await main()`, [], REQUIRE),
    'webpack.cjs': () => packed('webpack.cjs', "output: { path: __dirname, filename: 'webpack.cjs' }"),
    'webpack.mjs': () =>
      packed(
        'webpack.mjs',
        "experiments: { outputModule: true }, output: { path: __dirname, filename: 'webpack.mjs', module: true }",
      ),
  }
  const bundled = (
    outfile: string,
    format: 'cjs' | 'esm',
    contents = `${LAMBDA}main()`,
    external: string[] = [],
    banner = '',
  ) =>
    build({
      stdin: { contents, resolveDir: project.folder },
      outfile: join(project.folder, outfile),
      bundle: true,
      minify: true,
      platform: 'node',
      format,
      external,
      banner: { js: banner },
    })
  const packed = async (outfile: string, output: string) => {
    writeFileSync(join(project.folder, 'lambda.mjs'), `${LAMBDA}await main()`)
    const config = `mode: 'none', target: 'node22', entry: './lambda.mjs', ${output}`
    const code = `require('webpack')({ ${config} }, (error, stats) => {
      console.log(error ?? stats.toString({ all: false, errors: true, warnings: true }))
    })`
    writeFileSync(join(project.folder, 'pack.cjs'), code)
    const { stdout } = await run(process.execPath, ['pack.cjs'], { cwd: project.folder })
    expect({ outfile, stdout }).toEqual({ outfile, stdout: '\n' })
  }

  it.each(Object.entries(bundlers))(
    '%s: it traces, attaches, decides and keeps what it is to keep, also where it was not built',
    async (name, make) => {
      const gates = "module.exports = { gates: [{ id: 'a', type: 'toolPolicy', deny: ['wipe'] }] }"
      writeFileSync(join(project.folder, 'hookspan.config.cjs'), gates)
      await make()
      const built = project.folder
      const moved = `${built}-moved`
      renameSync(built, moved)
      const collector = await startCollector()
      try {
        const { stdout } = await run(process.execPath, [name], {
          cwd: moved,
          env: { ...outside, OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
        })
        expect(JSON.parse(stdout)).toMatchObject({ exported: 4, dropped: 0, state: 'denied', pending: [] })
      } finally {
        renameSync(moved, built)
        await collector.stop()
      }
    },
  )

  it.each([
    ['CommonJS, as it is', undefined],
    ['a bundle of CommonJS', 'cjs'],
    ['a bundle', 'esm'],
  ] as const)('hookspan/restate in %s is served by the SDK that the program loads', async (_name, format) => {
    const use = `
      const agent = { name: 'a', model: 'gpt-4o' }
      const client = { chat: { completions: { create() {} } } }
      const made = durableAgent({ name: 'refunds', agent, client, dispatcher: new HookDispatcher() })
      restate.createEndpointHandler({ services: [made] })
      console.log(Object.keys(made.workflow).join())
      process.exit()`
    const names = {
      hookspan: '{ HookDispatcher }',
      'hookspan/restate': '{ durableAgent }',
      [RESTATE]: 'restate',
    }
    const file = format === 'esm' ? 'restate.mjs' : 'restate.cjs'
    if (format === undefined) {
      const required = Object.entries(names).map(([name, what]) => `const ${what} = require('${name}')\n`)
      writeFileSync(join(project.folder, file), required.join('') + use)
    } else {
      const imported = Object.entries(names).map(
        ([name, what]) => `import ${what.replace(/^restate$/, '* as restate')} from '${name}'\n`,
      )
      await bundled(file, format, imported.join('') + use, [RESTATE])
    }
    const { stdout } = await run(process.execPath, [file], { cwd: project.folder, env: outside })
    expect(stdout).toContain('run,answered\n')
  })

  it('traces: no class of OpenTelemetry is told by its name', async () => {
    const collector = await startCollector()
    const code = `
      import { HookDispatcher } from 'hookspan'
      import { startTracing } from 'hookspan/tracing'
      const tracing = startTracing({ serviceName: 'bundle' })
      const dispatcher = new HookDispatcher()
      dispatcher.use(tracing)
      await dispatcher.startOperation({ agentName: 'a' }).complete({ reason: 'done' })
      await tracing.forceFlush()
      console.log(JSON.stringify(tracing.stats()))`
    await build({
      stdin: { contents: code, resolveDir: project.folder },
      outfile: join(project.folder, 'bundle.mjs'),
      bundle: true,
      minify: true,
      platform: 'node',
      format: 'esm',
    })
    const { stdout } = await run(process.execPath, ['bundle.mjs'], {
      cwd: project.folder,
      env: { ...outside, OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
    }).finally(() => collector.stop())
    expect(JSON.parse(stdout)).toEqual({ queued: 0, exported: 1, dropped: 0 })
  })
})
