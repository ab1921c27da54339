import { errorMessage } from '../../internal/errors.ts'

const DEFAULT = 'http://127.0.0.1:4318'

/** Where the spans of a program go. */
export interface ViewerInUse {
  /** What is said before the program starts, and when it has ended. */
  readonly says: string
  readonly saysLater: string
  /** Set where a viewer of ours takes the spans. */
  readonly link?: string
  /** Set where the program has to be told. */
  readonly endpoint?: string
  /** Started here. */
  readonly isOurs: boolean
  close(): Promise<void>
}

const nothing = async () => {}

/** The one that listens already, or one that is started. */
export async function findViewer(db: string | undefined): Promise<ViewerInUse> {
  const endpoint = process.env.OTEL_EXPORTER_OTLP_ENDPOINT
  const url = endpoint ?? DEFAULT
  const answer = await ask(url)
  if (answer === 'viewer') {
    const link = url.replace(/\/+$/, '')
    return {
      says: `runs are shown at ${link}`,
      saysLater: `Look at ${link}`,
      link,
      isOurs: false,
      close: nothing,
    }
  }
  const port = portHere(url)
  if (answer === 'other' || port === undefined) {
    const says = `spans are sent to ${url}${answer === 'other' ? '' : ', where nobody answers now'}`
    return { says, saysLater: `Spans were sent to ${url}`, isOurs: false, close: nothing }
  }
  return start(port, db)
}

/** Where a viewer could be that the program would find: a port of this machine, over plain HTTP. */
function portHere(url: string): number | undefined {
  if (!URL.canParse(url)) return undefined
  const { protocol, hostname, port, pathname } = new URL(url)
  const here =
    ['127.0.0.1', 'localhost', '[::1]'].includes(hostname) && protocol === 'http:' && pathname === '/'
  return here ? Number(port || 80) : undefined
}

async function start(port: number, db: string | undefined): Promise<ViewerInUse> {
  try {
    const { defaultDatabaseFile, startViewer } = await import('../../viewer/index.ts')
    const file = db ?? defaultDatabaseFile()
    const viewer = await startViewer({ port, db: file })
    const { link, otlpEndpoint } = viewer
    const again = db === undefined ? 'npx hookspan view' : `npx hookspan view --db ${file}`
    return {
      says: `runs are shown at ${link}`,
      saysLater: `Look at it with: ${again}`,
      link: otlpEndpoint,
      endpoint: otlpEndpoint,
      isOurs: true,
      close: () => viewer.close(),
    }
  } catch (error) {
    const says = `no viewer could be started (${errorMessage(error)}); the program runs all the same`
    return { says, saysLater: '', isOurs: false, close: nothing }
  }
}

async function ask(url: string): Promise<'viewer' | 'other' | 'nobody'> {
  try {
    const answer = await fetch(new URL('/v1/hookspan', url), { signal: AbortSignal.timeout(1_000) })
    const { name } = (await answer.json().catch(() => ({}))) as { name?: unknown }
    return name === 'hookspan-viewer' ? 'viewer' : 'other'
  } catch {
    return 'nobody'
  }
}
