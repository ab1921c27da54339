import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../test/support/free-port.ts'
import { root } from '../harness/environment.ts'
import { startSink } from '../harness/sink.ts'
import { median } from '../harness/statistics.ts'
import type { Measurement } from '../harness/types.ts'
import { ATTACHING_PAIRS } from './amounts.ts'

type Sample = Awaited<ReturnType<Measurement>>

async function paired(
  whole: () => number | Promise<number>,
  bare: () => number | Promise<number>,
  proof: Sample['proof'],
): Promise<Sample> {
  const differences: number[] = []
  for (let index = 0; index < ATTACHING_PAIRS; index++) {
    const first = await (index % 2 === 0 ? whole : bare)()
    const second = await (index % 2 === 0 ? bare : whole)()
    differences.push(index % 2 === 0 ? first - second : second - first)
  }
  return { values: { 'ms, median': median(differences), 'ms, lowest': Math.min(...differences) }, proof }
}

/** Processor time of importing one module when others are there. */
const MEASURED = (adapter: string, sdk: string) => `
await import(${JSON.stringify(sdk)})
await import('hookspan')
const before = process.cpuUsage()
const names = Object.keys(await import(${JSON.stringify(adapter)}))
const { user, system } = process.cpuUsage(before)
console.log(JSON.stringify([(user + system) / 1_000, names.length]))`

export function importing(adapter: string, sdk: string): Measurement {
  const run = (name: string): [ms: number, names: number] => {
    const args = ['--input-type=module', '--eval', MEASURED(name, sdk)]
    return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8', cwd: root }))
  }
  return async () => {
    const [, exported] = run(adapter)
    return paired(
      () => run(adapter)[0],
      () => run('data:text/javascript,export{}')[0],
      { exported },
    )
  }
}

const PROGRAM = 'console.log(Date.now())'

/** Milliseconds from starting a command until the program's first line. */
function started(args: readonly string[], env: NodeJS.ProcessEnv): number {
  const before = Date.now()
  const output = execFileSync(process.execPath, args, {
    encoding: 'utf8',
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  return Number(output.trim().split('\n').at(-1)) - before
}

const bare = () => started(['--eval', PROGRAM], {})

/** @param viewer whether one has to be started. */
export function running(viewer: boolean): Measurement {
  return async () => {
    const folder = mkdtempSync(join(tmpdir(), 'hookspan-bench-'))
    const endpoint = viewer ? `http://127.0.0.1:${await freePort()}` : (await startSink()).url
    const flags = viewer ? ['--db', join(folder, 'traces.db')] : []
    const args = [`${root}/dist/cli/bin.js`, 'run', ...flags, '--', process.execPath, '--eval', PROGRAM]
    try {
      return await paired(() => started(args, { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }), bare, {})
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  }
}

export function registering(): Measurement {
  return async () => {
    const { url } = await startSink()
    const args = ['--import', `${root}/dist/register/index.js`, '--eval', PROGRAM]
    return paired(() => started(args, { OTEL_EXPORTER_OTLP_ENDPOINT: url }), bare, {})
  }
}
