/** Jaeger's query API over HTTP, version 3: it gives OTLP. Each way it may go wrong says what to do. */

import { errorMessage } from '../../internal/errors.ts'
import { jsonIn } from '../../internal/json.ts'
import { isRecord } from '../../internal/objects.ts'
import type { JaegerAddress } from './address.ts'

/** Why Jaeger was not read; for people. */
export class JaegerError extends Error {
  override readonly name: string = 'JaegerError'
}

/** What was asked for is larger than what is taken. */
export class TooLarge extends JaegerError {
  override readonly name = 'TooLarge'
}

export interface JaegerClientOptions extends JaegerAddress {
  /**
   * How long Jaeger may say nothing, in milliseconds.
   *
   * @default 30_000
   */
  timeoutMs?: number
  /**
   * A larger run is not taken, in bytes as OTLP/JSON; of the answer to a search, a quarter of that.
   *
   * @default 268_435_456
   */
  maxRunBytes?: number
}

export interface JaegerSearch {
  service: string
  fromMs: number
  toMs: number
  /** The newest so many traces. */
  most: number
}

const MIB = 1024 * 1024

export class JaegerClient {
  /** For people. */
  readonly name: string
  readonly #url: string
  readonly #headers: Readonly<Record<string, string>>
  readonly #timeoutMs: number
  readonly #maxBytes: number

  constructor({ url, headers, timeoutMs = 30_000, maxRunBytes = 256 * MIB }: JaegerClientOptions) {
    this.name = `Jaeger at ${url}`
    this.#url = url
    this.#headers = headers
    this.#timeoutMs = timeoutMs
    this.#maxBytes = maxRunBytes
  }

  /** Those that ever sent a span, as far as Jaeger keeps them. */
  async services(): Promise<string[]> {
    const { body } = await this.#ask('/api/v3/services')
    const answer = jsonIn(body.toString())
    // Where there are none, it leaves the list out.
    const services = isRecord(answer) ? (answer.services ?? []) : undefined
    const isKnown = isRecord(answer) && Object.keys(answer).every((key) => key === 'services')
    if (!isKnown || !Array.isArray(services))
      throw new JaegerError(`${this.#url} answers, but not as Jaeger's query service does. ${BASE_PATH}`)
    return services.filter((service) => typeof service === 'string' && service !== '').sort()
  }

  /** The whole traces that have a span of the service which started then: the newest. `undefined` for none. */
  async search({ service, fromMs, toMs, most }: JaegerSearch): Promise<Buffer | undefined> {
    const query = new URLSearchParams({
      'query.service_name': service,
      'query.start_time_min': new Date(fromMs).toISOString(),
      'query.start_time_max': new Date(toMs).toISOString(),
      // The second is what it was called first.
      'query.search_depth': String(most),
      'query.num_traces': String(most),
      'query.raw_traces': 'true',
    })
    return this.#found(`/api/v3/traces?${query}`, this.#maxBytes / 4)
  }

  /** As it was sent: without `raw_traces`, clocks are corrected and attributes sorted. `undefined` where there is none. */
  async trace(traceId: string): Promise<Buffer | undefined> {
    return this.#found(`/api/v3/traces/${traceId}?raw_traces=true`, this.#maxBytes)
  }

