/** How a server may say something, on its sockets. */
import { createServer, type Server, type Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { bytesOf, type Said } from './said.ts'
import type { Way } from './way.ts'

type Answer = (socket: Socket, body: Buffer) => unknown

const ERROR = ['gate_error']
const LATE = ['gate_timeout']
const YES = Buffer.from('{"decision":"proceed"}')

const head = (status: string, fields: Record<string, string | number> = {}) =>
  `HTTP/1.1 ${status}\r\n${Object.entries(fields)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')}\r\n`
const whole = (body: Buffer, status = '200 OK', fields = {}) =>
  Buffer.concat([Buffer.from(head(status, { 'content-length': body.length, ...fields })), body])
const status =
  (line: string, fields = {}): Answer =>
  (socket, body) =>
    socket.write(whole(body, line, fields))
const later = (ms: number, what: () => void) => void setTimeout(what, ms)
const chunk = (part: Buffer) =>
  Buffer.concat([Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n')])
const CHUNKED = head('200 OK', { 'transfer-encoding': 'chunked' })

export const ENDPOINTS: Readonly<Record<string, Way & { readonly answer: Answer }>> = {
  plainly: { answer: status('200 OK', { 'content-type': 'application/json' }) },
  'as a page': { answer: status('200 OK', { 'content-type': 'text/html; charset=utf-16' }) },
  'after a hint': {
    answer: (s, body) => s.write(Buffer.concat([Buffer.from(head('103 Early Hints')), whole(body)])),
  },
  'in one chunk': {
    answer: (s, body) =>
      s.write(
        Buffer.concat([
          Buffer.from(CHUNKED),
          ...(body.length > 0 ? [chunk(body)] : []),
          Buffer.from('0\r\n\r\n'),
        ]),
      ),
  },
  'sign by sign': {
    async answer(socket, body) {
      socket.write(CHUNKED)
      const size = Math.ceil(body.length / 20) || 1
      for (let at = 0; at < body.length; at += size) {
        socket.write(chunk(body.subarray(at, at + size)))
        await new Promise((resolve) => setImmediate(resolve))
      }
      socket.write('0\r\n\r\n')
    },
  },
  'until it closes': {
    answer: (s, body) => s.end(Buffer.concat([Buffer.from(head('200 OK', { connection: 'close' })), body])),
  },
  'and closes without a word': {
    answer: (s, body) => s.write(whole(body), () => later(1, () => s.end())),
  },
  created: { answer: status('201 Created'), fails: ERROR },
  accepted: { answer: status('202 Accepted'), fails: ERROR },
  'to somewhere else': { answer: status('302 Found', { location: '/plainly/yes' }), fails: ERROR },
  'to somewhere else, with the body': {
    answer: status('308 Permanent Redirect', { location: '/plainly/yes' }),
    fails: ERROR,
  },
  'not changed': { answer: (s) => s.write(head('304 Not Modified')), fails: ERROR },
  'as not allowed': { answer: status('403 Forbidden'), fails: ERROR },
  'as not there': { answer: status('404 Not Found'), fails: ERROR },
  'as broken': { answer: status('500 Internal Server Error'), fails: ERROR },
  'as busy': { answer: status('503 Service Unavailable', { 'retry-after': 1 }), fails: ERROR },
  'in another protocol': {
    answer: (s, body) =>
      s.write(
        Buffer.concat([
          Buffer.from(head('101 Switching Protocols', { upgrade: 'x', connection: 'upgrade' })),
          body,
        ]),
      ),
    fails: ERROR,
  },
  packed: {
    answer: (s, body) => s.write(whole(gzipSync(body), '200 OK', { 'content-encoding': 'gzip' })),
    fails: ['gate_invalid'],
  },
  'cut in its head': { answer: (s) => s.end('HTTP/1.1 200 OK\r\ncontent-le'), fails: ERROR },
  'cut before its end': {
    answer: (s, body) =>
      s.write(Buffer.concat([Buffer.from(head('200 OK', { 'content-length': body.length + 1 })), body]), () =>
        s.destroy(),
      ),
    fails: ERROR,
  },
  'cut before the last chunk': {
    answer: (s, body) =>
      s.end(Buffer.concat([Buffer.from(CHUNKED), ...(body.length > 0 ? [chunk(body)] : [])])),
    fails: ERROR,
  },
  never: { answer: (s) => s.destroy(), fails: ERROR },
  'with a reset': { answer: (s) => s.resetAndDestroy(), fails: ERROR },
  'as no HTTP': { answer: (s, body) => s.end(body), fails: ERROR },
  'with two lengths': {
    answer: (s, body) => s.write(whole(body, '200 OK', { 'Content-Length': body.length + 5 })),
    fails: ERROR,
  },
  'with a head that is too large': {
    answer: (s, body) => s.write(whole(body, '200 OK', { x: 'x'.repeat(100_000) })),
    fails: ERROR,
  },
  'shorter than it is': {
    answer: (s, body) =>
      s.write(
        whole(body)
          .toString('latin1')
          .replace(/content-length: \d+/, `content-length: ${Math.floor(body.length / 2)}`),
        'latin1',
      ),
    fails: ['gate_error', 'gate_invalid'],
  },
  'longer than it is': {
    answer: (s, body) =>
      s.write(Buffer.concat([Buffer.from(head('200 OK', { 'content-length': body.length + 5 })), body])),
    fails: LATE,
  },
  'by silence': { answer: () => {}, fails: LATE },
  'by a head alone': { answer: (s) => s.write(head('200 OK', { 'content-length': 100 })), fails: LATE },
  'without end': {
    answer(s, body) {
      s.write(CHUNKED)
      if (body.length > 0) s.write(chunk(body))
      const more = setInterval(() => s.write(chunk(Buffer.from(' '))), 20)
      s.on('close', () => clearInterval(more))
    },
    fails: LATE,
  },
  'in a flood': {
    answer(s, body) {
      s.write(CHUNKED)
      if (body.length > 0) s.write(chunk(body))
      const more = setInterval(() => s.write(chunk(Buffer.alloc(20_000, ' '))), 1)
      s.on('close', () => clearInterval(more))
    },
    fails: ERROR,
  },
  'and yes besides': {
    answer: (s, body) => s.write(Buffer.concat([whole(body), whole(YES)])),
    fails: ERROR,
    perhaps: true,
  },
}

/** Asks that are not over: a socket that is left behind would be among them. */
export interface Endpoint {
  readonly url: string
  readonly busy: ReadonlySet<Socket>
  close(): void
}

export async function startEndpoint(said: (path: string) => { way: string; said: Said }): Promise<Endpoint> {
  const busy = new Set<Socket>()
  const open = new Set<Socket>()
  const server: Server = createServer((socket) => {
    open.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => {
      open.delete(socket)
      busy.delete(socket)
    })
    let read = Buffer.alloc(0)
    socket.on('data', (more) => {
      read = Buffer.concat([read, more])
      const end = read.indexOf('\r\n\r\n')
      if (end < 0) return
      const asked = read.subarray(0, end).toString()
      const length = Number(/content-length: (\d+)/i.exec(asked)?.[1])
      if (read.length < end + 4 + length) return
      const question = read.subarray(end + 4, end + 4 + length).toString()
      read = read.subarray(end + 4 + length)
      busy.add(socket)
      const { way, said: what } = said(decodeURIComponent(/^POST \/(\S*)/.exec(asked)?.[1] ?? ''))
      const { answer, fails } = ENDPOINTS[way] as (typeof ENDPOINTS)[string]
      answer(socket, bytesOf(what, question))
      // What is late is never over, and nor is a flood.
      if (fails !== LATE && way !== 'in a flood') busy.delete(socket)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as { port: number }).port}`,
    busy,
    close() {
      server.close()
      for (const socket of open) socket.destroy()
    },
  }
}
