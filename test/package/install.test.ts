import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freePort } from '../support/free-port.ts'
import { installPacked, manifest, outside, ROOT, run, runModule, SUBPATHS } from './support.ts'

let project: Awaited<ReturnType<typeof installPacked>>

beforeAll(async () => {
  project = await installPacked()
})
afterAll(() => project.remove())

function sizeOf(path: string): number {
  const stats = statSync(path)
  if (!stats.isDirectory()) return stats.size
  return readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0)
}

/** What only these subpaths need, and say so when it is missing. */
const NEEDS: Record<string, string> = { 'hookspan/vitest': 'vitest' }

describe('the package, installed alone', () => {
  it('brings at most 12 packages and 10 MB', () => {
    const lock = JSON.parse(readFileSync(join(project.folder, 'node_modules/.package-lock.json'), 'utf8'))
    const packages = Object.keys(lock.packages)

    expect(packages).toContain('node_modules/hookspan')
    expect(packages.length).toBeLessThanOrEqual(12)
    expect(sizeOf(join(project.folder, 'node_modules'))).toBeLessThanOrEqual(10_000_000)
  })

  it.each(SUBPATHS.filter((name) => NEEDS[name] === undefined))(
    'is imported as %s without any peer',
    async (name) => {
      expect(
        await runModule(project.folder, `console.log(Object.keys(await import('${name}')).length > 0)`),
      ).toMatch(/true|false/)
    },
  )

  it.each(Object.entries(NEEDS))('needs for %s the peer %s', async (name, peer) => {
    await expect(runModule(project.folder, `await import('${name}')`)).rejects.toThrow(
      `Cannot find package '${peer}'`,
    )
  })

  it('holds what is listed, its schemas among it, and no tests, sources or maps', async () => {
    const inside = (path: string) => existsSync(join(project.folder, 'node_modules/hookspan', path))
    const files = readdirSync(join(project.folder, 'node_modules/hookspan'), {
      recursive: true,
      encoding: 'utf8',
    })

    expect(readdirSync(join(project.folder, 'node_modules/hookspan')).sort()).toEqual([
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'dist',
      'docker-compose.jaeger.yml',
      'package.json',
      'schemas',
      'skills',
    ])
    expect(inside('schemas/events-1.0.schema.json')).toBe(true)
    expect(inside('skills/hookspan/SKILL.md')).toBe(true)
    expect(
      files.filter((path) => /\.test\.|\.map$|(?<!\.d)\.tsx?$|^(src|test|bench|examples)\//.test(path)),
    ).toEqual([])
    await runModule(
      project.folder,
      `import('hookspan/schemas/events-1.0.schema.json', { with: { type: 'json' } })`,
    )
  })

  it.skipIf(process.platform === 'win32')(
    'has a viewer that ends when npx is ended, which tells it nothing',
    async () => {
      const port = await freePort()
      const view = ['--no-install', 'hookspan', 'view', '--memory', '--no-open', '--port', String(port)]
      const npx = spawn('npx', view, { cwd: project.folder, env: outside, stdio: 'ignore' })
      const answers = () =>
        fetch(`http://127.0.0.1:${port}/v1/hookspan`).then(
          ({ status }) => status,
          () => undefined,
        )
      await expect.poll(answers, { timeout: 60_000 }).toBe(200)
      npx.kill('SIGTERM')
      await expect.poll(answers, { timeout: 20_000 }).toBe(undefined)
    },
  )

  it('has a command that says its version, Node’s, and that no SDK is there', async () => {
    const { stdout } = await run('npx', ['--no-install', 'hookspan', '--version'], { cwd: project.folder })

    const [version, runtime] = stdout.trim().split('\n')
    expect(version).toBe(manifest.version)
    expect(runtime).toMatch(/^Node \d+\.\d+\.\d+, no OpenTelemetry SDK$/)
  })
})

describe('an optional peer that is missing', () => {
  const agent = `{ name: 'a', instructions: 'i', model: 'm' }`

  it.each([
    [
      'openai',
      `const { execAgent } = await import('hookspan/agent'); await execAgent({ agent: ${agent}, prompt: 'hi' })`,
      'npm install openai',
    ],
    [
      '@opentelemetry/sdk-node',
      `const { startTracing } = await import('hookspan/tracing'); startTracing({ serviceName: 's' })`,
      'npm install @opentelemetry/api @opentelemetry/sdk-node',
    ],
  ])('%s is asked for by the line to type', async (_name, code, line) => {
    const report = `try { ${code}; console.log('no error') } catch (error) { console.log(error.code, error.message) }`

    const text = await runModule(project.folder, report)

    expect(text).toContain('MISSING_DEPENDENCY')
    expect(text).toContain(line)
  })
})

describe('the package for its tools', () => {
  it('has no fault that publint knows', async () => {
    const { stdout } = await run(join(ROOT, 'node_modules/.bin/publint'), ['run', '--strict', ROOT])

    expect(stdout).toContain('All good!')
  })

  it('has declarations without a fault of their own, however strictly a project checks', async () => {
    const file = join(ROOT, `.cache/every-subpath-${process.pid}.ts`)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, SUBPATHS.map((name, at) => `export * as s${at} from '${name}'`).join('\n'))
    const flags = [
      '--noEmit',
      '--strict',
      '--exactOptionalPropertyTypes',
      '--target',
      'es2022',
      '--lib',
      'es2022',
    ]
    const where = ['--module', 'nodenext', '--types', 'node', '--ignoreConfig', file]

    const said = await run(join(ROOT, 'node_modules/.bin/tsc'), [...flags, ...where], { cwd: ROOT })
      .catch((error: { stdout: string }) => error)
      .finally(() => rmSync(file))

    // SDKs have faults of theirs.
    expect(said.stdout.split('\n').filter((line) => /^(dist|\.cache)/.test(line))).toEqual([])
  })

  it('has types that resolve everywhere an ES module can be imported', async () => {
    const flags = ['--pack', ROOT, '--profile', 'esm-only', '--format', 'json']

    const { stdout } = await run(join(ROOT, 'node_modules/.bin/attw'), flags, { maxBuffer: 64_000_000 })

    const { entrypoints, problems } = JSON.parse(stdout).analysis
    expect(entrypoints['.']).toBeDefined()
    // TypeScript 5 under "module": "commonjs", as NestJS has it, reads no `exports`.
    expect(problems.filter((one: { resolutionKind?: string }) => one.resolutionKind === 'node10')).toEqual([])
    const named = Object.entries<{ types?: string }>(manifest.exports).flatMap(([name, { types }]) =>
      types === undefined || name === '.' ? [] : [[name.slice(2), [types]]],
    )
    expect(manifest.typesVersions).toEqual({ '*': Object.fromEntries(named) })
  })
})
