import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, statSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { manifest, ROOT, runModule, SUBPATHS } from './support.ts'

/** How long an import takes is measured by `npm run bench -- --suite import`. Here is what it takes that long for. */
const loads = (file: string) => `
import { builtinModules, registerHooks } from 'node:module'
const files = [], had = new Set(process.moduleLoadList)
registerHooks({ load: (url, context, next) => (files.push(url), next(url, context)) })
await import(${JSON.stringify(pathToFileURL(join(ROOT, file)).href)})
const heavy = process.moduleLoadList.filter((name) => /undici|parse_args|repl/.test(name) && !had.has(name))
const builtins = process.moduleLoadList.filter((name) => !had.has(name)).map((name) => name.replace(/^NativeModule /, ''))
console.log(JSON.stringify({ files, heavy, dragged: builtins.filter((name) => builtinModules.includes(name)) }))`

interface Loads {
  readonly ours: string[]
  readonly builtins: string[]
  readonly dragged: string[]
  readonly heavy: string[]
}

async function loadedBy(file: string): Promise<Loads> {
  const { files, dragged, heavy } = JSON.parse(await runModule(ROOT, loads(file)))
  const dist = pathToFileURL(join(ROOT, 'dist/')).href
  const builtins = files.filter((url: string) => url.startsWith('node:'))
  const ours = files
    .filter((url: string) => !builtins.includes(url))
    .map((url: string) => url.replace(dist, ''))
  return { ours, builtins, dragged, heavy }
}

describe('importing the root', () => {
  it('opens two files', async () => {
    expect((await loadedBy('dist/index.js')).ours).toEqual(['index.js', 'core.js'])
  })

  // Of node:util only `types`: the names of the whole of it load worker_threads and a parser of arguments, 5 ms.
  it('asks Node for what it has loaded anyway', async () => {
    const { builtins, dragged } = await loadedBy('dist/index.js')
    expect(builtins.sort()).toEqual(['node:async_hooks', 'node:diagnostics_channel', 'node:util/types'])
    expect(dragged).toEqual([])
  })
})

const fileOf = (subpath: string): string =>
  manifest.exports[subpath.replace(/^hookspan/, '.')].default.slice(2)
const ADAPTERS = SUBPATHS.filter((subpath) => fileOf(subpath).startsWith('dist/adapters/'))
const CLIENTS = ['openai', 'anthropic', 'google-genai'].map((name) => `hookspan/${name}`)

const CLIENT_FILE = 'adapters/generated-client/shared.js'

// Reading and parsing them is what it costs: some 2 ms for 100 KB, and a third of one to open each.
describe('importing an adapter', () => {
  it.each(ADAPTERS)('of %s opens one file of its own, and what adapters share', async (subpath) => {
    const own = fileOf(subpath).replace('dist/', '')
    const ours = (await loadedBy(fileOf(subpath))).ours.filter((path) => !path.includes('node_modules'))

    expect(ours).toContain(own)
    const shared = ['adapters/shared.js', ...(CLIENTS.includes(subpath) ? [CLIENT_FILE] : [])]
    expect([own, ...shared, 'core.js']).toEqual(expect.arrayContaining(ours))
    const bytes = ours
      .filter((path) => path !== 'core.js')
      .map((path) => statSync(join(ROOT, 'dist', path)).size)
    expect(bytes.reduce((sum, size) => sum + size, 0)).toBeLessThan(176_000)
  })
})

describe('importing anything', () => {
  // `import` of node:http asks for its WebSocket, too, which loads all of `fetch`: 50 ms.
  it.each(SUBPATHS.filter((subpath) => !/vitest/.test(subpath)))('of %s loads no fetch', async (subpath) => {
    expect((await loadedBy(fileOf(subpath))).heavy).toEqual([])
  })

  it('of register, which every process below `hookspan run` does, opens two files', async () => {
    expect((await loadedBy('dist/register/index.js')).ours).toEqual([
      'register/index.js',
      'register/shared.js',
    ])
  })
})

describe('`hookspan run`', () => {
  it('opens five files before it starts a program, and no parser, viewer or fetch', async () => {
    const said = `
      const dist = ${JSON.stringify(pathToFileURL(join(ROOT, 'dist/')).href)}
      const files = []
      require('node:module').registerHooks({
        load: (url, context, next) => (url.startsWith('node:') || files.push(url.replace(dist, '')), next(url, context)),
      })
      const { ChildProcess } = require('node:child_process')
      const { spawn } = ChildProcess.prototype
      ChildProcess.prototype.spawn = function (...args) {
        const heavy = process.moduleLoadList.filter((name) => /undici|parse_args|repl|sqlite/.test(name))
        console.log(JSON.stringify({ files, heavy }))
        return spawn.apply(this, args)
      }
      process.argv.splice(1, 0, 'hookspan')
      import(dist + 'cli/bin.js')`
    const folder = mkdtempSync(join(tmpdir(), 'hookspan-'))
    const args = ['--eval', said, '--', 'run', '--db', join(folder, 'a.db'), process.execPath, '--eval', '0']
    const { stdout } = await promisify(execFile)(process.execPath, args, {
      env: { ...process.env, OTEL_EXPORTER_OTLP_ENDPOINT: await freeEndpoint() },
    })

    const [first = ''] = stdout.split('\n')
    expect(JSON.parse(first)).toEqual({
      files: [
        'cli/bin.js',
        'cli/run/plain-run.js',
        'cli/run/run-program.js',
        'cli/until-stopped.js',
        'cli/install-line.js',
      ],
      heavy: [],
    })
  })
})

async function freeEndpoint(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return `http://127.0.0.1:${port}`
}
