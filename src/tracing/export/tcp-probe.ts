import { connect } from 'node:net'

/**
 * Whether something listens at the URL's host and port: the error when nothing does. Tried before spans are sent
 * to a collector that has not answered yet, because the exporter holds the process while it retries a refused one.
 */
export function tcpProbe(url: string, timeoutMs = 2_000): () => Promise<Error | undefined> {
  const { hostname, port, protocol } = new URL(url)
  const host = hostname.replace(/^\[|\]$/g, '')
  const to = { host, port: port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port) }
  return () =>
    new Promise((resolve) => {
      const socket = connect(to)
      const finish = (error?: Error) => {
        socket.destroy()
        resolve(error)
      }
      socket.setTimeout(timeoutMs, () =>
        finish(new Error(`no connection to ${host}:${to.port} within ${timeoutMs} ms`)),
      )
      socket.once('connect', () => finish())
      socket.once('error', (error: Error & { errors?: Error[] }) =>
        finish(error.message ? error : (error.errors?.[0] ?? error)),
      )
    })
}
