import { describeValue, errorMessage, HookspanError } from '../../internal/errors.ts'

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
  _thenUnwrap(transform: (value: unknown, props: ResponseProps) => unknown): ApiPromise
}

/** What is used of the `openai` client beside its public face; the same in majors 6 and 7. */
export interface ClientInternals {
  readonly baseURL?: unknown
  post(path: string, options?: unknown): ApiPromise
  makeRequest(
    options: RequestOptions | Promise<RequestOptions>,
    retriesRemaining: number | null,
    retryOf: string | undefined,
  ): Promise<ResponseProps>
  withOptions(options: unknown): object
  getUserAgent?(): string
}

const KNOWN_MAJORS = [6, 7]

/** The client's own word for its version. */
function versionOf(client: Partial<ClientInternals>): string | undefined {
  try {
    return /\/JS (\d+\.\d+\.\d+\S*)/.exec(client.getUserAgent?.() ?? '')?.[1]
  } catch {
    return undefined
  }
}

/**
 * Whether the client can be observed. Says so loudly when it cannot, or when nobody knows whether it can.
 *
 * @throws HookspanError `INVALID_OPTION` when it is no client at all.
 */
export function canObserve(client: unknown): client is ClientInternals {
  if (typeof client !== 'object' || client === null) {
    throw new HookspanError(
      'INVALID_OPTION',
      `observeOpenAI expects an openai client, got ${describeValue(client)}.`,
    )
  }
  const internals = client as Partial<ClientInternals>
  const missing = (['post', 'makeRequest', 'withOptions'] as const).filter(
    (name) => typeof internals[name] !== 'function',
  )
  const version = versionOf(internals)
  if (missing.length > 0) {
    warnOnce(
      `hookspan cannot observe this client (openai ${version ?? 'of unknown version'}): it has no ` +
        `${missing.map((name) => `\`${name}()\``).join(', ')}. Its calls make no hooks and no spans. ` +
        'Use openai 6 or 7, or update hookspan.',
    )
    return false
  }
  if (version === undefined || !KNOWN_MAJORS.includes(Number.parseInt(version, 10))) {
    warnOnce(
      `hookspan knows openai ${KNOWN_MAJORS.join(' and ')}, and this client is ${version ?? 'of unknown version'}. ` +
        'It is observed as if it were one of those: check that its calls show up, or update hookspan.',
    )
  }
  return true
}

const warned = new Set<string>()

/** What is wrong with the observation itself, once. */
export function warnOnce(message: string): void {
  if (warned.has(message)) return
  warned.add(message)
  console.warn(message)
}

/** For what must not be thrown into the user's call. */
export function warnOfFailure(what: string, error: unknown): void {
  warnOnce(`hookspan: ${what}: ${errorMessage(error)}`)
}
