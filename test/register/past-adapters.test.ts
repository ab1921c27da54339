import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { startScriptedServer } from 'hookspan/mock'
import { expect, it, onTestFinished } from 'vitest'
import { startCollector } from '../support/collector.ts'
import { programEnv, REGISTER, receivedTree, registered } from '../support/registered.ts'
import { runCli } from '../support/run-cli.ts'

const at = (path: string) => fileURLToPath(new URL(`processes/${path}`, import.meta.url))

/** A project whose gate denies the tool of its program. */
function guarded(): string {
  const cwd = mkdtempSync(join(tmpdir(), 'hookspan-past-'))
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }))
  const gates = [{ id: 'no-wiping', type: 'toolPolicy', deny: ['wipe'] }]
  writeFileSync(join(cwd, 'hookspan.config.json'), JSON.stringify({ gates }))
  return cwd
}

/** A package of a project, with its code in this file. */
function install(cwd: string, name: string, code: string, file = 'index'): void {
  const folder = join(cwd, 'node_modules', name)
  mkdirSync(folder, { recursive: true })
  const exports = { [file === 'index' ? '.' : `./${file}`]: `./${file}.js` }
  writeFileSync(
    join(folder, 'package.json'),
    JSON.stringify({ name, version: '1.0.0', type: 'module', exports }),
  )
  writeFileSync(join(folder, `${file}.js`), code)
}

it.each([
  ['past/decisions-runner.mjs', 'DecisionsToolRunner'],
  ['past/tool-node.mjs', 'ToolNode'],
  ['past/tool-node.cjs', 'ToolNode'],
  ['past/react-agent.mjs', 'createReactAgent'],
  ['past/realtime.mjs', 'RealtimeSession'],
  ['past/computer.mjs', 'the computer'],
  ['past/environment-worker.mjs', 'EnvironmentWorker'],
  ['past/socket.mjs', 'ResponsesWS'],
  ['past/socket.mjs', 'OpenAIRealtimeWS'],
  ['past/socket.mjs', 'OpenAIRealtimeWebSocket'],
  ['past/socket.mjs', 'LiveWS'],
  ['past/socket.mjs', 'a live session'],
])(
  'keeps what runs tools past all adapters from a program with guards, and tells of it in others: %s, %s',
  async (file, name) => {
    const env = programEnv('http://127.0.0.1:9/v1', 'http://127.0.0.1:9')
    const args = [name]
    const bare = await registered(at(file), { env, args })
    expect({ code: bare.code, stdout: bare.stdout }, bare.stderr).toEqual({ code: 0, stdout: 'made\n' })
    expect(bare.stderr).toMatch(new RegExp(`hookspan: ${name} of .* is not attached: hookspan `))

    const held = await registered(at(file), { env, args, cwd: guarded() })
    expect({ code: held.code, stdout: held.stdout }, held.stderr).toEqual({ code: 1, stdout: '' })
    expect(held.stderr).toMatch(new RegExp(`${name} of .* Gate "no-wiping" decides of hookspan.config`))
  },
)

it.each([
  ['@ai-sdk/workflow', 'index', 'WorkflowAgent'],
  ['@workflow/ai', 'agent', 'DurableAgent'],
])(
  'keeps an agent of Vercel’s workflows from a program with guards, and tells of it in others: %s',
  async (name, file, agent) => {
    const cwd = guarded()
    // It asks its model and runs its tools by functions of `ai` that no agent of hookspan has.
    install(cwd, name, `export class ${agent} {}`, file)
    const program = join(cwd, 'program.mjs')
    const path = file === 'index' ? name : `${name}/${file}`
    writeFileSync(program, `import { ${agent} } from '${path}'\nnew ${agent}()\nconsole.log('made')\n`)
    const env = programEnv('http://127.0.0.1:9/v1', 'http://127.0.0.1:9')

    const bare = await registered(program, { env })
    expect({ code: bare.code, stdout: bare.stdout }, bare.stderr).toEqual({ code: 0, stdout: 'made\n' })
    expect(bare.stderr).toContain(`hookspan: ${agent} of ${path} is not attached: hookspan knows`)

    const held = await registered(program, { env, cwd })
    expect({ code: held.code, stdout: held.stdout }, held.stderr).toEqual({ code: 1, stdout: '' })
    expect(held.stderr).toMatch(new RegExp(`${agent} of .* Gate "no-wiping" decides of hookspan.config`))
  },
)

