/** What every server of JSON routes answers, and how it reads. */

export function json(status: number, value: unknown, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(value), {
    status,
    headers: {
      'content-type': 'application/json',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      ...headers,
    },
  })
}

export function problem(status: number, message: string, headers: Record<string, string> = {}): Response {
  return json(status, { error: `HTTP_${status}`, message }, headers)
}

export function unauthorized(): Response {
  return problem(401, 'A valid bearer token is required.', { 'www-authenticate': 'Bearer realm="hookspan"' })
}

export function tooMany(waitMs: number): Response {
  const seconds = String(Math.ceil(waitMs / 1_000))
  return problem(429, 'Too many requests.', { 'retry-after': seconds })
}

/** Undefined for a body that is larger. */
export async function readBody(request: Request, maxBytes: number): Promise<Uint8Array | undefined> {
  if (Number(request.headers.get('content-length') ?? 0) > maxBytes) return undefined
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of request.body ?? []) {
    bytes += chunk.length
    if (bytes > maxBytes) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
