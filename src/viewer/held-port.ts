/** A port that is held before the viewer behind it is there: who connects meanwhile is not refused, but waits. */
import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'

export interface HeldPort {
  readonly port: number
  readonly host: string
  /** From now on this one answers, those first who wait. In Bun they are let go of, and have to ask again. */
  handOver(server: Server): Promise<void>
  /** Nobody will answer. Does nothing where somebody does. */
  release(): void
}

/** @throws when the port cannot be had. */
export async function holdPort(port: number, host: string): Promise<HeldPort> {
  const waiting = new Set<Socket>()
  // Nothing is read here: what was sent is the other one's to read.
  const holder = createServer({ pauseOnConnect: true }, (socket) => {
    waiting.add(socket)
    socket.once('error', () => waiting.delete(socket))
    socket.once('close', () => waiting.delete(socket))
  })
  holder.listen(port, host)
  await once(holder, 'listening')
  let isOver = false
  const end = () => {
    holder.close()
    for (const socket of waiting) socket.destroy()
  }
  return {
    port,
    host,
    async handOver(server) {
      isOver = true
      // Bun, asked to listen where another server does, takes any port.
      if (process.versions.bun !== undefined) {
        end()
        server.listen(port, host)
        await once(server, 'listening')
        return
      }
      server.listen(holder)
      for (const socket of waiting) {
        server.emit('connection', socket)
        socket.resume()
      }
      waiting.clear()
    },
    release() {
      if (isOver) return
      isOver = true
      end()
    },
  }
}
