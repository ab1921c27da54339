import { type LookupAddress, type LookupOptions, lookup as resolve } from 'node:dns'
import { Agent, type IncomingMessage, request as requestHttp } from 'node:http'
import { Agent as AgentTls, request as requestHttps } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { HookspanError } from '../errors.ts'
import { a, expected, unshown } from '../expect.ts'
import { shownAsUrl } from '../shown-url.ts'
import { signatureHeaders } from '../signature.ts'
import { shownHeaderName } from './header-name.ts'
import { isPrivateAddress } from './private-addresses.ts'

export interface PostOptions {
  /** Checked by {@link assertTarget}. */
  readonly url: URL
  readonly body: string
  /** The same for each attempt, so that the receiver can tell one that is sent again. */
  readonly id: string
  readonly secret?: string
  /** What the signature says of when it was sent, in epoch milliseconds. @default now */
  readonly signedAtMs?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly signal: AbortSignal
  /** Bytes of the reply that are read at most. */
  readonly maxBodyBytes: number
  readonly allowPrivateAddresses: boolean
}

export interface PostReply {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly bytes: Uint8Array
}

export type LookupAll = (
  hostname: string,
  options: LookupOptions,
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void

/**
 * Refuses a resolved address before it is connected to, so that the name cannot lead elsewhere between the check and
 * the connection. One private address among several is enough.
 */
export function guardedLookup(resolveAll: LookupAll = resolve as LookupAll): LookupFunction {
  return (hostname, options, callback) => {
    resolveAll(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, [])
      const bad = addresses.find(({ address }) => isPrivateAddress(address))
      if (bad !== undefined || addresses.length === 0) return callback(refused(hostname, bad?.address), [])
      if (options.all) return callback(null, addresses)
      const [first] = addresses as [LookupAddress]
      callback(null, first.address, first.family)
    })
  }
}

function refused(hostname: string, address = 'no address'): Error {
  return Object.assign(new Error(`the name ${hostname} leads to the private address ${address}`), {
    code: 'PRIVATE_ADDRESS',
  })
}

const AGENT = { keepAlive: true, maxSockets: 256, scheduling: 'lifo' } as const
const GUARDED = { lookup: guardedLookup() }
const agents = {
  'http:': { open: new Agent(AGENT), guarded: new Agent({ ...AGENT, ...GUARDED } as never) },
  'https:': { open: new AgentTls(AGENT), guarded: new AgentTls({ ...AGENT, ...GUARDED } as never) },
}

/** Headers that the client sets itself, or that would change how the request is read. */
const RESERVED =
  /^(host|connection|content-length|content-type|transfer-encoding|te|trailer|upgrade|expect|keep-alive|proxy-.*|webhook-.*|traceparent|tracestate)$/i

/**
 * Reads a URL that requests may go to.
 *
 * @throws HookspanError `INVALID_OPTION` naming the value and the mend.
 */
export function assertTarget(url: unknown, owner: string, allowPrivateAddresses: boolean): URL {
  const target = typeof url === 'string' && URL.canParse(url) ? new URL(url) : undefined
  if (target === undefined || !(target.protocol in agents)) {
    throw expected(`\`url\` of ${owner} to be an http or https URL`, shownAsUrl(url))
  }
  if (target.username !== '' || target.password !== '') {
    throw new HookspanError(
      'INVALID_OPTION',
      `The \`url\` of ${owner} carries a user name or password. Put them into a header instead.`,
    )
  }
  const literal = target.hostname.replace(/^\[|\]$/g, '')
  const isLocalName = /(^|\.)localhost\.?$/i.test(target.hostname)
  if (!allowPrivateAddresses && (isLocalName || (isIP(literal) !== 0 && isPrivateAddress(literal)))) {
    throw new HookspanError(
      'INVALID_OPTION',
      `The \`url\` of ${owner} leads to the private address ${target.hostname}. Set \`allowPrivateAddresses: true\` to allow it.`,
    )
  }
  return target
}

/** @throws HookspanError `INVALID_OPTION` for a header that the client sets, or that holds a line break. */
export function assertHeaders(headers: unknown, owner: string): asserts headers is Record<string, string> {
  if (!a.object.fits(headers)) {
    throw expected(`\`headers\` of ${owner} to be an object`, unshown(headers))
  }
  for (const [name, value] of Object.entries(headers as object)) {
    if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/i.test(name) || RESERVED.test(name)) {
      throw new HookspanError(
        'INVALID_OPTION',
        `The header ${shownHeaderName(name)} of ${owner} cannot be set.`,
      )
    }
    if (typeof value !== 'string' || !/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) {
      // Not what it holds: headers are where secrets are.
      throw new HookspanError(
        'INVALID_OPTION',
        `The header "${name}" of ${owner} must be a text on one line.`,
      )
    }
  }
}

/**
 * Posts JSON: signed, over a connection that is kept alive, following no redirect, reading no more than it may.
 *
 * @throws Error with a one-line message of what went wrong on the way. Whatever status came back is a reply.
 */
export async function postJson(options: PostOptions): Promise<PostReply> {
  try {
    return await send(options)
  } catch (error) {
    // The server closed the kept connection as the request went out: it was not read. Others that are kept may be closed, too.
    if (!(error instanceof StaleSocket)) throw error
    return send(options, 'anew')
  }
}

class StaleSocket extends Error {}

/** What had a request before: `reusedSocket` says it of none that waited until a socket was free. */
const used = new WeakSet<object>()

function send(options: PostOptions, connection: 'kept' | 'anew' = 'kept') {
  const { url, body, id, secret, signedAtMs: timestampMs = Date.now(), signal, maxBodyBytes } = options
  const { headers, allowPrivateAddresses } = options
  const protocol = url.protocol as 'http:' | 'https:'
  const agent = agents[protocol][allowPrivateAddresses ? 'open' : 'guarded']
  const request = protocol === 'https:' ? requestHttps : requestHttp
  const { promise, resolve, reject } = Promise.withResolvers<PostReply>()
  const outgoing = request(url, {
    method: 'POST',
    ...(connection === 'kept' ? { agent } : { agent: false, ...(!allowPrivateAddresses && GUARDED) }),
    signal,
    headers: {
      ...headers,
      accept: 'application/json',
      'accept-encoding': 'identity',
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      ...(secret === undefined ? { 'webhook-id': id } : signatureHeaders({ secret, id, body, timestampMs })),
    },
  })
  let isReused = false
  outgoing.on('socket', (socket) => {
    isReused = used.has(socket)
    used.add(socket)
  })
  outgoing.on('error', (error: NodeJS.ErrnoException) => {
    const stale = isReused && error.code === 'ECONNRESET'
    reject(stale ? new StaleSocket(error.message) : error)
  })
  // Whoever answers so speaks something else from there on, and nothing more is told of the request.
  outgoing.on('upgrade', ({ statusCode: status = 101, headers }, socket) => {
    socket.destroy()
    resolve({ status, headers, bytes: new Uint8Array() })
  })
  outgoing.on('response', (response) => {
    const chunks: Buffer[] = []
    let bytes = 0
    let whole = false
    const { statusCode: status = 0, headers } = response
    response.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > maxBodyBytes) outgoing.destroy(new Error(`the reply is larger than ${maxBodyBytes} bytes`))
      else chunks.push(chunk)
    })
    response.on('end', () => {
      whole = response.complete
      if (whole) resolve({ status, headers, bytes: Buffer.concat(chunks) })
    })
    response.on('error', reject)
    response.on('close', () => {
      if (!whole) reject(new Error('the connection was closed before the reply was whole'))
    })
  })
  outgoing.end(body)
  return promise
}
