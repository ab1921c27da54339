import { undeceived } from './look-alikes.ts'

/** What each means and what to do about it: docs/errors.md. */
export const ERROR_CODES = [
  'INVALID_HOOK',
  'INVALID_GATE',
  'INVALID_PLUGIN',
  'INVALID_OPTION',
  'INVALID_EVENT',
  'INVALID_CALL',
  'DUPLICATE_HOOK',
  'DUPLICATE_OPERATION',
  'OPERATION_ENDED',
  'MOCK_TOO_LATE',
  'MOCK_INVALID',
  'CALL_DENIED',
  'CALL_SETTLED',
  'NOT_CAPABLE',
  'RUN_DENIED',
  'MISSING_DEPENDENCY',
  'INVALID_RECORDING',
  'INVALID_CONFIG',
  'SCRIPT_NOT_FOLLOWED',
  'MOCK_UNMATCHED',
  'MOCK_UNUSED',
  'MOCK_UNKNOWN_TOOL',
  'MOCK_ARGUMENTS',
  'MOCK_RESULT',
  'MOCK_EXPECTATION',
  'MOCKS_FAILED',
  'REPLAY_DIVERGED',
  'REPLAY_DRIFTED',
  'LIVE_CALL',
  'APPROVAL_UNSCRIPTED',
  'TRAJECTORY_UNREADABLE',
  'APPROVAL_MISMATCH',
  'APPROVAL_EXPIRED',
  'APPROVAL_NOT_FOUND',
  'APPROVAL_ANSWERED',
  'APPROVAL_NOT_ALLOWED',
  'APPROVAL_UNREACHABLE',
  'INVALID_ANSWER',
  'INVALID_SIGNATURE',
  'INVALID_STATE',
  'STATE_CLAIMED',
  'CHECKPOINT_FAILED',
] as const

export type HookspanErrorCode = (typeof ERROR_CODES)[number]

/** The one error class of the package. `code` is stable; the message names the value and the mend. */
export class HookspanError extends Error {
  override readonly name: string = 'HookspanError'
  readonly code: HookspanErrorCode

  constructor(code: HookspanErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** How much of a value an error message shows, in characters; of a list or an object, at most so many items. */
const SHOWN = 80

/** A value as an error message shows it: short, quoted, with its type. Never throws. */
export function describeValue(value: unknown): string {
  if (value === undefined || value === null) return `\`${value}\``
  if (typeof value === 'object' || typeof value === 'function') {
    const shown = preview(value)
    return `\`${shown}\` (${shown === PROMISE ? 'a promise: `await` it' : kindOf(value)})`
  }
  const shown = typeof value === 'string' ? undeceived(JSON.stringify(value.slice(0, SHOWN))) : String(value)
  return `\`${cut(shown)}\` (${typeof value})`
}

/** A proxy may throw whatever it is asked, and one that is revoked does. */
function kindOf(value: object): string {
  try {
    return Array.isArray(value) ? 'array' : typeof value
  } catch {
    return typeof value
  }
}

const PROMISE = '"[object Promise]"'

function preview(value: object): string {
  try {
    if (typeof value === 'function') return cut(`function ${String(value.name)}`.trim())
    if (ArrayBuffer.isView(value)) return tagOf(value)
    let left = SHOWN
    const shown = (_key: string, item: unknown) => (left-- > 0 ? asShown(item) : undefined)
    return cut(undeceived(JSON.stringify(value, shown) ?? Object.prototype.toString.call(value)))
  } catch {
    return tagOf(value)
  }
}

function tagOf(value: object): string {
  try {
    return Object.prototype.toString.call(value)
  } catch {
    return `[${typeof value}, cannot be read]`
  }
}

/** What JSON would leave out, or show as something else, or what is longer than is shown. */
function asShown(value: unknown): unknown {
  if (typeof value === 'string') return value.slice(0, SHOWN)
  if (typeof value === 'function' || typeof value === 'symbol') return `[${typeof value}]`
  if (typeof value === 'bigint' || (typeof value === 'number' && !Number.isFinite(value))) return `[${value}]`
  if (typeof value !== 'object' || value === null) return value
  const tag = Object.prototype.toString.call(value)
  return /Promise|Map|Set|Headers|URLSearchParams|RegExp/.test(tag) ? tag : headOf(value)
}

/** Of what is thrown, which may be all of a response, no more is looked at than is shown; and no bytes are, one by one. */
function headOf(value: object): object {
  if (Array.isArray(value)) {
    const isShort = value.length <= SHOWN && !value.some(ArrayBuffer.isView)
    return isShort ? value : value.slice(0, SHOWN).map(withoutBytes)
  }
  const fields = value as Readonly<Record<string, unknown>>
  const names = Object.keys(value)
  const isShort = names.length <= SHOWN && !names.some((name) => ArrayBuffer.isView(fields[name]))
  if (isShort) return value
  return Object.fromEntries(names.slice(0, SHOWN).map((name) => [name, withoutBytes(fields[name])]))
}

function withoutBytes(item: unknown): unknown {
  return ArrayBuffer.isView(item) ? tagOf(item) : item
}

function cut(text: string): string {
  return text.length > SHOWN ? `${text.slice(0, SHOWN - 3)}...` : text
}

/** The text of anything that was thrown. Never throws. */
export function errorMessage(error: unknown): string {
  try {
    if (error instanceof Error) return error.message || error.name
    if (typeof error === 'string') return error
    // Of another realm, or told in JSON.
    const { message } = (error ?? {}) as { message?: unknown }
    return typeof message === 'string' && message !== '' ? message : describeValue(error)
  } catch {
    return 'unknown error'
  }
}

/** The same as a sentence: many end with a full stop, and some without. */
export function errorSentence(error: unknown): string {
  const text = errorMessage(error)
  return /[.!?]$/.test(text) ? text : `${text}.`
}

/**
 * A stable, low-cardinality name for anything that was thrown: its HTTP status or string `code` where it has one,
 * else its class name, `_OTHER` for what is no error (the OpenTelemetry fallback value of `error.type`).
 */
export function errorType(error: unknown): string {
  try {
    if (typeof error !== 'object' || error === null) return '_OTHER'
    const { code, name, status } = error as { code?: unknown; name?: unknown; status?: unknown }
    if (typeof status === 'number') return String(status)
    if (typeof code === 'string' && code !== '') return code
    if (typeof name === 'string' && name !== '' && name !== 'Error') return name
    return (error as object).constructor?.name || 'Error'
  } catch {
    return '_OTHER'
  }
}
