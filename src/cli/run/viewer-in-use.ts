import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { createConnection } from 'node:net'
import { text } from 'node:stream/consumers'
import { type HeldPort, holdPort } from '../../viewer/held-port.ts'
import type { Viewer } from '../../viewer/index.ts'
import { runner } from '../install-line.ts'

const DEFAULT = 'http://127.0.0.1:4318'
const HOST = '127.0.0.1'
const PATIENCE_MS = 1_000

export interface RunFlags {
  keep?: boolean
  db?: string
}

/** Where the spans of a program go. */
export interface ViewerInUse {
  /** Set where a viewer of ours takes the spans. */
  readonly link?: string
  /** Set where the program has to be told. */
  readonly endpoint?: string
  /** Set where it ends with the program: what shows a run of it then. */
  readonly show?: string
  /** Started here. */
  readonly isOurs: boolean
  /** Called when the program has been started, which need not wait for it. */
  start(): Promise<Said>
  close(): Promise<void>
}

/** What is said now, and when the program has ended. */
interface Said {
  readonly now: string
  readonly later: string
}

const saying = (now: string, later: string) => ({
  start: async () => ({ now, later }),
  close: async () => {},
})

/** No user, no path, no query: nothing in it may be a secret. */
const BARE = /^https?:\/\/[\w.:[\]-]+$/

/** Most are bare, and what can tell more takes a program's start longer to load. */
async function shown(url: string): Promise<string> {
  if (BARE.test(url)) return url
  const { shownAsUrl } = await import('../../internal/shown-url.ts')
  return String(shownAsUrl(url))
}

/** The one that listens already, or one that is to be started. */
export async function findViewer({ db, keep = false }: RunFlags): Promise<ViewerInUse> {
  const url = process.env.OTEL_EXPORTER_OTLP_ENDPOINT?.trim() || DEFAULT
  const answer = await ask(url)
  if (answer === 'viewer') {
    const endpoint = url.replace(/\/+$/, '')
    const link = await shown(endpoint)
    return { ...saying(`runs are shown at ${link}`, `Look at ${link}`), link, endpoint, isOurs: false }
  }
  const port = portHere(url)
  if (answer === 'other' || port === undefined) {
    const place = await shown(url)
    const now = `spans are sent to ${place}${answer === 'other' ? '' : ', where nobody answers now'}`
    return { ...saying(now, `Spans were sent to ${place}`), isOurs: false }
  }
  try {
    return behind(await holdPort(port, HOST), db, keep)
  } catch (error) {
    return { ...saying(notStarted(error), ''), isOurs: false }
  }
}

/** Where a viewer could be that the program would find: a port of this machine, over plain HTTP. */
function portHere(url: string): number | undefined {
  if (!URL.canParse(url)) return undefined
  const { protocol, hostname, port, pathname } = new URL(url)
  const here =
    ['127.0.0.1', 'localhost', '[::1]'].includes(hostname) && protocol === 'http:' && pathname === '/'
  return here ? Number(port || 80) : undefined
}

/** A viewer of ours. Its port is held from now on; it is loaded beside the program that it is to show. */
function behind(held: HeldPort, db: string | undefined, keep: boolean): ViewerInUse {
  const endpoint = `http://${HOST}:${held.port}`
  const where = db === undefined ? '' : ` --db ${/\s/.test(db) ? `"${db}"` : db}`
  let viewer: Viewer | undefined
  return {
    link: endpoint,
    endpoint,
    ...(!keep && { show: `${runner()} hookspan show${where}` }),
    isOurs: true,
    async start() {
      try {
        const { startViewerBehind } = await import('../../viewer/server.ts')
        viewer = await startViewerBehind(held, db === undefined ? {} : { db })
        const { link } = viewer
        if (keep) return { now: `runs are shown at ${link}`, later: `Look at ${link}` }
        // A link to it would lead nowhere by then.
        const now = `runs are shown at ${link}, as long as it runs`
        return { now, later: `Look at it with: ${runner()} hookspan view${where}` }
      } catch (error) {
        held.release()
        return { now: notStarted(error), later: '' }
      }
    },
    async close() {
      await viewer?.close()
      held.release()
    },
  }
}

function notStarted(error: unknown): string {
  const why = error instanceof Error ? error.message : String(error)
  return `no viewer could be started (${why}); the program runs all the same`
}

async function ask(url: string): Promise<'viewer' | 'other' | 'nobody'> {
  try {
    const { protocol, hostname, port } = new URL(url)
    // Most often nobody is there, which can be known without a client for HTTP.
    if (protocol === 'http:') await connect(hostname.replace(/^\[|\]$/g, ''), Number(port || 80))
    const answer = JSON.parse(await read(new URL('/v1/hookspan', url)))
    return (answer as { name?: unknown } | null)?.name === 'hookspan-viewer' ? 'viewer' : 'other'
  } catch (error) {
    return error instanceof SyntaxError ? 'other' : 'nobody'
  }
}

async function connect(host: string, port: number): Promise<void> {
  const socket = createConnection({ host, port, timeout: PATIENCE_MS })
  socket.once('timeout', () => socket.destroy(new Error('no answer')))
  try {
    await once(socket, 'connect')
  } finally {
    socket.destroy()
  }
}

/** Not by `fetch`: to load that takes longer than all else that happens before a program starts. */
async function read(url: URL): Promise<string> {
  const { get } = process.getBuiltinModule(url.protocol === 'https:' ? 'node:https' : 'node:http')
  const request = get(url, { agent: false, signal: AbortSignal.timeout(PATIENCE_MS) })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  return text(response)
}
