/** Builds programs that are not in any registry of ours out of Go modules. */
import { execFile, spawn } from 'node:child_process'
import {
  accessSync,
  constants,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  writeFileSync,
} from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

export interface GoProgram {
  readonly module: string
  readonly version: string
  /** The package of the program, in the module. */
  readonly command: string
  /** Of the module and of its go.mod, where Go's checksum database does not know the version. */
  readonly sums?: readonly [string, string]
}

/**
 * `go install module@version` refuses a module whose go.mod has `replace` directives, so the module is downloaded (and checked
 * against Go's checksum database, or the sums that are given), copied out of the read-only cache and built there.
 */
export async function buildGo({ module, version, command, sums }: GoProgram, target: string): Promise<void> {
  const work = mkdtempSync(join(tmpdir(), 'hookspan-go-build-'))
  try {
    if (sums !== undefined) {
      writeFileSync(join(work, 'go.mod'), 'module build\n')
      writeFileSync(
        join(work, 'go.sum'),
        `${module} ${version} ${sums[0]}\n${module} ${version}/go.mod ${sums[1]}\n`,
      )
    }
    const { stdout } = await run('go', ['mod', 'download', '-json', `${module}@${version}`], { cwd: work })
    const source = join(work, 'src')
    cpSync((JSON.parse(stdout) as { Dir: string }).Dir, source, { recursive: true })
    mkdirSync(dirname(target), { recursive: true })
    // Built beside its place and renamed, so that a build cut short never looks finished.
    const unfinished = `${target}.${process.pid}`
    await streamed('go', ['build', '-trimpath', '-ldflags=-s -w', '-o', unfinished, command], source)
    renameSync(unfinished, target)
  } finally {
    // Go's module cache is read-only, and the copy is too.
    if (existsSync(work) && process.platform !== 'win32') await run('chmod', ['-R', 'u+w', work])
    await rm(work, { recursive: true, force: true })
  }
}

function streamed(command: string, args: string[], cwd: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, stdio: ['ignore', 2, 2] })
    child.on('error', reject)
    child.on('exit', (code, signal) =>
      code === 0
        ? resolve()
        : reject(new Error(`\`${command} ${args[0]}\` ended with ${signal ?? code}; its output is above.`)),
    )
  })
}

/** Whether a program that can be run is there. */
export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
