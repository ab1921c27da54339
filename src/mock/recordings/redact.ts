import { isThenable } from '../../internal/async.ts'
import { a, expected } from '../../internal/expect.ts'
import { jsonIn } from '../../internal/json.ts'

/** Changes what a recording is to hold. Also given the arguments of a replayed call, before they are compared. */
export type RedactRecording = (
  value: unknown,
  place: { readonly tool: string; readonly part: 'args' | 'result' | 'content' | 'error' },
) => unknown

/** One that answers later has answered nothing: what it gives would be recorded as `{}`. */
export function redactNow(redact: RedactRecording): RedactRecording {
  return (value, place) => {
    const redacted = redact(value, place)
    if (!isThenable(redacted)) return redacted
    throw expected('`redact` of a recording to give a value', redacted)
  }
}

/**
 * Replaces the values of these properties, at every depth, and in text that is JSON as a whole.
 *
 * @example
 * recordTools(dispatcher, { file, redact: redactKeys(['email', 'token']) })
 */
export function redactKeys(keys: readonly string[], replacement: unknown = '[redacted]'): RedactRecording {
  if (!a.strings.fits(keys)) throw expected('the keys of redactKeys to be a list of strings', keys)
  const names = new Set(keys.map((key) => key.toLowerCase()))
  const walk = (value: unknown): unknown => {
    if (typeof value === 'string') return inText(value)
    if (Array.isArray(value)) return value.map(walk)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [
        key,
        names.has(key.toLowerCase()) ? replacement : walk(item),
      ]),
    )
  }
  const inText = (text: string): string => {
    const value = /^\s*[[{]/.test(text) ? jsonIn(text) : undefined
    if (value === undefined) return text
    const walked = JSON.stringify(walk(value))
    return walked === JSON.stringify(value) ? text : walked
  }
  return walk
}
