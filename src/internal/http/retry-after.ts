/** Milliseconds that an answer asks to wait, in seconds or until a date; undefined where it asks for none. */
export function retryAfter(header: string | undefined): number | undefined {
  if (header === undefined) return undefined
  const ms = /^\d+$/.test(header.trim()) ? Number(header) * 1_000 : Date.parse(header) - Date.now()
  return ms > 0 ? ms : undefined
}
