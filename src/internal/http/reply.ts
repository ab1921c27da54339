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

export function unauthorized(why = 'A valid bearer token is required.'): Response {
  return problem(401, why, { 'www-authenticate': 'Bearer realm="hookspan"' })
}

export function tooMany(waitMs: number): Response {
  const seconds = String(Math.ceil(waitMs / 1_000))
  return problem(429, 'Too many requests.', { 'retry-after': seconds })
}

/** What routes below it have before their own paths: with a slash before it and none after it, as a URL has it. */
export function rootPath(basePath: string): string {
  return new URL(`http://host/${basePath.replace(/^\/+|\/+$/g, '')}`).pathname.replace(/\/$/, '')
}

/** The bytes of a body, or what to answer: it is larger, or something before these routes has read it. */
export async function readBody(request: Request, maxBytes: number): Promise<Uint8Array | Response> {
  const tooLarge = () => problem(413, `The body is larger than ${maxBytes} bytes.`)
  const told = Number(request.headers.get('content-length') ?? 0)
  if (told > maxBytes) return tooLarge()
  if (request.bodyUsed) return readBefore()
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of request.body ?? []) {
    bytes += chunk.length
    if (bytes > maxBytes) return tooLarge()
    chunks.push(chunk)
  }
  return bytes === 0 && told > 0 ? readBefore() : Buffer.concat(chunks)
}

function readBefore(): Response {
  return problem(500, 'The body was read before these routes: they come before whatever parses bodies.')
}
