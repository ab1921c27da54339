import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { runInit } from '../../src/cli/init/run-init.ts'
import { KNOWN_SDKS } from '../../src/cli/known-sdks.ts'
import { PACKAGES } from '../../src/register/packages.ts'
import { runCli } from '../support/run-cli.ts'

let root: string
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'hookspan-init-'))
})
afterAll(() => rmSync(root, { recursive: true, force: true }))

let count = 0
function project(files: Readonly<Record<string, string>>): string {
  const folder = join(root, String(count++))
  mkdirSync(folder)
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), text)
  }
  return folder
}

const init = (cwd: string, ...args: string[]) => runCli(['init', ...args], { cwd })
const OPENAI = '{"name":"shop","dependencies":{"openai":"*"}}'
const CLIENT = "import OpenAI from 'openai'\nexport const client = new OpenAI()\n"

describe('hookspan init, asked', () => {
  it('writes after a yes, and nothing after anything else', async () => {
    const folder = project({ 'package.json': OPENAI, 'a.mjs': CLIENT })
    // What it prints is looked at below.
    const printed = vi.spyOn(process.stdout, 'write').mockReturnValue(true)
    onTestFinished(() => printed.mockRestore())
    const asked: string[] = []
    const answer = (yes: boolean) => async (question: string) => {
      asked.push(question)
      return yes
    }
    expect(await runInit({}, { cwd: folder, ask: answer(false) })).toBe(1)
    expect(readdirSync(folder).sort()).toEqual(['a.mjs', 'package.json'])
    expect(await runInit({}, { cwd: folder, ask: answer(true) })).toBe(0)
    expect(asked[1]).toBe(
      'Write a.mjs, hookspan.setup.mjs, hookspan.config.yaml, test/hookspan.test.mjs? [y/N] ',
    )
    expect(readFileSync(join(folder, 'a.mjs'), 'utf8')).toContain(
      'observeOpenAI(new OpenAI(), { dispatcher })',
    )
    expect(await runInit({}, { cwd: folder, ask: answer(true) })).toBe(0)
    expect(asked).toHaveLength(2)
  })

  it('refuses to write and not to write', async () => {
    const { code, stderr } = await init(project({ 'package.json': OPENAI }), '--yes', '--dry-run')
    expect([code, stderr]).toEqual([2, expect.stringContaining('--yes and --dry-run exclude each other')])
  })

  it('names what has to be installed', async () => {
    const { stdout } = await init(project({ 'package.json': OPENAI, 'a.mjs': CLIENT }), '--yes')
    expect(stdout).toContain('    npm install hookspan @opentelemetry/sdk-node\n')
    expect(stdout).toContain('    npm install -D vitest\n')
  })

  it.each([
    ['pnpm-lock.yaml', 'pnpm add hookspan @opentelemetry/sdk-node', 'pnpm add -D vitest', 'npx vitest run'],
    [
      'yarn.lock',
      'yarn add hookspan @opentelemetry/sdk-node @opentelemetry/api',
      'yarn add -D vitest',
      'yarn vitest run',
      'yarn hookspan hooks check',
    ],
    ['bun.lock', 'bun add hookspan @opentelemetry/sdk-node', 'bun add -D vitest', 'npx vitest run'],
  ])('names it for the package manager that keeps %s', async (lock, ...lines) => {
    const root = project({ [lock]: '', 'app/package.json': OPENAI, 'app/a.mjs': CLIENT })
    const { stdout } = await init(join(root, 'app'), '--yes')
    for (const line of lines) expect(stdout).toMatch(new RegExp(`^ {4}${line}( test/.*)?$`, 'm'))
  })

  it.each([
    [
      '@strands-agents/sdk',
      { peerDependencies: { '@opentelemetry/exporter-trace-otlp-http': '^0.219.0' } },
      '0.219',
    ],
    ['@google/adk', { dependencies: { '@opentelemetry/exporter-trace-otlp-http': '^0.205.0' } }, '0.205'],
  ])('names the OpenTelemetry that npm takes beside %s', async (name, brings, version) => {
    const manifest = JSON.stringify({ name, version: '1.0.0', ...brings })
    const folder = project({
      'package.json': OPENAI,
      'a.mjs': CLIENT,
      [`node_modules/${name}/package.json`]: manifest,
    })
    const { stdout } = await init(folder, '--yes')
    expect(stdout).toContain(`    npm install hookspan @opentelemetry/sdk-node@${version}\n`)
  })

  it.each([
    ['20.19.43', 'vitest @types/node@22'],
    ['24.0.0', 'vitest'],
  ])('names vitest so that npm installs it beside the types of Node %s', async (version, named) => {
    const folder = project({
      'package.json': '{"name":"shop","dependencies":{"openai":"*"},"devDependencies":{"@types/node":"*"}}',
      'a.mjs': CLIENT,
      'node_modules/@types/node/package.json': JSON.stringify({ name: '@types/node', version }),
    })
    expect((await init(folder, '--yes')).stdout).toContain(`    npm install -D ${named}\n`)
  })
})

