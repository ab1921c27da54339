import {
  type AgentOptions,
  globalAgent,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
  type RequestOptions,
} from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { MAX_TIMER_MS } from '../../internal/async.ts'
import type { OtlpTarget } from './otlp-target.ts'

export interface HttpAnswer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly body: Buffer
}

export interface OtlpClient {
  /** @throws the error of the connection, or one that says how long was waited. */
  post(body: Uint8Array, headers: Readonly<Record<string, string>>): Promise<HttpAnswer>
  close(): void
}

/** What is read of an answer; the protocol's are short. */
const MAX_ANSWER_BYTES = 64 * 1024

/** Where Node goes through the proxy of the environment (`NODE_USE_ENV_PROXY=1`), so do we. */
export function proxyOfNode(): Pick<AgentOptions, 'proxyEnv'> {
  const { proxyEnv } = (globalAgent as { options?: AgentOptions }).options ?? {}
  return proxyEnv === undefined ? {} : { proxyEnv }
}

/** Connections to one collector, kept between requests. */
export function otlpClient({ url, tls, timeoutMs, headers: always }: OtlpTarget): OtlpClient {
  const secure = url.startsWith('https:')
  // An agent lets go of the event loop while its connections are idle.
  const kept = { keepAlive: true, maxSockets: 2, ...proxyOfNode() }
  const agent = secure ? new HttpsAgent({ ...kept, ...tls }) : new HttpAgent(kept)
  const send = (body: Uint8Array, headers: Readonly<Record<string, string>>) => {
    const options: RequestOptions = {
      method: 'POST',
      agent,
      headers: { ...always, ...headers, 'content-length': body.byteLength },
    }
    return exchange(secure ? httpsRequest(url, options) : httpRequest(url, options), body, timeoutMs)
  }
  return {
    post: async (body, headers) => {
      try {
        return await send(body, headers)
      } catch (error) {
        if (!(error as { wasIdle?: boolean }).wasIdle) throw error
        return await send(body, headers)
      }
    },
    close: () => agent.destroy(),
  }
}

/** @throws the error of the connection, or one that says how long was waited. */
export function exchange(
  request: ReturnType<typeof httpRequest>,
  body: Uint8Array,
  timeoutMs: number,
): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => request.destroy(new Error(`no answer within ${timeoutMs} ms`)),
      Math.min(timeoutMs, MAX_TIMER_MS),
    )
    request.once('error', (error: NodeJS.ErrnoException) => {
      clearTimeout(timer)
      // The collector closed a connection that was idle just as we used it: it has not seen the request.
      const wasIdle = request.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE')
      reject(Object.assign(firstOf(error), { wasIdle }))
    })
    // Whoever answers so speaks something else from there on, and nothing more is told of the request.
    request.once('upgrade', ({ statusCode = 101, headers }, socket) => {
      clearTimeout(timer)
      socket.destroy()
      resolve({ status: statusCode, headers, body: Buffer.alloc(0) })
    })
    request.once('response', (response) => {
      readBody(response).then(
        (answer) => {
          clearTimeout(timer)
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: answer })
        },
        (error: unknown) => {
          clearTimeout(timer)
          reject(error)
        },
      )
    })
    request.end(body)
  })
}

async function readBody(response: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.byteLength
    if (bytes > MAX_ANSWER_BYTES) break
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** Where a name has several addresses, each fails for itself, and the error of all has no text. */
function firstOf(error: Error & { errors?: readonly Error[] }): Error {
  return error.message === '' ? (error.errors?.[0] ?? error) : error
}
