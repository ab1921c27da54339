/** Changes what a recording is to hold. Also given the arguments of a replayed call, before they are compared. */
export type RedactRecording = (
  value: unknown,
  place: { readonly tool: string; readonly part: 'args' | 'result' | 'content' | 'error' },
) => unknown

/**
 * Replaces the values of these properties, at every depth.
 *
 * @example
 * recordTools(dispatcher, { file, redact: redactKeys(['email', 'token']) })
 */
export function redactKeys(keys: readonly string[], replacement: unknown = '[redacted]'): RedactRecording {
  const names = new Set(keys.map((key) => key.toLowerCase()))
  const walk = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(walk)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [
        key,
        names.has(key.toLowerCase()) ? replacement : walk(item),
      ]),
    )
  }
  return (value, { part }) => {
    // What a model is told is JSON as text where the result was an object.
    if (part !== 'content' || typeof value !== 'string') return walk(value)
    try {
      return JSON.stringify(walk(JSON.parse(value)))
    } catch {
      return value
    }
  }
}
