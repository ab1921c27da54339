import { type Context, context, createContextKey, type Span, trace } from '@opentelemetry/api'

const PLACE = createContextKey('hookspan place')

/** The API keeps the span under a key that it does not export, but tells to whatever context it is given. */
const SPAN = spanKey()

function spanKey(): symbol {
  let used = PLACE
  const probe: Context = {
    getValue: () => undefined,
    setValue: (key) => {
      used = key
      return probe
    },
    deleteValue: () => probe,
  }
  trace.setSpan(probe, trace.wrapSpanContext({ traceId: '', spanId: '', traceFlags: 0 }))
  return used
}

/** The context of code that runs in a span. */
export function contextIn(parent: Context, span: Span): Context {
  return parent instanceof SpanContext
    ? parent.setValue(SPAN, span)
    : new SpanContext(parent, span, parent.getValue(PLACE))
}

/** The same context with a value that `currentPlace` finds in it. */
export function contextAt(inner: Context, place: unknown): Context {
  return inner.setValue(PLACE, place)
}

export function currentPlace(): unknown {
  return context.active().getValue(PLACE)
}

/**
 * A context with a span in it, and the place in an operation where its code runs. The API's own contexts copy
 * everything below them for each value that is set; of this one a copy is three fields.
 */
class SpanContext implements Context {
  readonly #base: Context
  readonly #span: unknown
  readonly #place: unknown

  constructor(base: Context, span: unknown, place: unknown) {
    this.#base = base
    this.#span = span
    this.#place = place
  }

  getValue(key: symbol): unknown {
    if (key === SPAN) return this.#span
    return key === PLACE ? this.#place : this.#base.getValue(key)
  }

  setValue(key: symbol, value: unknown): Context {
    if (key === SPAN) return new SpanContext(this.#base, value, this.#place)
    if (key === PLACE) return new SpanContext(this.#base, this.#span, value)
    return new SpanContext(this.#base.setValue(key, value), this.#span, this.#place)
  }

  deleteValue(key: symbol): Context {
    if (key === SPAN || key === PLACE) return this.setValue(key, undefined)
    return new SpanContext(this.#base.deleteValue(key), this.#span, this.#place)
  }
}
