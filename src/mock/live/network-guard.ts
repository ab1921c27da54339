import dgram from 'node:dgram'
import net from 'node:net'

/** Where a connection is to go. */
export interface Destination {
  readonly host: string
  readonly port: number | undefined
  /** Other names of the host. */
  readonly aliases?: readonly string[]
}

/** The reason for which a connection is refused; undefined lets it through. */
export type NetworkGuard = (destination: Destination) => Error | undefined

const guards = new Set<NetworkGuard>()
/** Ports of scripted servers of this process: reaching them is no live call. */
const scriptedPorts = new Set<number>()

export function allowScriptedPort(port: number): () => void {
  scriptedPorts.add(port)
  return () => scriptedPorts.delete(port)
}

/** Connections that every guard of now has let through. */
let admitted = new WeakSet<net.Socket>()

/**
 * Asks the guard about every TCP connection and every UDP packet of this process, and about what is written to
 * connections that were open before. Below `fetch`, `http` and drivers, because all of them end here; replaced once,
 * whatever the number of guards.
 */
export function addNetworkGuard(guard: NetworkGuard): () => void {
  if (guards.size === 0) patch()
  guards.add(guard)
  admitted = new WeakSet()
  return () => {
    if (guards.delete(guard) && guards.size === 0) restore?.()
  }
}

let restore: (() => void) | undefined

function patch(): void {
  const { connect, write } = net.Socket.prototype
  const { send } = dgram.Socket.prototype
  net.Socket.prototype.connect = function (this: net.Socket, ...args: unknown[]) {
    const destination = readDestination(args)
    const refusal = destination && refuse(destination)
    if (refusal === undefined) {
      admitted.add(this)
      return (connect as (...args: unknown[]) => net.Socket).apply(this, args)
    }
    process.nextTick(() => this.destroy(refusal))
    return this
  } as typeof connect
  // Inherited: an own method is put in the way, and taken away again.
  net.Socket.prototype.write = function (this: net.Socket, ...args: unknown[]) {
    const refusal = admitted.has(this) ? undefined : refuseOpen(this)
    if (refusal === undefined) return (write as (...args: unknown[]) => boolean).apply(this, args)
    this.destroy(refusal)
    return false
  } as typeof write
  dgram.Socket.prototype.send = function (this: dgram.Socket, ...args: unknown[]) {
    const refusal = refuse(packetDestination(this, args))
    if (refusal !== undefined) throw refusal
    return (send as (...args: unknown[]) => void).apply(this, args)
  } as typeof send
  restore = () => {
    net.Socket.prototype.connect = connect
    Reflect.deleteProperty(net.Socket.prototype, 'write')
    dgram.Socket.prototype.send = send
    restore = undefined
  }
}

/** A connection that was kept alive from before: it is reused without a word to `connect`. */
function refuseOpen(socket: net.Socket): Error | undefined {
  const { remoteAddress, remotePort } = socket
  // A pipe, or one that a server of this process has accepted.
  if (remoteAddress === undefined || ('server' in socket && socket.server)) return undefined
  // Only Node's own fields tell under which name it was opened.
  const { _host, servername } = socket as { _host?: unknown; servername?: unknown }
  const aliases = [_host, servername].filter((name) => typeof name === 'string')
  const refusal = refuse({ host: remoteAddress, port: remotePort, aliases })
  if (refusal === undefined) admitted.add(socket)
  return refusal
}

function refuse(destination: Destination): Error | undefined {
  const loopback = /^(127\.|localhost$|::1$)/.test(destination.host)
  if (loopback && destination.port !== undefined && scriptedPorts.has(destination.port)) return undefined
  let refusal: Error | undefined
  for (const guard of guards) refusal = guard(destination) ?? refusal
  return refusal
}

/** `send` takes (message, port?, host?), or (message, offset, length, port?, host?); without a port, the socket is connected. */
function packetDestination(socket: dgram.Socket, [, ...rest]: readonly unknown[]): Destination {
  const [port, host] = typeof rest[0] === 'number' && typeof rest[1] === 'number' ? rest.slice(2) : rest
  if (typeof port === 'number') return { host: typeof host === 'string' ? host : 'localhost', port }
  try {
    const { address, port } = socket.remoteAddress()
    return { host: address, port }
  } catch {
    return { host: 'localhost', port: undefined }
  }
}

/** `connect` takes (options), (port, host?), (path), and from `net.connect` a list of these. Paths are no network. */
function readDestination(args: readonly unknown[]): Destination | undefined {
  const list = Array.isArray(args[0]) ? args[0] : args
  const [first, second] = list as unknown[]
  if (typeof first === 'number')
    return { host: typeof second === 'string' ? second : 'localhost', port: first }
  if (typeof first === 'string') {
    const port = Number(first)
    return Number.isInteger(port)
      ? { host: typeof second === 'string' ? second : 'localhost', port }
      : undefined
  }
  if (typeof first !== 'object' || first === null) return undefined
  const { host, port, path } = first as { host?: string; port?: number | string; path?: string }
  if (typeof path === 'string') return undefined
  return { host: host ?? 'localhost', port: port === undefined ? undefined : Number(port) }
}
