import { errorMessage, errorType, HookspanError, type HookspanErrorCode } from '../../internal/errors.ts'
import { safeStringify } from '../../internal/json.ts'
import { isRecord } from '../../internal/objects.ts'
import { isError } from '../../internal/realms.ts'

const DATE = 'hookspan.date'
const BYTES = 'hookspan.bytes'
/** Around an object that only looks as if it were one of these. */
const PLAIN = 'hookspan.plain'

/** A copy as it is kept: plain JSON, in which dates and bytes are written as what they come back from. */
export function toKept(value: unknown): unknown {
  const text = safeStringify(marked(value, []))
  return text === '' ? undefined : JSON.parse(text)
}

function marked(value: unknown, above: object[]): unknown {
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : { [DATE]: value.toISOString() }
  if (value instanceof Uint8Array) return { [BYTES]: Buffer.from(value).toString('base64') }
  if (typeof value !== 'object' || value === null || above.includes(value)) return value
  if ('toJSON' in value) return value
  above.push(value)
  const copy = Array.isArray(value)
    ? value.map((one) => marked(one, above))
    : mapped(value, (one) => marked(one, above))
  above.pop()
  return markOf(value) === undefined ? copy : { [PLAIN]: copy }
}

const mapped = (value: object, map: (one: unknown) => unknown) =>
  Object.fromEntries(Object.entries(value).map(([key, one]) => [key, map(one)]))

/** The mark of an object which has nothing else. */
function markOf(value: object): string | undefined {
  const [key, ...more] = Object.keys(value)
  return more.length === 0 && (key === DATE || key === BYTES || key === PLAIN) ? key : undefined
}

export function fromKept(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(fromKept)
  if (!isRecord(value)) return value
  const mark = markOf(value)
  if (mark === undefined) return mapped(value, fromKept)
  const what = value[mark]
  if (mark === PLAIN) return isRecord(what) ? mapped(what, fromKept) : what
  return mark === DATE ? new Date(String(what)) : new Uint8Array(Buffer.from(String(what), 'base64'))
}

/** What was thrown, as JSON. */
export interface Failure {
  /** As spans and results name it. */
  readonly type: string
  readonly name?: string
  readonly message: string
  /** Of a HookspanError. */
  readonly code?: string
  /** Its own fields that are plain. */
  readonly fields?: Readonly<Record<string, string | number | boolean>>
  /** Names of the global symbols by which packages know their own errors. */
  readonly marks?: readonly string[]
}

const LONGEST_FIELD = 2_000

export function failureOf(error: unknown): Failure {
  const name = isError(error) ? { name: error.name } : {}
  const failure = { type: errorType(error), ...name, message: errorMessage(error) }
  if (error instanceof HookspanError) return { ...failure, code: error.code }
  if (typeof error !== 'object' || error === null) return failure
  const fields = Object.entries(error).filter(
    ([key, value]) =>
      !['name', 'message', 'stack'].includes(key) &&
      (typeof value === 'number' ||
        typeof value === 'boolean' ||
        (typeof value === 'string' && value.length <= LONGEST_FIELD)),
  )
  const marks = Object.getOwnPropertySymbols(error).flatMap((symbol) => {
    const key = Symbol.keyFor(symbol)
    return key !== undefined && (error as Record<symbol, unknown>)[symbol] === true ? [key] : []
  })
  return {
    ...failure,
    ...(fields.length > 0 && { fields: Object.fromEntries(fields) }),
    ...(marks.length > 0 && { marks }),
  }
}

/** As it was thrown in a process that may be gone. */
export function errorOf({ type, name = type, message, code, fields = {}, marks = [] }: Failure): Error {
  if (code !== undefined) return new HookspanError(code as HookspanErrorCode, message)
  const error = new Error(message)
  error.name = name
  return Object.assign(error, fields, Object.fromEntries(marks.map((mark) => [Symbol.for(mark), true])))
}
