import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A way to a server on loopback that takes as long as it is told. */
export interface SlowWay extends AsyncDisposable {
  readonly port: number
  /** Milliseconds, each way. */
  delayMs: number
  /** Ends each connection that there is, without a word. */
  cut(): void
}

export async function slowWayTo(port: number): Promise<SlowWay> {
  const sockets = new Set<Socket>()
  const way = { delayMs: 0 }
  const later = (work: () => void) => setTimeout(work, way.delayMs)
  const passOn = (from: Socket, to: Socket) => {
    sockets.add(from)
    from.setNoDelay()
    // Timers of one length come in their order: what is said is not mixed up.
    from.on('data', (bytes) => later(() => to.writable && to.write(bytes)))
    from.on('error', () => to.destroy())
    from.on('close', () => {
      sockets.delete(from)
      later(() => to.destroy())
    })
  }
  const server = createServer((near) => {
    const far = connect(port, '127.0.0.1')
    passOn(near, far)
    passOn(far, near)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const cut = () => {
    for (const socket of sockets) socket.destroy()
  }
  return Object.assign(way, {
    port: (server.address() as AddressInfo).port,
    cut,
    async [Symbol.asyncDispose]() {
      server.close()
      cut()
    },
  })
}