describe('hookspan init, where it cannot be certain', () => {
  it('prints the lines to paste for what it does not edit', async () => {
    const folder = project({
      'package.json': '{"name":"shop","dependencies":{"openai":"*","@mastra/core":"*"}}',
      'src/page.tsx':
        "import OpenAI from 'openai'\nexport const client = new OpenAI()\nexport default () => <p />\n",
    })
    const { code, stdout } = await init(folder, '--yes')
    expect(code).toBe(0)
    expect(stdout).toContain('! hookspan/openai in src/page.tsx is for you to write: JSX is not edited.')
    expect(stdout).toContain('    const client = observeOpenAI(new OpenAI(), { dispatcher })\n')
    expect(stdout).toContain('! hookspan/mastra is for you to write: no source makes what it attaches to.')
    expect(readFileSync(join(folder, 'src/page.tsx'), 'utf8')).not.toContain('hookspan')
  })

  it('attaches nothing to a second dispatcher', async () => {
    const own = "import { HookDispatcher } from 'hookspan'\nexport const mine = new HookDispatcher()\n"
    const folder = project({ 'package.json': OPENAI, 'a.mjs': CLIENT, 'mine.mjs': own })
    const { stdout } = await init(folder, '--yes')
    expect(stdout).toContain(
      '! hookspan/openai in a.mjs is for you to write: the project has a dispatcher of its own.',
    )
    expect(readFileSync(join(folder, 'a.mjs'), 'utf8')).toBe(CLIENT)
    expect(readdirSync(folder).filter((name) => name.includes('setup'))).toEqual([])
  })

  it('writes no test that another runner would fail on', async () => {
    const folder = project({ 'package.json': '{"scripts":{"test":"node --test"}}' })
    const { stdout } = await init(folder, '--yes')
    expect(stdout).toContain('No test is written: the project has node --test')
    expect(existsSync(join(folder, 'test'))).toBe(false)
  })

  it.each([
    ['.js', '{"compilerOptions":{"module":"nodenext"}}'],
    ['.ts', '{"compilerOptions":{/* run by Node */"module":"nodenext","allowImportingTsExtensions":true,},}'],
    ['', '{"compilerOptions":{"moduleResolution":"bundler"}}'],
  ])('imports the setup as %s, as the compiler wants it', async (ending, tsconfig) => {
    const folder = project({ 'package.json': OPENAI, 'tsconfig.json': tsconfig, 'a.ts': CLIENT })
    expect((await init(folder, '--yes')).code).toBe(0)
    expect(readFileSync(join(folder, 'a.ts'), 'utf8')).toContain(`from './hookspan.setup${ending}'`)
  })
})

