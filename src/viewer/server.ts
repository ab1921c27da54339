/** The local viewer: OTLP receiver, store and page behind one port. */

import { randomBytes } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { callBeside } from '../internal/async.ts'
import { errorMessage, HookspanError } from '../internal/errors.ts'
import { a, assertFields, expected, type Fields } from '../internal/expect.ts'
import { hostNames } from '../internal/http/host-names.ts'
import { Unanswered } from '../internal/http/unanswered.ts'
import { defined } from '../internal/objects.ts'
import { packageVersion } from '../internal/package-version.ts'
import { installedTable } from '../wire/prices.ts'
import type { HeldPort } from './held-port.ts'
import { Housekeeping } from './housekeeping.ts'
import { type AppContext, handleRequest } from './http/app.ts'
import { ApprovalWatch } from './http/approval-watch.ts'
import { PageApprovals, type ViewerApprovals } from './http/approvals.ts'
import { BodyReader } from './http/body.ts'
import { FetchedRuns } from './http/fetched-runs.ts'
import { Live } from './http/live.ts'
import { takenTogether } from './http/otlp-handler.ts'
import { StaticFiles } from './http/static-files.ts'
import type { JaegerFeed } from './jaeger/feed.ts'
import { describePortOwner } from './port-owner.ts'
import { defaultDatabaseFile } from './store/open-database.ts'
import { Store } from './store/store.ts'

export interface ViewerOptions {
  /**
   * Port for OTLP and the page; 0 takes a free one.
   *
   * @default 4318
   */
  port?: number
  /**
   * Address to listen on. Beyond loopback, reading needs the token, too.
   *
   * @default '127.0.0.1'
   */
  host?: string
  /** File of the store, or `:memory:`. Default: `traces.db` in the user's data folder. */
  db?: string
  /** Names, besides loopback ones, by which the viewer may be called. */
  allowedHosts?: string[]
  /**
   * Runs older than this are removed, in milliseconds.
   *
   * @default 30 days
   */
  maxAgeMs?: number
  /**
   * A larger store loses its oldest runs, in bytes.
   *
   * @default 4 GiB in a file, 1 GiB in memory
   */
  maxBytes?: number
  /**
   * A larger request is refused with 413, in bytes; measured unpacked.
   *
   * @default 33_554_432
   */
  maxBodyBytes?: number
  /**
   * Requests that are answered from the page, as `createApprovals` gives them. Seeing and answering them needs the token.
   * They stay their owner's: closing the viewer does not close them.
   */
  approvals?: ViewerApprovals
  /** In whose name the page answers; where a request names its approvers, one of them. */
  approver?: string
  /**
   * Shows the runs of this Jaeger instead, read only: `jaeger=http://jaeger:16686`. What was fetched is kept in memory; with
   * `HOOKSPAN_JAEGER_TOKEN`, or `HOOKSPAN_JAEGER_USER` and `HOOKSPAN_JAEGER_PASSWORD`, in the environment it is told who asks.
   */
  from?: string
  /**
   * Of each service, so many runs at most are fetched from there, the newest; 1,500 at most.
   *
   * @default 100
   */
  most?: number
  /** Told what the user should know, such as that the disk is full. Default: nothing is printed. */
  onNotice?: (message: string) => void
}

const FIELDS: Fields<ViewerOptions> = {
  port: a.port,
  host: a.name,
  db: a.name,
  allowedHosts: a.strings,
  maxAgeMs: a.number(0),
  maxBytes: a.number(0),
  maxBodyBytes: a.number(0),
  approvals: a.with('list', 'get', 'respond'),
  approver: a.name,
  from: a.string,
  most: a.integer(1),
  onNotice: a.function,
}
/** What has no meaning for runs that are elsewhere. */
const OF_A_STORE = ['db', 'maxAgeMs', 'maxBodyBytes', 'approvals', 'approver'] as const

export interface Viewer {
  /** The page, without the token: good for reading on this machine. */
  url: string
  /** The page with the token: may also import, remove and answer; not with `from`. */
  link: string
  /** For `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  otlpEndpoint: string
  token: string
  store: Store
  /** May be called again: it ends once. */
  close(): Promise<void>
}

const GIB = 1024 ** 3
const DAY_MS = 86_400_000
/** Of who is told to listen on what is not here, or is none. */
const NO_ADDRESS = new Set(['ENOTFOUND', 'EAI_AGAIN', 'EADDRNOTAVAIL'])
const LOOPBACK = new Set(['127.0.0.1', '::1', 'localhost'])

/**
 * Starts the viewer.
 *
 * @throws when the port cannot be had, naming who likely holds it and what to do.
 * @example
 * const viewer = await startViewer({ db: ':memory:', port: 0 })
 * console.log(viewer.link)
 */
export async function startViewer(options: ViewerOptions = {}): Promise<Viewer> {
  assertFields<ViewerOptions>(options, FIELDS, 'startViewer')
  const host = options.host ?? '127.0.0.1'
  return start(options, host, (server) => listen(server, options.port ?? 4318, host))
}

/** Starts the viewer behind a port that is held for it. */
export function startViewerBehind(
  held: HeldPort,
  options: Omit<ViewerOptions, 'port' | 'host'>,
): Promise<Viewer> {
  return start(options, held.host, (server) => held.handOver(server))
}

