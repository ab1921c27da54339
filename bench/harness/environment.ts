import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { availableParallelism, cpus, loadavg, release, type } from 'node:os'
import { fileURLToPath } from 'node:url'
import type { Environment } from './types.ts'

export const root = fileURLToPath(new URL('../..', import.meta.url))
export const peersFolder = fileURLToPath(new URL('../peers', import.meta.url))

/** What the numbers hold for. */
export function environment(loadBefore: number): Environment {
  return {
    date: new Date().toISOString().slice(0, 16).replace('T', ' '),
    commit: commit(),
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    os: `${type()} ${release()}`,
    node: process.version,
    loadBefore: round(loadBefore),
    loadAfter: round(loadavg()[0] as number),
    packages: { ...versions(root, MAIN), ...versions(peersFolder, peerNames()) },
  }
}

const MAIN = ['openai', '@opentelemetry/api', '@opentelemetry/sdk-trace']

/** Commit of the code, with `+` when files of the package differ from it. */
function commit(): string {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()
  try {
    const changed = git(
      'status',
      '--porcelain',
      '--',
      'src',
      'bench',
      ':!bench/results',
      ':!bench/RESULTS.md',
    )
    return git('rev-parse', '--short=12', 'HEAD') + (changed === '' ? '' : '+')
  } catch {
    return 'unknown'
  }
}

function peerNames(): string[] {
  const { dependencies } = JSON.parse(readFileSync(`${peersFolder}/package.json`, 'utf8'))
  return Object.keys(dependencies).filter((name) => !MAIN.includes(name))
}

function versions(folder: string, names: readonly string[]): Record<string, string> {
  const found: Record<string, string> = {}
  for (const name of names) {
    const path = `${folder}/node_modules/${name}/package.json`
    if (existsSync(path)) found[name] = JSON.parse(readFileSync(path, 'utf8')).version
  }
  return found
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}