it('keeps an SDK that was loaded before hookspan from a program with guards, and tells of it in others', async () => {
  const model = await startScriptedServer({ respond: () => ({ content: 'done' }) })
  onTestFinished(() => model.close())
  const env = {
    ...programEnv(model.baseURL, 'http://127.0.0.1:9'),
    NODE_OPTIONS: `--import=${at('past/preload.mjs')}`,
  }
  const bare = await registered(at('run-tools.mjs'), { env })
  expect({ code: bare.code, stdout: bare.stdout }, bare.stderr).toEqual({ code: 0, stdout: 'done\n' })
  expect(bare.stderr).toMatch(/^hookspan: openai is not attached: it was loaded before hookspan, .+ Put/m)

  const held = await registered(at('run-tools.mjs'), { env, cwd: guarded() })
  expect({ code: held.code, stdout: held.stdout }, held.stderr).toEqual({ code: 1, stdout: '' })
  expect(held.stderr).toMatch(/openai is not attached: .* Gate "no-wiping" decides of hookspan.config/)
})

it.each(
  ['script', 'module', 'typed', 'options', 'environment', 'both'].flatMap((kind) => [
    [kind, 'NODE_OPTIONS'] as const,
    [kind, '--import'] as const,
  ]),
)('holds in a worker that Node preloads nothing in: %s, %s', async (kind, by) => {
  const ask = { toolCalls: [{ name: 'wipe', arguments: { what: 'all' } }] }
  const model = await startScriptedServer({ steps: [ask, { content: 'done' }] })
  onTestFinished(() => model.close())
  const cwd = guarded()
  const byUser = { ...programEnv(model.baseURL, 'http://127.0.0.1:9'), HOOKSPAN_CONFIG_HOME: cwd }
  const file = at('past/worker.mjs')
  const held =
    by === '--import'
      ? await registered(file, { env: byUser, args: [kind] })
      : await runCli([kind], { command: file, env: { ...byUser, NODE_OPTIONS: `--import=${REGISTER}` } })

  expect({ code: held.code, stdout: held.stdout }, held.stderr).toEqual({ code: 0, stdout: 'done\n' })
})

it.each(['chat', 'responses', 'messages', 'google'])(
  'tells once of tools that a program runs by itself where guards are to hold on tools: %s',
  async (kind) => {
    const ask = { toolCalls: [{ name: 'wipe', arguments: { what: 'all' } }] }
    const respond = ({ messages }: { messages: readonly unknown[] }) =>
      /Clean up/.test(JSON.stringify(messages.at(-1))) ? ask : { content: 'done' }
    const model = await startScriptedServer({ respond })
    onTestFinished(() => model.close())
    const env = programEnv(model.baseURL, 'http://127.0.0.1:9')
    const line = /^hookspan: the program runs tools by itself \(wipe\): no gate/gm

    const bare = await registered(at('own-loop.mjs'), { env, args: [kind] })
    expect({ code: bare.code, stdout: bare.stdout }, bare.stderr).toEqual({ code: 0, stdout: 'done\ndone\n' })
    expect(bare.stderr).not.toMatch(line)

    const held = await registered(at('own-loop.mjs'), { env, args: [kind], cwd: guarded() })
    expect({ code: held.code, stdout: held.stdout }, held.stderr).toEqual({ code: 0, stdout: 'done\ndone\n' })
    expect(held.stderr.match(line)).toHaveLength(1)
  },
)

it('of tools of MCP servers that a program gives other names, tells of none that was decided on', async () => {
  const toolCalls = ['shop_wipe', 'own_wipe'].map((name) => ({ name, arguments: { what: name } }))
  const model = await startScriptedServer({ steps: [{ toolCalls }, { content: 'done' }] })
  onTestFinished(() => model.close())
  const env = programEnv(model.baseURL, 'http://127.0.0.1:9')
  const { code, stdout, stderr } = await registered(at('mcp-renamed.mjs'), { env, cwd: guarded() })
  expect({ code, stdout }, stderr).toEqual({ code: 0, stdout: 'done\n' })
  expect(stderr).toMatch(/^hookspan: the program runs tools by itself \(own_wipe\): no gate/m)
})

it.each(['plain', 'typed'])('decides on the %s functions of a ResponsesToolRunner', async (kind) => {
  const ask = { toolCalls: [{ id: 'call_1', name: 'wipe', arguments: { what: 'all' } }] }
  const model = await startScriptedServer({ steps: [ask, { content: 'done' }, ask, { content: 'done' }] })
  const collector = await startCollector()
  onTestFinished(async () => {
    await model.close()
    await collector.stop()
  })
  const env = programEnv(model.baseURL, collector.url)
  const run = (cwd?: string) =>
    registered(at('responses-runner.mjs'), { env, args: [kind], ...(cwd && { cwd }) })

  expect(await run()).toMatchObject({ code: 0, stdout: 'all is wiped\n' })
  const spans = receivedTree(collector.spans)
  expect(spans.filter((name) => name.includes('execute_tool'))).toEqual(['  execute_tool wipe'])

  const held = await run(guarded())
  expect(held).toMatchObject({ code: 0, stdout: '' })
  expect(held.stderr).not.toContain('by itself')
})

