/** Other runtimes and package managers, from the registry, each kept in `.cache/tools` once it was had. */
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT, run } from './support.ts'

export const TOOLS = {
  /** The oldest Node that `engines` allows. */
  node: { version: '22.15.0', file: 'node_modules/node/bin/node' },
  newestNode: { version: '26.10.0', file: 'node_modules/node/bin/node', package: 'node' },
  pnpm: { version: '12.21.0', file: 'node_modules/.bin/pnpm' },
  yarn: { version: '4.18.1', file: 'node_modules/.bin/yarn', package: '@yarnpkg/cli-dist' },
  tsx: { version: '4.23.15', file: 'node_modules/.bin/tsx' },
  bun: { version: '1.4.5', file: 'node_modules/.bin/bun' },
  deno: { version: '2.9.6', file: 'node_modules/.bin/deno' },
} as const

export type ToolName = keyof typeof TOOLS

/** The program, or why it cannot be had here. */
export async function toolFor(name: ToolName): Promise<{ path: string } | { missing: string }> {
  const { version, file, ...rest } = TOOLS[name]
  const folder = join(ROOT, '.cache/tools', `${name}-${version}`)
  const path = join(folder, file)
  try {
    if (!existsSync(folder)) await install(`${'package' in rest ? rest.package : name}@${version}`, folder)
    await run(path, ['--version'], { timeout: 60_000 })
    return { path }
  } catch (error) {
    return { missing: `${name} ${version} cannot be had here: ${String(error).split('\n')[0]}` }
  }
}

/** @throws where it cannot be had. */
export async function neededTool(name: ToolName): Promise<string> {
  const tool = await toolFor(name)
  if ('missing' in tool) throw new Error(tool.missing)
  return tool.path
}

/** Beside its place, and renamed once it is whole: an install that was cut short never looks finished. */
async function install(spec: string, folder: string): Promise<void> {
  const unfinished = `${folder}.${process.pid}`
  mkdirSync(unfinished, { recursive: true })
  writeFileSync(join(unfinished, 'package.json'), '{"private":true}')
  try {
    await run('npm', ['install', '--no-audit', '--no-fund', spec], { cwd: unfinished, timeout: 120_000 })
    try {
      renameSync(unfinished, folder)
    } catch (error) {
      // Another file has it by now.
      if (!existsSync(folder)) throw error
    }
  } finally {
    rmSync(unfinished, { recursive: true, force: true })
  }
}
