/**
 * The world outside of a program: whatever it connects to that is not this machine, and the ports of this machine that
 * the pages name, are a server in the program itself, which keeps what it was sent. Names, paths, headers and TLS stay
 * as the snippet says them; nothing leaves the machine. To be imported before anything else.
 */
import dns from 'node:dns'
import { once } from 'node:events'
import http from 'node:http'
import https from 'node:https'
import { syncBuiltinESMExports } from 'node:module'
import net from 'node:net'
import tls from 'node:tls'
import { gunzipSync } from 'node:zlib'
import { OUTSIDE } from '../../support/outside-identity.mjs'

/** Ports of backends and servers that pages name; here they may be anybody's. */
const NAMED_PORTS = [4318, 6006]
const LOOPBACK = ['localhost', '127.0.0.1', '::1']

/** What was sent, in order: `{ method, url, headers, body }`, with `https://guard.example/decide` as `url`. */
export const sent = []

/** How a URL answers: `(request) => value for JSON`. The longest beginning counts; without one the answer is `{}`. */
const answers = new Map()
export const answer = (begins, how) => answers.set(begins, how)

async function take(request, response) {
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  const bytes = Buffer.concat(chunks)
  const { method, headers } = request
  const scheme = request.socket instanceof tls.TLSSocket ? 'https' : 'http'
  const url = `${scheme}://${headers.host}${request.url}`
  const one = {
    method,
    url,
    headers,
    body: headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes,
  }
  sent.push(one)
  const begins = [...answers.keys()].filter((begin) => url.startsWith(begin)).sort()
  const body = (await answers.get(begins.at(-1))?.(one)) ?? {}
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

const plain = http.createServer(take)
const secure = https.createServer(OUTSIDE, take)
tls.setDefaultCACertificates([...tls.getCACertificates('default'), OUTSIDE.cert])

/** Ports that a snippet listens on, and those that they are here. With HOOKSPAN_DOCS_AS_SAID they are the same. */
const listening = new Map()
export const portOf = (port) => listening.get(port)

const listen = net.Server.prototype.listen
net.Server.prototype.listen = function (...args) {
  const [first] = args
  const port = typeof first === 'object' ? first?.port : first
  if (!port || process.env.HOOKSPAN_DOCS_AS_SAID) return listen.apply(this, args)
  this.once('listening', () => listening.set(port, this.address().port))
  const free = typeof first === 'object' ? { ...first, port: 0 } : 0
  return listen.call(this, free, ...args.slice(1))
}

const lookup = dns.lookup
dns.lookup = (host, options, callback = options) => {
  if (LOOPBACK.includes(host)) return lookup(host, options, callback)
  // A public address, as the guards against private ones look at it; it is never connected to.
  const address = { address: '93.184.215.14', family: 4 }
  process.nextTick(() => (options.all ? callback(null, [address]) : callback(null, address.address, 4)))
}

const connect = net.Socket.prototype.connect
net.Socket.prototype.connect = function (...args) {
  const given = Array.isArray(args[0]) ? args[0][0] : args[0]
  const elsewhere = typeof given === 'object' && given.path == null ? rerouted(given) : undefined
  if (elsewhere === undefined) return connect.apply(this, args)
  if (Array.isArray(args[0])) args[0][0] = elsewhere
  else args[0] = elsewhere
  return connect.apply(this, args)
}

function rerouted(options) {
  const { host = 'localhost', port, lookup: own = dns.lookup } = options
  if (LOOPBACK.includes(host)) {
    if (listening.has(Number(port))) return { ...options, port: listening.get(Number(port)) }
    return NAMED_PORTS.includes(Number(port))
      ? { ...options, host: '127.0.0.1', port: plain.address().port }
      : undefined
  }
  // Looked up all the same, since the guards against private addresses are in there.
  const here = (name, wanted, callback) =>
    own(name, wanted, (error) => {
      if (error) return callback(error)
      return wanted.all
        ? callback(null, [{ address: '127.0.0.1', family: 4 }])
        : callback(null, '127.0.0.1', 4)
    })
  return { ...options, port: secure.address().port, lookup: here }
}
syncBuiltinESMExports()

// Last, as modules that are imported beside this one do not wait for it.
for (const server of [plain, secure]) {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  server.unref()
  // Connections that are kept alive do not keep the program.
  server.on('connection', (socket) => socket.unref())
}