it.each([
  ['session-runner.mjs', 'all is wiped\nwipe: done\n', 'wipe: refused\n'],
  ['agent-session.mjs', 'all is wiped\n', '{"denied":true\n'],
])(
  'decides on the tools of a hosted session, before the first request of its client: %s',
  async (name, bare, held) => {
    const env = programEnv('http://127.0.0.1:9/v1', 'http://127.0.0.1:9')
    expect(await registered(at(name), { env })).toMatchObject({ code: 0, stdout: bare })
    expect(await registered(at(name), { env, cwd: guarded() })).toMatchObject({ code: 0, stdout: held })
  },
)

it('tells of clients and frameworks that it does not know, unless an SDK that is attached asks them', async () => {
  const cwd = guarded()
  for (const name of ['ollama', '@mistralai/mistralai', 'cohere-ai', '@xsai/generate-text'])
    install(cwd, name, '')
  install(cwd, 'xsai', "import '@xsai/generate-text'")
  install(cwd, '@langchain/cohere', "import 'cohere-ai'")
  install(cwd, 'many-models', "import '@mistralai/mistralai'")
  const program = join(cwd, 'program.mjs')
  const loads = ['ollama', 'xsai', '@langchain/cohere', 'many-models'].map((name) => `import '${name}'`)
  writeFileSync(program, `${loads.join('\n')}\nconsole.log('done')\n`)

  const env = programEnv('http://127.0.0.1:9/v1', 'http://127.0.0.1:9')
  const { code, stdout, stderr } = await registered(program, { env, cwd })
  expect({ code, stdout }, stderr).toEqual({ code: 0, stdout: 'done\n' })
  const told = [...stderr.matchAll(/^hookspan: (\S+) is not attached: what it asks/gm)].map(
    ([, name]) => name,
  )
  expect(told.sort()).toEqual(['@mistralai/mistralai', 'ollama', 'xsai'])
})

it.each(['chat.mjs', 'tool-runner.mjs', 'over-http'])(
  'tells of a model that is asked by what is bundled into a program with guards: %s',
  async (name) => {
    const server = await startScriptedServer({ respond: () => ({ content: 'It is on its way.' }) })
    onTestFinished(() => server.close())
    const env = programEnv(server.baseURL, 'http://127.0.0.1:9')
    const cwd = guarded()
    const program = join(cwd, 'bundle.mjs')
    const overHttp = `import { request } from 'node:http'
      const options = { method: 'POST', headers: { 'content-type': 'application/json' } }
      const asked = request(process.env.OPENAI_BASE_URL + '/chat/completions?v=1', options, (reply) => reply.resume())
      asked.end(JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content: 'Hello' }] }))`
    if (name === 'over-http') writeFileSync(program, overHttp)
    else {
      const banner =
        "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url)"
      const entry = { entryPoints: [at(name)], outfile: program, banner: { js: banner } }
      await build({ ...entry, bundle: true, platform: 'node', format: 'esm', logLevel: 'silent' })
    }

    const told =
      /^hookspan: a model is asked \(\S+\) by what is not attached, .* no gate and no mock .* holds there/gm
    const held = await registered(program, { env, cwd })
    expect(held.code, held.stderr).toBe(0)
    expect(held.stderr.match(told)).toHaveLength(1)
    const bare = await registered(program, { env, cwd: tmpdir() })
    expect(bare).toMatchObject({ code: 0, stdout: held.stdout, stderr: expect.not.stringMatching(told) })
  },
)

it.each(['chat.mjs', 'agents.mjs', 'tool-runner.mjs'])(
  'tells of no model that an SDK asks which is attached: %s',
  async (name) => {
    const server = await startScriptedServer({ respond: () => ({ content: 'It is on its way.' }) })
    onTestFinished(() => server.close())
    const env = programEnv(server.baseURL, 'http://127.0.0.1:9')
    const { stderr } = await registered(at(name), { env, cwd: guarded() })
    expect(stderr).not.toContain('a model is asked')
  },
)

it.each(['messages', 'image', 'queue', 'relay'])(
  'tells of no model where none is asked past what is attached: %s',
  async (way) => {
    const server = await startScriptedServer({ respond: () => ({ content: 'It is on its way.' }) })
    onTestFinished(() => server.close())
    const env = programEnv(server.baseURL, 'http://127.0.0.1:9')
    const told = await registered(at('past/elsewhere.mjs'), { env, args: [way], cwd: guarded() })
    expect(told).toMatchObject({
      code: 0,
      stdout: 'done\n',
      stderr: expect.not.stringContaining('a model is asked'),
    })
  },
)
