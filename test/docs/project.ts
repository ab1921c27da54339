/** A project in which the commands of the pages have something to do: agents, recordings, a store of runs, approvals. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { sqliteStore } from 'hookspan/approval'
import { startScriptedServer } from 'hookspan/mock'
import { startViewer } from 'hookspan/viewer'
import { request } from '../approval/support.ts'
import { langSmithRuns } from '../support/exported-runs.ts'
import { freePort } from '../support/free-port.ts'
import { startJaeger } from '../support/jaeger.ts'
import { sampleRun } from '../viewer/sample-run.ts'
import { id, post } from '../viewer/support.ts'
import { ROOT } from './blocks.ts'

/** What the pages call a trace, the beginning of another, and a call of a model. */
const TRACE = '0af7651916cd43dd8448eb211c80319c'
const OTHER = '5c1f0c1c'.padEnd(32, '0')
const CALL = '00f067aa0ba902b7'
/** The runs of a team, in its Jaeger. */
const TEAM = ['3f2a90c1d4e5b6a7988776655443322a', '77b1c0de'.padEnd(32, '0')]

const AGENT = `
import { HookDispatcher } from 'hookspan'
import { scriptedFetch } from 'hookspan/mock'
import OpenAI from 'openai'

const fetch = scriptedFetch({ steps: [{ content: 'Order 7 is on its way.' }] })
const client = new OpenAI({ apiKey: 'none', fetch })
const messages = [{ role: 'user', content: 'Where is order 7?' }]
const reply = await client.chat.completions.create({ model: 'gpt-4o', messages })
console.log(reply.choices[0].message.content)
`

export interface Told {
  readonly code: number | null
  readonly said: string
}

const madeRun = (traceId: string, atMs = 0): object =>
  JSON.parse(
    JSON.stringify(sampleRun({ traceId, atMs }))
      .replaceAll(id(3), CALL)
      .replaceAll('"test"', '"support-bot"'),
  )

/** The last of them is the latest. */
const RUNS = [madeRun(OTHER, -60_000), madeRun(TRACE)]
const TEAM_RUNS = [...RUNS, ...TEAM.map((traceId) => madeRun(traceId, -120_000))]

/** A real one with the runs; undefined where none is installed. */
async function someJaeger() {
  const jaeger = await startJaeger().catch((error: Error) => {
    if (process.env.CI === 'true') throw error
    console.warn(`Commands that ask a Jaeger are skipped: ${error.message}`)
    return undefined
  })
  for (const run of jaeger === undefined ? [] : TEAM_RUNS) {
    const headers = { 'content-type': 'application/json' }
    const told = await fetch(`${jaeger?.otlpUrl}/v1/traces`, {
      method: 'POST',
      headers,
      body: JSON.stringify(run),
    })
    if (!told.ok) throw new Error(await told.text())
  }
  return jaeger
}

export async function startProject() {
  const folder = mkdtempSync(join(tmpdir(), 'hookspan-docs-'))
  const home = join(folder, '.home')
  const bin = join(folder, 'node_modules/.bin')
  mkdirSync(bin, { recursive: true })
  mkdirSync(home)
  // As npm lays it out; the built package, which test:package installs from the tarball.
  symlinkSync(ROOT, join(folder, 'node_modules/hookspan'))
  symlinkSync('../hookspan/dist/cli/bin.js', join(bin, 'hookspan'))
  symlinkSync(join(ROOT, 'node_modules/openai'), join(folder, 'node_modules/openai'))
  const manifest = { name: 'shop', type: 'module', dependencies: { hookspan: '*', openai: '*' } }
  const files = {
    'package.json': JSON.stringify(manifest),
    'agent.js': AGENT,
    'export.json': JSON.stringify({ runs: langSmithRuns }),
    'events.jsonl': `${JSON.stringify({ hookType: 'beforeToolCall', apiName: 'run_shell', identifier: 'local', args: {} })}\n`,
  }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  for (const name of ['agent.ts', 'refunds.ts', 'start.ts']) {
    cpSync(join(ROOT, 'examples/durable', name), join(folder, name))
  }
  writeFileSync(join(folder, 'runs.config.ts'), "export { default } from './refunds.ts'\n")
  await sqliteStore({ path: join(folder, 'approvals.db') }).add(request('apr_1'))

  const viewer = await startViewer({ port: 0, db: join(home, 'traces.db') })
  for (const run of RUNS) await post(viewer, run)
  await fetch(`${viewer.url}/api/runs/${TRACE}/marks`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${viewer.token}` },
    body: JSON.stringify({ mark: 'good' }),
  })
  await viewer.close()

  const jaeger = await someJaeger()
  const model = await startScriptedServer({ respond: () => ({ content: 'Let me look.' }) })
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(OTEL_|HOOKSPAN_|FORCE_COLOR|CI$|COLUMNS|NODE_OPTIONS|VITEST|JAEGER_|npm_)/i.test(name),
  )
  const nobody = await freePort()
  const ports = { 4318: await freePort(), 4319: await freePort(), 16686: nobody }
  const env: Record<string, string> = {
    ...(Object.fromEntries(inherited) as Record<string, string>),
    PATH: [dirname(process.execPath), process.env.PATH].join(delimiter),
    HOME: folder,
    HOOKSPAN_HOME: home,
    NO_COLOR: '1',
    npm_config_update_notifier: 'false',
    // Docker is away, wherever this runs.
    DOCKER_HOST: 'unix:///nowhere/docker.sock',
    OPENAI_API_KEY: 'none',
    OPENAI_BASE_URL: model.baseURL,
    HOOKSPAN_DOCS_PORTS: JSON.stringify({
      ...ports,
      ...(jaeger && { 16686: Number(new URL(jaeger.queryUrl).port) }),
    }),
    NODE_OPTIONS: `--import=${new URL('ports.mjs', import.meta.url)} --no-warnings`,
  }

  return {
    folder,
    env,
    hasJaeger: jaeger !== undefined,
    /**
     * Runs a line as it stands.
     *
     * @param how.serves it does not end by itself, and is interrupted once it `says` that
     * @param how.apart runs that it makes are kept elsewhere
     * @param how.alone the Jaeger does not run
     */
    async run(
      line: string,
      how: { says?: RegExp; serves?: true; apart?: true; alone?: true } = {},
    ): Promise<Told> {
      const until = how.serves && how.says
      const child = spawn('bash', ['-c', line], {
        cwd: folder,
        env: {
          ...env,
          ...(how.apart && { HOOKSPAN_HOME: join(home, 'apart') }),
          ...(how.alone && { HOOKSPAN_DOCS_PORTS: JSON.stringify(ports) }),
        },
        stdio: ['ignore', 'pipe', 'pipe'],
        detached: true,
      })
      let said = ''
      let interrupted = false
      const take = (chunk: Buffer) => {
        said += chunk
        if (interrupted || until === undefined || !until.test(said)) return
        interrupted = true
        // As Ctrl-C does it: to all that the line started.
        process.kill(-(child.pid as number), 'SIGINT')
      }
      child.stdout.on('data', take)
      child.stderr.on('data', take)
      const [code] = (await once(child, 'close')) as [number | null]
      return { code, said }
    },
    async stop() {
      await jaeger?.stop()
      await model.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