describe('hookspan init, in odd places', () => {
  it.each([
    ['{"compilerOptions":{"module":"commonjs","rootDir":"src","outDir":"dist"}}', 'mjs'],
    ['{"compilerOptions":{"outDir":"dist"},"include":["./**/*"]}', 'mjs'],
    ['{"compilerOptions":{"outDir":"dist"},"include":["src"]}', 'mts'],
    ['{"compilerOptions":{"outDir":"dist"},"files":["src/chat.ts"]}', 'mts'],
    ['{"compilerOptions":{"noEmit":true}}', 'mts'],
  ])('writes no test that the compiler would emit beside the sources: %s', async (tsconfig, ending) => {
    const folder = project({ 'package.json': OPENAI, 'tsconfig.json': tsconfig, 'src/chat.ts': CLIENT })
    expect((await init(folder, '--yes')).code).toBe(0)
    expect(readdirSync(join(folder, 'test'))).toEqual([`hookspan.test.${ending}`])
    expect(readFileSync(join(folder, `test/hookspan.test.${ending}`), 'utf8').includes(': string')).toBe(
      ending === 'mts',
    )
    expect((await init(folder, '--yes')).stdout).toContain('Nothing to do')
  })

  it.each([
    ['node16', 1],
    ['Node18', 1],
    ['nodenext', 0],
    ['commonjs', 0],
  ])('says where CommonJS in TypeScript cannot import hookspan: %s', async (module, times) => {
    const tsconfig = `{"compilerOptions":{"module":"${module}"}}`
    const files = { 'tsconfig.json': tsconfig, 'a.ts': CLIENT }
    const said = `! tsconfig.json: under "module": "${module}" CommonJS cannot import hookspan.`
    const { stdout } = await init(project({ ...files, 'package.json': OPENAI }), '--yes')
    expect(stdout.split(said).length - 1).toBe(times)
    const asModule = JSON.stringify({ ...JSON.parse(OPENAI), type: 'module' })
    expect((await init(project({ ...files, 'package.json': asModule }), '--yes')).stdout).not.toContain(said)
  })

  it.each([
    // Nuxt and Nitro, Astro, Next.js, Vercel
    ['server/api/chat.ts', 'server/hookspan.setup.ts'],
    ['src/pages/api/chat.ts', 'src/hookspan.setup.ts'],
    ['pages/api/chat.ts', 'hookspan.setup.ts'],
    ['app/api/chat/route.ts', 'app/hookspan.setup.ts'],
    ['api/chat.ts', 'hookspan.setup.ts'],
    ['src/chat.ts', 'src/hookspan.setup.ts'],
  ])('writes no file where each file is a route: beside %s it is %s', async (source, setup) => {
    const folder = project({ 'package.json': OPENAI, [source]: CLIENT })
    expect((await init(folder, '--yes')).code).toBe(0)
    expect(existsSync(join(folder, setup))).toBe(true)
  })

  it.each([
    // NestJS, SvelteKit
    ["include: ['**/*.spec.ts'], coverage: { include: ['src/**'] }", 'test/hookspan.spec.ts'],
    ["exclude: ['a.test.ts'], include: ['src/**/*.{test,spec}.{js,ts}']", 'src/hookspan.test.ts'],
    ["include: ['./test/**/*.?(c|m)[jt]s?(x)']", 'test/hookspan.test.mts'],
    ["include: [...mine, 'checks/*.test.ts']", 'test/hookspan.test.mts'],
    ['', 'test/hookspan.test.mts'],
  ])('writes its test where vitest looks: test: { %s }', async (options, test) => {
    const folder = project({
      'package.json': OPENAI,
      'src/chat.ts': CLIENT,
      'vite.config.ts': `export default { test: { ${options} } }`,
    })
    expect((await init(folder, '--yes')).stdout).toContain(`npx vitest run ${test}\n`)
    expect(existsSync(join(folder, test))).toBe(true)
    expect((await init(folder, '--yes')).stdout).toContain('Nothing to do')
  })

  const refused = async (folder: string, why: string | RegExp) => {
    const before = readdirSync(folder)
    const { code, stdout, stderr } = await init(folder, '--yes')
    expect(stderr).toMatch(why)
    expect([code, stdout.includes('Wrote')]).toEqual([2, false])
    expect(readdirSync(folder)).toEqual(before)
  }

  it('says where the nearest package.json is', async () => {
    const folder = project({ 'package.json': OPENAI, 'below/a.mjs': CLIENT })
    await refused(
      join(folder, 'below'),
      `There is no package.json in ${folder}/below. The nearest one is in ${folder}`,
    )
    await refused(project({ 'a.mjs': CLIENT }), 'Run `npm init -y` first.')
  })

  it.each([
    ['{"name":', /package\.json is not JSON: .*Mend it first/],
    ['[]', 'package.json holds no object'],
  ])('refuses a package.json that is broken: %s', async (text, why) => {
    await refused(project({ 'package.json': text }), why)
  })

  it.each([
    ['package.json', '{"workspaces":["packages/*"]}'],
    ['pnpm-workspace.yaml', 'packages: ["packages/*"]\n'],
  ])('refuses the root of several packages, and names those with an SDK: %s', async (file, text) => {
    const folder = project({
      'package.json': '{}',
      'packages/agent/package.json': '{"dependencies":{"ai":"7"}}',
      'packages/site/package.json': '{}',
      [file]: text,
    })
    await refused(
      folder,
      /root of several packages: run it in one of them\. .*known: packages\/agent \(ai\)\.$/m,
    )
  })

  it('takes the root of several packages whose own sources load an SDK for one of them', async () => {
    const folder = project({
      'package.json': '{"type":"module","workspaces":["packages/*"],"dependencies":{"openai":"7"}}',
      'packages/site/package.json': '{"dependencies":{"ai":"7"}}',
      'packages/site/a.mjs': "import { generateText } from 'ai'\ngenerateText({})\n",
    })
    await refused(folder, 'root of several packages')
    writeFileSync(join(folder, 'a.mjs'), CLIENT)
    expect((await init(folder, '--yes')).code).toBe(0)
    expect(readFileSync(join(folder, 'a.mjs'), 'utf8')).toContain('observeOpenAI')
    expect(readFileSync(join(folder, 'packages/site/a.mjs'), 'utf8')).not.toContain('hookspan')
  })

  it.each([
    ['package.json', '{"type":"module","dependencies":{"openai":"7"},"devDependencies":{"wrangler":"4"}}'],
    ['wrangler.jsonc', '{}'],
  ])("says that what it writes is not for Cloudflare's Workers: %s", async (file, text) => {
    const folder = project({ 'package.json': OPENAI, 'a.mjs': CLIENT, [file]: text })
    const { stdout } = await init(folder, '--dry-run')
    expect(stdout).toMatch(
      /! wrangler.*: in Cloudflare's Workers this setup does not run, as it needs Node\./,
    )
  })

  it('refuses a CommonJS program under a config that has to be waited for', async () => {
    const files = {
      'hookspan.config.mjs': 'export default {}',
      'a.cjs': "const OpenAI = require('openai')\nnew OpenAI()\n",
    }
    await refused(project({ 'package.json': OPENAI, ...files }), 'a CommonJS program cannot wait for one')
  })

  it('writes nothing where one of the files cannot be written', async () => {
    const folder = project({ 'package.json': OPENAI, 'a.mjs': CLIENT, test: 'a file' })
    await refused(
      folder,
      /test\/hookspan\.test\.mjs cannot be written: .*test is no folder\. Nothing was written/,
    )
    expect(readFileSync(join(folder, 'a.mjs'), 'utf8')).toBe(CLIENT)
  })

  it.skipIf(process.getuid?.() === 0)('refuses a folder that is read-only', async () => {
    const folder = project({ 'package.json': OPENAI, 'a.mjs': CLIENT })
    chmodSync(folder, 0o555)
    await refused(folder, /cannot be written: EACCES.*Nothing was written/)
    chmodSync(folder, 0o755)
  })
})

it('knows each package that `hookspan run` attaches, and a way for it', () => {
  const known = KNOWN_SDKS.map(([name]) => name as string)
  // Parts of an SDK, and those that are told.
  const others = [
    '@openai/agents-core',
    '@openai/agents-realtime',
    '@langchain/langgraph',
    '@ai-sdk/workflow',
    '@workflow/ai',
  ]
  const packages = Object.keys(PACKAGES).map((name) =>
    name
      .split('/')
      .slice(0, name.startsWith('@') ? 2 : 1)
      .join('/'),
  )
  expect(packages.filter((name) => !known.includes(name) && !others.includes(name))).toEqual([])
})