  async #found(path: string, maxBytes: number): Promise<Buffer | undefined> {
    const { status, body } = await this.#ask(path, maxBytes)
    return status === 404 ? undefined : body
  }

  /** @throws JaegerError for whatever is no answer of Jaeger to the question. */
  async #ask(path: string, maxBytes = MIB): Promise<{ status: number; body: Buffer }> {
    const quiet = new AbortController()
    const timer = setTimeout(() => quiet.abort(), this.#timeoutMs)
    try {
      const response = await fetch(this.#url + path, {
        headers: { accept: 'application/json', ...this.#headers },
        // Where it leads is not told what authorizes here.
        redirect: 'manual',
        signal: quiet.signal,
      })
      const body = await this.#read(response, maxBytes, () => timer.refresh())
      this.#check(response, body)
      return { status: response.status, body }
    } catch (error) {
      if (error instanceof JaegerError) throw error
      if (quiet.signal.aborted)
        throw new JaegerError(
          `${this.name} said nothing for ${this.#timeoutMs / 1000} s. Ask for less: a shorter time, or fewer runs.`,
        )
      throw new JaegerError(`${this.name} cannot be reached (${reasonOf(error)}). Is it running there?`)
    } finally {
      clearTimeout(timer)
    }
  }

  async #read(response: Response, maxBytes: number, heard: () => void): Promise<Buffer> {
    const chunks: Uint8Array[] = []
    let bytes = 0
    try {
      for await (const chunk of response.body ?? []) {
        heard()
        bytes += chunk.length
        if (bytes > maxBytes)
          throw new TooLarge(`The answer of ${this.name} is larger than ${sizeText(maxBytes)}.`)
        chunks.push(chunk)
      }
    } catch (error) {
      if (error instanceof JaegerError || (error as Error).name === 'AbortError') throw error
      throw new JaegerError(
        `The answer of ${this.name} was cut after ${sizeText(bytes)} (${reasonOf(error)}). Try again, or ask for less.`,
      )
    }
    return Buffer.concat(chunks, bytes)
  }

  #check(response: Response, body: Buffer): void {
    const { status } = response
    const told = toldBy(body)
    if (status >= 300 && status < 400)
      throw new JaegerError(
        `${this.name} sends elsewhere (${status}${whereTo(response)}): give the address at which it answers itself, with what it wants to know of you: ${CREDENTIALS}.`,
      )
    if (status === 401 || status === 403)
      throw new JaegerError(
        `${this.name} wants to know who asks (${status}). ${this.#headers.authorization ? 'It does not take what it was told: look at' : 'Set'} ${CREDENTIALS}.`,
      )
    if (isPage(body))
      throw new JaegerError(
        `${this.#url} answers with a page (${status}, HTML) where Jaeger's query API was asked. ${BASE_PATH}`,
      )
    if (status === 404 && told === undefined)
      throw new JaegerError(`There is no query API of Jaeger at ${this.#url} (404). ${BASE_PATH}`)
    if (status !== 404 && !response.ok)
      throw new JaegerError(`${this.name} answered ${status}${told ? `: ${told}` : ''}.`)
  }
}

const BASE_PATH =
  "Give the address of Jaeger's page, with its base path if it has one, such as http://jaeger:16686/jaeger."
const CREDENTIALS = 'HOOKSPAN_JAEGER_TOKEN, or HOOKSPAN_JAEGER_USER and HOOKSPAN_JAEGER_PASSWORD'
const TOLD_CHARS = 300

function isPage(body: Buffer): boolean {
  return /^\s*</.test(body.subarray(0, 200).toString())
}

/** What Jaeger says in an error. */
function toldBy(body: Buffer): string | undefined {
  if (body.length > 64 * 1024) return undefined
  const answer = jsonIn(body.toString())
  const error = isRecord(answer) ? answer.error : undefined
  const message = isRecord(error) ? error.message : undefined
  return typeof message === 'string' ? message.slice(0, TOLD_CHARS) : undefined
}

/** Without what a login puts behind the path. */
function whereTo(response: Response): string {
  const location = response.headers.get('location') ?? ''
  if (!URL.canParse(location, response.url)) return ''
  const url = new URL(location, response.url)
  return `, to ${url.origin}${url.pathname}`
}

function reasonOf(error: unknown): string {
  const { cause } = error as { cause?: unknown }
  const code = (cause as { code?: unknown } | undefined)?.code
  return typeof code === 'string' ? code : errorMessage(cause ?? error)
}

function sizeText(bytes: number): string {
  return bytes < MIB ? `${Math.ceil(bytes / 1024)} KiB` : `${Math.round(bytes / MIB)} MiB`
}
