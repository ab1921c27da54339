import { isRecord } from '../../internal/objects.ts'

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
 * The SDK catches what a tool throws and gives the model its own words, or those of the tool's `errorFunction`: whoever
 * calls the tool sees a text like any other. That it was a failure is told to the span that is current, and to nobody
 * else, so it is listened to there. A tool with `errorFunction: null` throws, and needs none of this.
 */
export class SwallowedFailure {
  #told: { readonly error: unknown } | undefined
  #end = () => {}

  /** Runs the tool. Where the SDK's tracing is off there is no span, and one of its no-op kind is put there. */
  watch<T>(invoke: () => T): T {
    const storage = (globalThis as Record<symbol, unknown>)[STORAGE] as SdkStorage | undefined
    const store = storage?.getStore()
    const span = store?.span
    if (isSpan(span)) {
      this.#listen(span)
      return invoke()
    }
    if (storage === undefined || store === undefined) return invoke()
    return storage.run({ ...store, span: this.#noop() }, invoke)
  }

  #listen(span: SdkSpan): void {
    const { setError } = span
    const listening = (error: unknown) => {
      this.#note(error)
      return setError.call(span, error)
    }
    if (!Reflect.defineProperty(span, 'setError', { value: listening, configurable: true, writable: true }))
      return
    this.#end = () => {
      if (span.setError === listening) delete (span as Partial<SdkSpan>).setError
    }
  }

  #noop() {
    const nothing = () => {}
    return {
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
      setError: (error: unknown) => this.#note(error),
    }
  }

  #note(error: unknown): void {
    if (isRecord(error) && error.message === TOOL_ERROR) {
      this.#told = { error: isRecord(error.data) ? error.data.error : undefined }
    }
  }

  end(): void {
    this.#end()
  }

  /** What the tool threw, as far as the SDK says it; undefined where it gave a result. */
  of(value: unknown): { readonly error: Error } | undefined {
    if (this.#told === undefined && value !== DEFAULT_WORDS) return undefined
    const said = this.#told?.error
    const known = typeof said === 'string' && said !== REDACTED
    const message = known
      ? said.replace(/^Error: /, '')
      : typeof value === 'string'
        ? value
        : 'the tool failed'
    return { error: new ToolFailed(message) }
  }
}

function isSpan(span: unknown): span is SdkSpan {
  return typeof (span as Partial<SdkSpan> | null | undefined)?.setError === 'function'
}
