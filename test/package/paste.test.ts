/**
 * What the README says, done as a reader does it: an empty folder, `npm init -y`, the install line, the snippet pasted
 * under the name it is to be saved as, the command, and its output compared.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readReadme } from '../support/readme.ts'
import { linked, NPM_FLAGS, outside, ROOT, run, SUBPATHS, tarball } from './support.ts'
import { type ToolName, toolFor } from './tools.ts'

const quotes = readReadme(readFileSync(join(ROOT, 'README.md'), 'utf8')).map((quote) => ({
  ...quote,
  saveAs: quote.saveAs ?? `${quote.example} has no name to save it as`,
  output: quote.output ?? '',
}))
const installLines = [...new Set(quotes.flatMap(({ install }) => install ?? []))]
const scripts = quotes.filter(({ saveAs }) => !saveAs.includes('.test.'))
const [seeARun] = quotes

let root: string
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'hookspan-paste-'))
})
afterAll(() => rmSync(root, { recursive: true, force: true }))

/** vitest loads one of them as a module, `node --import` the other, which has to wait for a config file's guards. */
const NOT_REQUIRED = ['hookspan/vitest', 'hookspan/register']

const secondsSince = (startedAt: number) => ((performance.now() - startedAt) / 1_000).toFixed(1)

async function emptyProject(name: string): Promise<string> {
  const folder = join(root, name)
  mkdirSync(folder)
  await run('npm', ['init', '-y'], { cwd: folder, env: outside })
  return folder
}

/** The README's own line; the package comes from the tarball, because this version is nowhere else yet. */
function install(folder: string, line: string) {
  const words = line.split(' ').slice(1)
  const args = [...words.map((word) => (word === 'hookspan' ? tarball() : word)), ...NPM_FLAGS]
  return run('npm', args, { cwd: folder, env: outside })
}

let first: Promise<string> | undefined
/** Where the README's first line was typed, in an empty folder. */
function firstProject(): Promise<string> {
  first ??= emptyProject('see').then(async (folder) => {
    await install(folder, seeARun?.install ?? '')
    return folder
  })
  return first
}

/** A project with another line. What the first one brings lies there for npm, which drops what the other one does not name. */
async function nextProject(name: string, line: string): Promise<string> {
  const folder = await emptyProject(name)
  await linked(join(await firstProject(), 'node_modules'), join(folder, 'node_modules'))
  await install(folder, line)
  return folder
}

const save = (folder: string, { code }: { code: string }, name: string) =>
  writeFileSync(join(folder, name), code)

/** Ports and ids are others each time. */
const withoutIds = (text: string) => text.trim().replaceAll(/:\d+\/run\/[0-9a-f]{32}/g, ':4318/run/<id>')

/** Runs a saved snippet. @returns what it prints, on either stream. */
async function printed(folder: string, command: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const [program = '', ...args] = command
  const { stdout, stderr } = await run(program, args, { cwd: folder, env: { ...outside, ...env } })
  return withoutIds(stdout + stderr)
}

/** The viewer that the README has the reader start; on a free port, since others may use the usual one here. */
async function startView(folder: string): Promise<{ endpoint: string; stop(): void }> {
  const args = ['--no-install', 'hookspan', 'view', '--port', '0', '--memory', '--no-open']
  const child: ChildProcess = spawn('npx', args, { cwd: folder, env: outside, detached: true })
  const stop = () => {
    // npx starts the command in a process of its own.
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGTERM')
  }
  const endpoint = await new Promise<string>((resolve, reject) => {
    let said = ''
    const look = (chunk: Buffer) => {
      said += chunk
      const found = /send traces to +(\S+)/.exec(said)?.[1]
      if (found !== undefined) resolve(found)
    }
    child.stdout?.on('data', look)
    child.stderr?.on('data', look)
    child.once('exit', () => reject(new Error(`hookspan view ended: ${said}`)))
  })
  return { endpoint, stop }
}

