/** Programs, run as users run them, with every dispatcher in them watched. */
import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PROFILES, type Seen } from './watch.ts'

export const WATCH = new URL('program.ts', import.meta.url).href

/** Runs a function with a folder, and gives what the processes it started have seen. */
export async function seenBy(run: (env: Record<string, string>) => Promise<unknown>): Promise<Seen> {
  const folder = mkdtempSync(join(tmpdir(), 'hookspan-conformance-'))
  await run({ HOOKSPAN_SEEN: folder, NODE_OPTIONS: `--import=${WATCH}` })
  const all = readdirSync(folder).map((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')) as Seen)
  rmSync(folder, { recursive: true })
  return Object.fromEntries(
    PROFILES.map((profile) => [
      profile,
      {
        spans: all.flatMap((one) => one[profile].spans),
        metrics: all.flatMap((one) => one[profile].metrics),
      },
    ]),
  ) as Seen
}

/** Runs one program. Rejects with what it said when it fails. @param args its path first */
export function programSeen(args: readonly string[], more: Record<string, string> = {}): Promise<Seen> {
  return seenBy(
    (env) =>
      new Promise<void>((resolve, reject) => {
        const options = { env: { ...process.env, ...more, ...env }, maxBuffer: 64_000_000, timeout: 120_000 }
        const child = execFile(process.execPath, [...args], options, (error, stdout, stderr) =>
          error ? reject(new Error(`${error.message}\n${stdout}\n${stderr}`)) : resolve(),
        )
        // Where somebody is asked.
        child.stdin?.end('y\n')
      }),
  )
}
