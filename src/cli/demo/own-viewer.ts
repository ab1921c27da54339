import { errorMessage } from '../../internal/errors.ts'
import { findCollector } from '../../tracing/links/collector.ts'
import type { Viewer } from '../../viewer/index.ts'

const LOOPBACK = new Map([
  ['localhost', '127.0.0.1'],
  ['127.0.0.1', '127.0.0.1'],
  ['[::1]', '::1'],
])

/**
 * Starts the viewer at the usual endpoint where somebody sits at a terminal and nothing listens there. Gives undefined
 * otherwise: in a pipe or on CI nobody would end it.
 */
export async function startOwnViewer(tell: (message: string) => void): Promise<Viewer | undefined> {
  if (!process.stdout.isTTY || process.env.CI) return undefined
  const search = await findCollector(undefined)
  if (search.found) return undefined
  const { protocol, hostname, port, pathname } = new URL(search.tracesUrl)
  const host = LOOPBACK.get(hostname)
  // Another machine's endpoint, or one behind a path, is not the viewer's to stand in for.
  if (host === undefined || protocol !== 'http:' || port === '' || pathname !== '/v1/traces') return undefined
  try {
    // Loaded late: a demo in a pipe needs neither SQLite nor a page.
    const { startViewer } = await import('../../viewer/index.ts')
    return await startViewer({ host, port: Number(port), onNotice: tell })
  } catch (error) {
    tell(`The viewer did not start: ${errorMessage(error)}`)
    return undefined
  }
}

/** The page of one run, with the token. */
export function linkToRun({ url, token }: Viewer, traceId: string): string {
  return `${url}/run/${traceId}#token=${token}`
}