describe('from an empty folder', () => {
  const told: string[] = []
  afterAll(() =>
    console.log(`Seconds from an empty folder to the result (npm's cache is used):\n${told.join('\n')}`),
  )

  it('has three jobs, each with what to install and how to save it', () => {
    expect(installLines.length).toBe(3)
    expect(quotes.map(({ saveAs }) => saveAs).filter((name) => !/^[\w.-]+\.mjs$/.test(name))).toEqual([])
  })

  it('shows my agent’s run in the viewer', async () => {
    const startedAt = performance.now()
    const folder = await firstProject()
    save(folder, seeARun!, seeARun!.saveAs)
    const view = await startView(folder)
    try {
      const env = { ...outside, OTEL_EXPORTER_OTLP_ENDPOINT: view.endpoint }
      const { stdout, stderr } = await run('node', [seeARun!.saveAs], { cwd: folder, env })
      told.push(`  see my agent's run     ${secondsSince(startedAt)}`)
      expect(stderr).toBe('')
      expect(withoutIds(stdout)).toBe(withoutIds(seeARun!.output))
      const link = stdout.trim().split('\n').at(-1) ?? ''
      const seen = await (await fetch(link.replace('/run/', '/api/runs/'))).json()
      expect(seen).toMatchObject({ summary: { title: 'support', status: 'ok', spans: 4 } })
    } finally {
      view.stop()
    }
    // What the README begins with needs the same packages.
    const demo = await printed(folder, ['npx', 'hookspan', 'demo', '--fast'], {
      OTEL_EXPORTER_OTLP_ENDPOINT: view.endpoint,
    })
    expect(demo).toContain('16 of 16 hook types fired')
    // And with nobody there, the link says so.
    const env = { ...outside, OTEL_EXPORTER_OTLP_ENDPOINT: view.endpoint }
    const { stdout } = await run('node', [seeARun!.saveAs], { cwd: folder, env })
    expect(stdout).toContain(`Nothing answers at ${view.endpoint}/v1/traces`)
    expect(stdout).toContain('Start `npx hookspan view`, or Jaeger with `npx hookspan jaeger`')
  })

  it('mocks a tool in a test, and by event.mock()', async () => {
    const startedAt = performance.now()
    const folder = await emptyProject('mock')
    const [test, standIn] = quotes.filter(({ install: line }) => line?.includes('vitest'))
    await install(folder, test?.install ?? '')
    save(folder, test!, test!.saveAs)
    expect((await printed(folder, ['npx', 'vitest', 'run'])).replaceAll(/ +/g, ' ')).toContain(
      test!.output.replaceAll(/ +/g, ' '),
    )
    told.push(`  mock a tool in a test  ${secondsSince(startedAt)}`)
    save(folder, standIn!, standIn!.saveAs)
    expect(await printed(folder, ['node', standIn!.saveAs])).toBe(standIn!.output)

    // Whoever forgot a package is told which, and not only what became of it.
    rmSync(join(folder, 'node_modules/openai'), { recursive: true })
    const failed = await run('npx', ['vitest', 'run'], { cwd: folder, env: outside }).then(
      () => 'it passed',
      ({ stdout, stderr }: { stdout: string; stderr: string }) => stdout + stderr,
    )
    expect(failed).toMatch(/The run itself failed: .*openai package.*npm install openai/)
    expect(failed).not.toMatch(/A mock was not used|was never asked for/)
  })

  it('watches sub-agents', async () => {
    const startedAt = performance.now()
    const folder = await emptyProject('sub-agents')
    const quote = quotes.find(({ example }) => example.includes('sub-agents'))!
    await install(folder, quote.install ?? '')
    save(folder, quote, quote.saveAs)
    expect(await printed(folder, ['node', quote.saveAs])).toBe(quote.output)
    told.push(`  watch sub-agents       ${secondsSince(startedAt)}`)
  })

  it('installs what the skill has installed, which is enough for its file', async () => {
    const skill = readFileSync(join(ROOT, 'skills/hookspan/SKILL.md'), 'utf8')
    const folder = await nextProject('skill', /^npm install .*$/m.exec(skill)?.[0] ?? '')
    expect(existsSync(join(folder, 'node_modules/openai'))).toBe(false)
    const code = /<!-- file: hookspan\.mjs -->\n```js\n([\s\S]*?)```/.exec(skill)?.[1] ?? ''
    save(folder, { code }, 'hookspan.mjs')
    const program = "const { tracing } = await import('./hookspan.mjs'); console.log(tracing.stats().queued)"
    expect(await printed(folder, ['node', '--input-type=module', '--eval', program])).toBe('0')
  })
})

