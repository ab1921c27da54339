import type { LlmRequest } from '../../hooks/index.ts'
import type { Shape } from '../../internal/expect.ts'
import type { WireFormat } from '../../wire/format.ts'
import type { SafeCalls } from '../safe/calls.ts'
import { warnOnce } from '../warn-once.ts'
import { wrongTarget } from '../wrong-target.ts'
import type { ObserveOptions } from './options.ts'

/** What the client makes of one request, before it reads the body. */
export interface ResponseProps {
  readonly response: Response
  readonly options: RequestOptions
  readonly [more: string]: unknown
}

export interface RequestOptions {
  readonly body?: unknown
  readonly signal?: AbortSignal | null
  readonly [more: PropertyKey]: unknown
}

/** The client's promise: it reads the body only when it is awaited. */
export interface ApiPromise extends Promise<unknown> {
  parseResponse: (client: unknown, props: ResponseProps) => unknown
  asResponse(): Promise<Response>
  withResponse(): Promise<unknown>
  _responseProps?: () => Promise<ResponseProps>
  _thenUnwrap(transform: (value: unknown, props: ResponseProps) => unknown): ApiPromise
}

/** What is used of such a client beside its public face. */
export interface ClientInternals {
  readonly baseURL?: unknown
  post(path: string, options?: unknown): ApiPromise
  get?(path: string, options?: unknown): ApiPromise
  /** What those make their requests by. It is public, too. */
  request?(options: unknown, ...more: unknown[]): ApiPromise
  makeRequest(
    options: RequestOptions | Promise<RequestOptions>,
    retriesRemaining: number | null,
    retryOf: string | undefined,
    ...more: unknown[]
  ): Promise<ResponseProps>
  withOptions?(options: unknown): object
  getUserAgent?(): string
}

/** One client of those that the same generator makes (Stainless): they differ in name, paths and wire formats. */
export interface ClientKind {
  /** The npm package. */
  readonly name: string
  /** The function that observes it, as messages name it. */
  readonly observer: string
  /** What every client of it has one of, of whatever version. */
  readonly has: readonly string[]
  /** Major versions that were tried. */
  readonly majors: readonly number[]
  /** Some of them were made before the generator gave clients `withOptions()`. */
  readonly isOlder?: boolean
  /** Which requests are model calls, by their path, and what they are. */
  readonly apis: Readonly<Record<string, ObservedApi>>
  /** Which requests ask for a reply that may be made in the background, or end it, by their path, with its id in it. */
  readonly looks?: RegExp
  /** An OpenTelemetry GenAI provider name, where the base URL tells none. */
  readonly provider?: string
  /** Options of this client alone. */
  readonly fields?: Readonly<Record<string, Shape>>
  /** Where a loop that the SDK runs itself makes its model calls. Undefined outside of one. */
  readonly maker?: () => ObservedMaker | undefined
  /** What else of the client is watched. Each returns what leaves it as it was. */
  readonly also?: readonly ((client: object, options: ObserveOptions) => () => void)[]
}

/** From where the call is made, with which its caller may abort it. Asked once the request is about to be made. */
export type ObservedMaker = (
  request: LlmRequest,
  signal?: RequestOptions['signal'],
) => SafeCalls | Promise<SafeCalls>

/** What kind of model call a request is. */
export interface ObservedApi {
  readonly format: WireFormat
  /** @default 'chat' */
  readonly operationName?: string
  /** It is a compaction of the conversation, in which a model is called. */
  readonly compacts?: boolean
}

/**
 * Which model call a request is, by its path. One that is written by hand may have a query of its own, the whole address, or
 * a part of it that is the base URL's else.
 */
export function apiOf({ apis }: Pick<ClientKind, 'apis'>, path: string): ObservedApi | undefined {
  if (Object.hasOwn(apis, path)) return apis[path]
  const asked = path.replace(/[?#].*$/s, '').replace(/\/+$/, '')
  const [longest] = Object.keys(apis)
    .filter((api) => asked.endsWith(api))
    .sort((one, other) => other.length - one.length)
  return longest === undefined ? undefined : apis[longest]
}

/** The client's own word for what it is: `OpenAI/JS 7.57.0`. */
function saidBy(client: Partial<ClientInternals> | undefined): RegExpExecArray | null {
  try {
    return /^(\w+)\/JS (\d+\.\d+\.\d+\S*)/.exec(client?.getUserAgent?.() ?? '')
  } catch {
    return null
  }
}

/** Its class, as the client says it. */
export function nameOf(client: object | undefined): string | undefined {
  return saidBy(client)?.[1]
}

/**
 * Whether the client can be observed. Says so loudly when it cannot, or when nobody knows whether it can.
 *
 * @throws HookspanError `INVALID_OPTION` when it is no client at all.
 */
export function canObserve(client: unknown, kind: ClientKind): client is ClientInternals {
  const { name, observer, majors, isOlder } = kind
  const isOne = typeof client === 'object' && client !== null && kind.has.some((api) => api in client)
  if (!isOne) throw wrongTarget(observer, `a client of the ${name} package`, client)
  const internals = client as Partial<ClientInternals>
  const missing = (['post', 'makeRequest', 'withOptions'] as const).filter(
    (method) => typeof internals[method] !== 'function' && !(isOlder && method === 'withOptions'),
  )
  const version = saidBy(internals)?.[2]
  if (missing.length > 0) {
    warnOnce(
      `hookspan cannot observe this client (${name} ${version ?? 'of unknown version'}): it has no ` +
        `${missing.map((method) => `\`${method}()\``).join(', ')}. Its calls make no hooks and no spans. ` +
        mendOf(kind),
    )
    return false
  }
  if (version === undefined || !majors.includes(Number.parseInt(version, 10))) {
    warnOnce(
      `hookspan knows ${name} ${majors.join(' and ')}, and this client is ${version ?? 'of unknown version'}. ` +
        'It is observed as if it were one of those: check that its calls show up, or update hookspan.',
    )
  }
  return true
}

export function mendOf({ name, majors }: ClientKind): string {
  return `Use ${name} ${majors.join(' or ')}, or update hookspan.`
}
