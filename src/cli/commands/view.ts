import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import type { Command } from 'commander'
import { userName } from '../../internal/user.ts'
import { UsageError } from '../failure.ts'
import { shown } from '../render/shown.ts'
import { FROM_FLAG, FROM_SAYS, MOST_FLAG, MOST_SAYS, mostOf } from '../run-source.ts'
import { untilStopped } from '../until-stopped.ts'

interface ViewFlags {
  port?: string
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
  from?: string
  most?: string
}

/** Where runs of a Jaeger are shown: programs that send spans look at the other one. */
const PORT = '4318'
const PORT_OF_FROM = '4319'

export function registerView(program: Command): void {
  program
    .command('view')
    .description('show traces in the browser: an OTLP receiver, a store and a page, in one process')
    .option(FROM_FLAG, `show the runs of a Jaeger instead, read only, ${FROM_SAYS}`)
    .option(MOST_FLAG, MOST_SAYS)
    .option(
      '--port <number>',
      `port for OTLP and the page; 0 takes a free one (${PORT}; with --from ${PORT_OF_FROM})`,
    )
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
    .option('--as <name>', 'in whose name the page answers', userName())
    .action(async (flags: ViewFlags, command: Command) => {
      if (flags.memory && flags.db) command.error('error: --memory and --db exclude each other')
      const given = (name: string) => command.getOptionValueSource(name) === 'cli'
      if (flags.from === undefined) {
        mostOf(flags.most, flags.from)
        await view(flags)
        return
      }
      const other = ['memory', 'db', 'keep', 'approvals', 'audit', 'as'].find(given)
      if (other)
        throw new UsageError(`Expected --from or --${other}, got both: what is elsewhere is only read.`)
      await viewFrom(flags.from, flags, given('maxSize'))
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
    port: numberOf('--port', flags.port ?? PORT, 0, 65_535),
    host: flags.host,
    db,
    ...(approvals && { approvals, approver: flags.as }),
    allowedHosts: flags.allowHost ?? [],
    maxAgeMs: numberOf('--keep', flags.keep, 0, 100_000) * 86_400_000,
    maxBytes: sizeOf(flags),
    onNotice: (message) => console.error(message),
  })
  console.log(`hookspan viewer  ${viewer.link}`)
  console.log(
    `send traces to   ${viewer.otlpEndpoint}  (OTLP over HTTP${(flags.port ?? PORT) === PORT ? ', the default of OpenTelemetry SDKs' : ''})`,
  )
  console.log(`kept in          ${db === ':memory:' ? 'memory, until this ends' : shown(db)}`)
  if (flags.approvals !== undefined) {
    console.log(
      `approvals from   ${shown(flags.approvals)}${isNew ? '  (new: no agent has asked yet)' : ''}, answered as ${flags.as}`,
    )
  }
  if (flags.open) openBrowser(viewer.link)
  await closeWhenStopped(async () => {
    await viewer.close()
    await approvals?.close()
  })
}

async function viewFrom(from: string, flags: ViewFlags, hasMaxSize: boolean): Promise<void> {
  const most = mostOf(flags.most, from)
  const { startViewer } = await import('../../viewer/index.ts')
  const viewer = await startViewer({
    from,
    ...(most !== undefined && { most }),
    port: numberOf('--port', flags.port ?? PORT_OF_FROM, 0, 65_535),
    host: flags.host,
    allowedHosts: flags.allowHost ?? [],
    ...(hasMaxSize && { maxBytes: sizeOf(flags) }),
    onNotice: (message) => console.error(message),
  })
  // Beyond loopback, reading needs the token.
  const link = isLoopback(flags.host) ? viewer.url : viewer.link
  console.log(`hookspan viewer  ${link}`)
  console.log(`shows            ${shown(from.replace(/^jaeger=/i, 'Jaeger at '))}, read only`)
  if (flags.open) openBrowser(link)
  await closeWhenStopped(() => viewer.close())
}

const isLoopback = (host: string) => ['127.0.0.1', '::1', 'localhost'].includes(host)

function sizeOf({ maxSize }: ViewFlags): number {
  return numberOf('--max-size', maxSize, 1, 1e9) * 1024 * 1024
}

async function closeWhenStopped(close: () => Promise<void>): Promise<void> {
  await untilStopped()
  await close()
  process.exit(0)
}

/** Best effort: the link is on the screen. */
function openBrowser(link: string): void {
  if (!process.stdout.isTTY || process.env.CI) return
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