describe('in projects of other kinds', () => {
  const everything = [...new Set(installLines.flatMap((line) => line.split(' ').slice(2)))].filter(
    (word) => !word.startsWith('-'),
  )
  let folder: string
  let view: Awaited<ReturnType<typeof startView>>
  beforeAll(async () => {
    folder = await nextProject('commonjs', `npm install ${everything.join(' ')}`)
    for (const quote of quotes) {
      save(folder, quote, quote.saveAs)
      save(folder, quote, quote.saveAs.replace(/\.mjs$/, '.mts'))
    }
    view = await startView(folder)
  })
  afterAll(() => view?.stop())

  function printAll(command: readonly string[], where = folder, extension = '.mjs') {
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: view.endpoint }
    const names = scripts.map(({ saveAs }) => saveAs.replace(/\.mjs$/, extension))
    return Promise.all(names.map((name) => printed(where, [...command, name], env)))
  }

  const expected = scripts.map(({ output }) => withoutIds(output))

  /** The tool's path; a test of what cannot be had is skipped, and says so. */
  async function needs(name: ToolName, skip: (note: string) => never): Promise<string> {
    const tool = await toolFor(name)
    if ('path' in tool) return tool.path
    console.warn(`skipped: ${tool.missing}`)
    return skip(tool.missing)
  }

  it('is a CommonJS project, as `npm init -y` makes it', () => {
    expect(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).type).not.toBe('module')
  })

  const requireAll = `
    for (const name of ${JSON.stringify(SUBPATHS.filter((name) => !NOT_REQUIRED.includes(name)))}) {
      if (typeof require(name) !== 'object') throw new Error(name)
    }
    const { HookDispatcher } = require('hookspan')
    const { startTracing } = require('hookspan/tracing')
    const { execAgent } = require('hookspan/agent')
    const { scriptedModel } = require('hookspan/mock')
    const dispatcher = new HookDispatcher()
    const tracing = startTracing({ serviceName: 'commonjs' })
    dispatcher.use(tracing)
    const agent = { name: 'required', model: 'm' }
    const run = execAgent({ agent, prompt: 'hi', client: scriptedModel(['hello from CommonJS']), dispatcher })
    run.then(async (done) => {
      const same = (await import('hookspan')).HookDispatcher === HookDispatcher
      console.log(done.content, same, (await tracing.linkTo(done)).text)
      await tracing.shutdown()
    })`

  it.each([
    ['this Node', undefined],
    ['the oldest Node of the range', 'node'],
    ['the newest Node', 'newestNode'],
  ] as const)('requires every subpath in %s', async (_which, name) => {
    const tool = name === undefined ? { path: 'node' } : await toolFor(name)
    if ('missing' in tool) return void console.warn(`skipped: ${tool.missing}`)
    writeFileSync(join(folder, 'required.cjs'), requireAll)
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: view.endpoint, NODE_NO_WARNINGS: '1' }
    expect(await printed(folder, [tool.path, 'required.cjs'], env)).toBe(
      'hello from CommonJS true http://127.0.0.1:4318/run/<id>',
    )
  })

  it.for([
    ['the oldest Node of the range', 'node'],
    ['the newest Node', 'newestNode'],
  ] as const)('runs in %s', async ([, name], { skip }) => {
    expect(await printAll([await needs(name, skip)])).toEqual(expected)
  })

  it('runs as .js where package.json says "type": "module"', async () => {
    const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    const inside = join(folder, 'esm')
    mkdirSync(inside)
    writeFileSync(join(inside, 'package.json'), JSON.stringify({ ...manifest, type: 'module' }))
    for (const quote of scripts) save(inside, quote, quote.saveAs.replace(/\.mjs$/, '.js'))
    expect(await printAll(['node'], inside, '.js')).toEqual(expected)
  })

  it('is TypeScript as it stands, and runs', async () => {
    const files = quotes.map(({ saveAs }) => saveAs.replace(/\.mjs$/, '.mts'))
    writeFileSync(
      join(folder, 'required.cts'),
      "import { HookDispatcher } from 'hookspan'\nexport const dispatcher: HookDispatcher = new HookDispatcher()\n",
    )
    const flags = ['--noEmit', '--strict', '--target', 'es2023', '--module', 'nodenext']
    expect(
      await printed(folder, [join(ROOT, 'node_modules/.bin/tsc'), ...flags, ...files, 'required.cts']),
    ).toBe('')
    expect(await printAll(['node'], folder, '.mts')).toEqual(expected)
  })

  it('runs with tsx', async ({ skip }) => {
    expect(await printAll([await needs('tsx', skip)], folder, '.mts')).toEqual(expected)
  })

  it('runs with Bun', async ({ skip }) => {
    expect(await printAll([await needs('bun', skip)])).toEqual(expected)
  })

  it('runs with Deno', async ({ skip }) => {
    expect(await printAll([await needs('deno', skip), 'run', '--allow-all'])).toEqual(expected)
  })

  it('runs under pnpm, in a workspace that hoists nothing', async ({ skip }) => {
    const pnpm = await needs('pnpm', skip)
    const workspace = join(root, 'pnpm')
    const app = join(workspace, 'app')
    mkdirSync(app, { recursive: true })
    writeFileSync(join(workspace, 'package.json'), '{"private":true}')
    writeFileSync(
      join(workspace, 'pnpm-workspace.yaml'),
      'packages: [app]\nhoist: false\nignoredBuiltDependencies: [protobufjs]\n',
    )
    const dependencies = Object.fromEntries(
      everything.map((name) => [name, name === 'hookspan' ? `file:${tarball()}` : '*']),
    )
    writeFileSync(join(app, 'package.json'), JSON.stringify({ name: 'app', private: true, dependencies }))
    await run(pnpm, ['install', '--no-frozen-lockfile'], { cwd: workspace, env: outside }).catch((error) => {
      // pnpm fails for build scripts that it did not run; all is installed all the same.
      if (!String(error.stdout + error.stderr).includes('IGNORED_BUILDS')) throw error
    })
    for (const quote of quotes) save(app, quote, quote.saveAs)
    expect(await printAll(['node'], app)).toEqual(expected)
    expect(await printed(app, [pnpm, 'exec', 'vitest', 'run'])).toMatch(/1 passed/)
  })

  it('prints it with Yarn, whose Plug’n’Play lets no package see what it does not name', async ({ skip }) => {
    const yarn = await needs('yarn', skip)
    const app = await emptyProject('yarn')
    const { stdout: registry } = await run('npm', ['config', 'get', 'registry'], { env: outside })
    const rc = [
      `npmRegistryServer: ${JSON.stringify(registry.trim())}`,
      'enableTelemetry: false',
      'enableImmutableInstalls: false',
      `unsafeHttpWhitelist: ["*"]`,
    ]
    writeFileSync(join(app, '.yarnrc.yml'), rc.join('\n'))
    writeFileSync(join(app, 'yarn.lock'), '')
    const dependencies = Object.fromEntries(
      // Yarn installs no peers by itself.
      [...everything, '@opentelemetry/api'].map((name) => [
        name,
        name === 'hookspan' ? `file:${tarball()}` : '*',
      ]),
    )
    writeFileSync(
      join(app, 'package.json'),
      JSON.stringify({ name: 'app', private: true, type: 'module', dependencies }),
    )
    await run(yarn, ['install'], { cwd: app, env: outside })
    for (const quote of scripts) save(app, quote, quote.saveAs)
    expect(await printAll([yarn, 'node'], app)).toEqual(expected)
  })
})
