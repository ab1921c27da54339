import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'

/** Ports of 127.0.0.1 at which nobody listens now, for servers that have to be told theirs. */
export async function freePorts(count: number): Promise<number[]> {
  // All are held at once, or the same one could be given out twice.
  const held = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer().listen(0, '127.0.0.1')
      await once(server, 'listening')
      return server
    }),
  )
  const ports = held.map((server) => (server.address() as AddressInfo).port)
  await Promise.all(held.map((server) => new Promise((resolve) => server.close(resolve))))
  return ports
}

export async function freePort(): Promise<number> {
  const [port] = await freePorts(1)
  return port as number
}