async function start(
  options: ViewerOptions,
  host: string,
  listens: (server: Server) => Promise<void>,
): Promise<Viewer> {
  const allowedHosts = hostNames(options.allowedHosts ?? [])
  const { store, feed } = await openStore(options)
  try {
    return await serve({ ...options, allowedHosts }, host, { store, feed }, listens)
  } catch (error) {
    store.close()
    throw error
  }
}

/** @throws HookspanError for options that exclude each other. */
async function openStore(options: ViewerOptions): Promise<{ store: Store; feed?: JaegerFeed }> {
  if (options.from !== undefined) {
    const other = OF_A_STORE.find((name) => options[name] !== undefined)
    if (other)
      throw new HookspanError(
        'INVALID_OPTION',
        `Expected \`from\` or \`${other}\`, got both: what is elsewhere is only read.`,
      )
    const { openFeed } = await import('./jaeger/open-feed.ts')
    return openFeed(options.from, defined({ most: options.most, maxBytes: options.maxBytes }))
  }
  if (options.most !== undefined)
    throw new HookspanError(
      'INVALID_OPTION',
      '`most` says how much is fetched from a Jaeger: it needs `from`.',
    )
  const file = options.db ?? defaultDatabaseFile()
  const store = new Store({
    file,
    maxAgeMs: options.maxAgeMs ?? 30 * DAY_MS,
    maxBytes: options.maxBytes ?? (file === ':memory:' ? GIB : 4 * GIB),
  })
  return { store }
}

async function listen(server: Server, port: number, host: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  }).catch(async (error: NodeJS.ErrnoException) => {
    if (NO_ADDRESS.has(error.code ?? ''))
      throw expected('`host` to be an address of this machine, such as 127.0.0.1', host)
    if (error.code !== 'EADDRINUSE') throw error
    throw new Error(`Cannot listen on ${host}:${port}. ${await describePortOwner(host, port)}`, {
      cause: error,
    })
  })
}

async function serve(
  options: ViewerOptions,
  host: string,
  { store, feed }: { store: Store; feed?: JaegerFeed },
  listens: (server: Server) => Promise<void>,
): Promise<Viewer> {
  const token = randomBytes(24).toString('base64url')
  const live = new Live()
  const notice = (message: string) =>
    callBeside(
      () => options.onNotice?.(message),
      (error) => console.warn(`[hookspan] \`onNotice\` of the viewer failed: ${errorMessage(error)}`),
    )
  const housekeeping = new Housekeeping(store, live, notice)
  const maxBodyBytes = options.maxBodyBytes ?? 32 * 1024 * 1024
  const desk = new PageApprovals(options.approvals, options.approver, store)
  const watch = new ApprovalWatch(desk, live, store)
  const fetched = feed && new FetchedRuns(feed, store, (traceIds) => housekeeping.changed(traceIds))
  let url = ''
  const taken = {
    store,
    onChanged: (traceIds: Set<string>) => housekeeping.changed(traceIds),
    onStorageError: (error: Error | undefined) => housekeeping.storage(error),
  }
  const context: AppContext = {
    ...taken,
    spans: takenTogether(taken),
    live,
    bodies: new BodyReader({ maxBodyBytes, maxTotalBytes: maxBodyBytes * 8 }),
    files: new StaticFiles(),
    approvals: desk,
    policy: { token, loopback: LOOPBACK.has(host), allowedHosts: options.allowedHosts ?? [] },
    fetched,
    notes: (query) => fetched?.notes(query) ?? [],
    // Who sends spans looks for the first name, and this one takes none.
    announcement: () => ({
      name: fetched ? 'hookspan-page' : 'hookspan-viewer',
      version: packageVersion(),
      uiUrl: url,
    }),
    status: async () => ({
      version: packageVersion(),
      ...store.counts(),
      indexing: store.indexing,
      prices: installedTable() ?? null,
      storageError: housekeeping.storageError,
      waiting: await watch.count(),
    }),
    onLooked: () => housekeeping.looked(),
    onAnswered: () => void watch.look(),
    lookAtApprovals: () => watch.refresh(),
  }
  const unanswered = new Unanswered()
  const server = createServer((request, response) => {
    unanswered.add(response)
    void handleRequest(request, response, context)
  })
  server.requestTimeout = 60_000
  // Exporters send every five seconds, which is when Node would close their connection, and reset what is sent at that moment.
  server.keepAliveTimeout = 65_000
  await listens(server)
  const address = server.address() as AddressInfo
  const name = address.family === 'IPv6' ? `[${address.address}]` : address.address
  url = `http://${name === '0.0.0.0' || name === '[::]' ? '127.0.0.1' : name}:${address.port}`
  if (store.setAside)
    notice(`Another version of the viewer wrote ${store.file}; that is kept as ${store.setAside}.`)
  housekeeping.start()
  watch.start()
  fetched?.start(() => live.watched)
  let closing: Promise<void> | undefined
  const close = async () => {
    watch.stop()
    fetched?.stop()
    await housekeeping.stop()
    live.close()
    // A human whose answer is being taken is told that it was.
    await unanswered.close(server)
    store.close()
  }
  return {
    url,
    link: `${url}/#token=${token}`,
    otlpEndpoint: url,
    token,
    store,
    close() {
      closing ??= close()
      return closing
    },
  }
}
