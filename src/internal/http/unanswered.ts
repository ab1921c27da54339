import type { Server, ServerResponse } from 'node:http'

const PATIENCE_MS = 2_000

/** The requests of a server that have come in and are not answered. */
export class Unanswered {
  readonly #responses = new Set<ServerResponse>()
  #closing = false

  add(response: ServerResponse): void {
    if (this.#closing) response.setHeader('connection', 'close')
    this.#responses.add(response)
    response.once('close', () => this.#responses.delete(response))
  }

  /** Takes no more connections, and answers what has come in: with `Connection: close`, within 2 s. */
  close(server: Server): Promise<void> {
    this.#closing = true
    return new Promise((resolve) => {
      const cut = setTimeout(() => server.closeAllConnections(), PATIENCE_MS)
      server.close(() => {
        clearTimeout(cut)
        resolve()
      })
      for (const response of this.#responses) {
        // Who keeps the connection would send the next request into nothing.
        if (!response.headersSent) response.setHeader('connection', 'close')
        else response.once('finish', () => response.socket?.destroySoon())
      }
      server.closeIdleConnections()
    })
  }
}
