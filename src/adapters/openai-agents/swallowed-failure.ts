import { isRecord } from '../../internal/objects.ts'
import { asList, asObject, asText } from '../../wire/reading.ts'
import { isLocked } from '../replace.ts'
import { patches } from './patches.ts'
import { currentFrame, type ToolFrame } from './place.ts'
import type { McpServer } from './sdk.ts'

/** A tool threw, and the SDK put that into words for the model. */
class ToolFailed extends Error {
  override readonly name: string = 'ToolFailed'
}

/** What is used of a span of the SDK's own tracing. */
interface SdkSpan {
  setError(error: unknown): void
}

interface SdkStorage {
  getStore(): Readonly<Record<string, unknown>> | undefined
  run<T>(store: object, fn: () => T): T
}

/** Where each copy of the SDK keeps the span that is current. */
const STORAGE = Symbol.for('openai.agents.core.asyncLocalStorage')
const TOOL_ERROR = 'Error running tool (non-fatal)'
const REDACTED = 'Tool execution failed. Error details are redacted.'
const DEFAULT_WORDS = 'An error occurred while running the tool. Please try again.'

/**
 * Runs a tool. The SDK catches what it throws and gives the model its own words, or those of the tool's `errorFunction`:
 * whoever calls the tool sees a text like any other. That it was a failure is told to the span that is current, and to
 * nobody else, so it is listened to there, in the class of spans: ours in each of them would cost more than the call. A tool
 * with `errorFunction: null` throws, and needs none of this. Where the SDK's tracing is off there is no span, and one that
 * does nothing is put there.
 */
export function watched<T>(invoke: () => T): T {
  const storage = (globalThis as Record<symbol, unknown>)[STORAGE] as SdkStorage | undefined
  const store = storage?.getStore()
  const span = store?.span
  if (isSpan(span)) {
    listenTo(span)
    return invoke()
  }
  return storage === undefined || store === undefined
    ? invoke()
    : storage.run({ ...store, span: NO_SPAN }, invoke)
}

function listenTo(span: SdkSpan): void {
  let owner: SdkSpan | null = span
  while (owner !== null && !Object.hasOwn(owner, 'setError'))
    owner = Object.getPrototypeOf(owner) as SdkSpan | null
  if (owner === null || patches.has(owner) || isLocked(owner, 'setError')) return
  const { setError } = owner
  patches.replace(owner, 'setError', function (this: SdkSpan, ...args) {
    note(args[0])
    return setError.apply(this, args)
  })
}

const nothing = () => {}
const NO_SPAN = {
  type: 'trace.span',
  traceId: 'no-op',
  spanId: 'no-op',
  parentId: null,
  spanData: { type: 'function' },
  error: null,
  start: nothing,
  end: nothing,
  toJSON: () => null,
  clone: nothing,
  setError: note,
}

function note(error: unknown): void {
  const tool = currentFrame()?.tool
  if (tool !== undefined && isRecord(error) && error.message === TOOL_ERROR) {
    tool.swallowed = { error: isRecord(error.data) ? error.data.error : undefined }
  }
}

/** What the tool threw, as far as the SDK says it; undefined where it gave a result. */
export function failureOf({ swallowed }: ToolFrame, value: unknown): { readonly error: Error } | undefined {
  if (swallowed === undefined && value !== DEFAULT_WORDS) return undefined
  const said = swallowed?.error
  const known = typeof said === 'string' && said !== REDACTED
  const message = known ? said.replace(/^Error: /, '') : typeof value === 'string' ? value : 'the tool failed'
  return { error: new ToolFailed(message) }
}

/** A server's word that its tool failed, of which the SDK passes on the text alone. */
export function watchServer(server: McpServer): void {
  if (patches.has(server)) return
  for (const name of ['callTool', 'callToolResult'] as const) {
    const own = server[name]
    if (typeof own !== 'function' || isLocked(server, name)) continue
    patches.replace(server, name, async function (this: McpServer, ...args: unknown[]) {
      const result = await own.apply(this, args)
      const { isError, content = result } = (result ?? {}) as { isError?: unknown; content?: unknown }
      const tool = currentFrame()?.tool
      if (isError === true && tool !== undefined) tool.swallowed = { error: textOf(content) }
      return result
    })
  }
}

function textOf(content: unknown): string {
  return asList(content)
    .map((block) => asText(asObject(block)?.text) ?? '')
    .join('')
}

function isSpan(span: unknown): span is SdkSpan {
  return typeof (span as Partial<SdkSpan> | null | undefined)?.setError === 'function'
}
