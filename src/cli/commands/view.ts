import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { userInfo } from 'node:os'
import type { Command } from 'commander'
import { UsageError } from '../failure.ts'
import { shown } from '../render/shown.ts'

interface ViewFlags {
  port: string
  host: string
  memory?: boolean
  db?: string
  open: boolean
  keep: string
  maxSize: string
  allowHost?: string[]
  approvals?: string
  audit?: string
  as: string
}

export function registerView(program: Command): void {
  program
    .command('view')
    .description('show traces in the browser: an OTLP receiver, a store and a page, in one process')
    .option('--port <number>', 'port for OTLP and the page; 0 takes a free one', '4318')
    .option(
      '--host <address>',
      'address to listen on; beyond loopback, reading needs the token too',
      '127.0.0.1',
    )
    .option('--memory', 'keep traces in memory only')
    .option('--db <file>', 'keep traces in this file')
    .option('--no-open', 'do not open the browser')
    .option('--keep <days>', 'remove runs older than this many days', '30')
    .option('--max-size <megabytes>', 'remove the oldest runs when the store is larger', '4096')
    .option('--allow-host <name...>', 'names, besides loopback ones, by which the viewer may be called')
    .option(
      '--approvals <file>',
      'answer the requests of this SQLite file from the page',
      process.env.HOOKSPAN_APPROVALS_DB,
    )
    .option('--audit <file>', 'write answers to this audit log', process.env.HOOKSPAN_AUDIT_LOG)
    .option('--as <name>', 'in whose name the page answers', userInfo().username)
    .action(async (flags: ViewFlags, command: Command) => {
      if (flags.memory && flags.db) command.error('error: --memory and --db exclude each other')
      await view(flags)
    })
}

async function view(flags: ViewFlags): Promise<void> {
  const { defaultDatabaseFile, startViewer } = await import('../../viewer/index.ts')
  const db = flags.memory ? ':memory:' : (flags.db ?? defaultDatabaseFile())
  const isNew = flags.approvals !== undefined && !existsSync(flags.approvals)
  const approvals =
    flags.approvals === undefined
      ? undefined
      : (await import('../approvals/open-approvals.ts')).openApprovals(flags.approvals, flags.audit)
  const viewer = await startViewer({
    port: numberOf('--port', flags.port, 0, 65_535),
    host: flags.host,
    db,
    ...(approvals && { approvals, approver: flags.as }),
    allowedHosts: flags.allowHost ?? [],
    maxAgeMs: numberOf('--keep', flags.keep, 0, 100_000) * 86_400_000,
    maxBytes: numberOf('--max-size', flags.maxSize, 1, 1e9) * 1024 * 1024,
    onNotice: (message) => console.error(message),
  })
  console.log(`hookspan viewer  ${viewer.link}`)
  console.log(
    `send traces to   ${viewer.otlpEndpoint}  (OTLP over HTTP${flags.port === '4318' ? ', the default of OpenTelemetry SDKs' : ''})`,
  )
  console.log(`kept in          ${db === ':memory:' ? 'memory, until this ends' : shown(db)}`)
  if (flags.approvals !== undefined) {
    console.log(
      `approvals from   ${shown(flags.approvals)}${isNew ? '  (new: no agent has asked yet)' : ''}, answered as ${flags.as}`,
    )
  }
  if (flags.open && process.stdout.isTTY && !process.env.CI) openBrowser(viewer.link)
  let stopping = false
  const stop = async () => {
    if (stopping) return
    stopping = true
    await viewer.close()
    await approvals?.close()
    process.exit(0)
  }
  process.once('SIGINT', () => void stop())
  process.once('SIGTERM', () => void stop())
}

/** Best effort: the link is on the screen. */
function openBrowser(link: string): void {
  const [command, ...args] =
    process.platform === 'darwin'
      ? ['open', link]
      : process.platform === 'win32'
        ? ['cmd', '/c', 'start', '', link]
        : ['xdg-open', link]
  const child = spawn(command!, args, { stdio: 'ignore', detached: true })
  child.on('error', () => {})
  child.unref()
}

function numberOf(flag: string, text: string, least: number, most: number): number {
  const number = Number(text)
  if (text.trim() === '' || !Number.isFinite(number) || number < least || number > most) {
    throw new UsageError(`Expected ${flag} to be a number from ${least} to ${most}, got \`${text}\`.`)
  }
  return number
}
