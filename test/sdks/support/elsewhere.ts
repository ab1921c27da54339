import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const RESOLVE = new URL('resolve.ts', import.meta.url).href
const RESUME = fileURLToPath(new URL('../processes/resume.ts', import.meta.url))

/** Runs a program that may import hookspan and the SDKs of test/sdks. Rejects with what it said when it fails. */
export function runProgram(
  path: string,
  args: readonly string[] = [],
  { input = '', env = {} }: { input?: string; env?: Record<string, string> } = {},
): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = execFile(
      process.execPath,
      ['--import', RESOLVE, path, ...args],
      { env: { ...process.env, ...env }, maxBuffer: 16 * 1024 * 1024 },
      (error, stdout, stderr) =>
        error ? reject(new Error(`${error.message}\n${stdout}\n${stderr}`)) : resolve(stdout),
    )
    child.stdin?.end(input)
  })
}

/** Goes on with a parked run in a process of its own: for the subject's `elsewhere`. */
export function elsewhere(subject: string): (saved: string) => Promise<string> {
  return (input) => runProgram(RESUME, [subject], { input })
}
