import { currentModelCall } from '../../dispatcher/run/live-calls.ts'
import { Script } from './script.ts'
import type { ScriptOptions, ScriptReport } from './types.ts'

/** A `fetch` that answers from a script, and the script's report. */
export type ScriptedFetch = typeof globalThis.fetch & ScriptReport

/**
 * The scripted model in process, without a port: the `openai` client does everything it does over a socket.
 *
 * @throws ScriptError when the script is wrong in itself.
 * @example
 * const fetch = scriptedFetch({ steps: [{ content: 'hello' }] })
 * const client = new OpenAI({ apiKey: 'scripted', fetch })
 * await client.chat.completions.create({ model: 'gpt-4o', messages: [{ role: 'user', content: 'hi' }] })
 * fetch.assertDone()
 */
export function scriptedFetch(options: ScriptOptions): ScriptedFetch {
  const script = new Script(options)
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const request = typeof input === 'object' && 'url' in input ? new Request(input, init) : undefined
    const signal = init?.signal ?? request?.signal ?? new AbortController().signal
    signal.throwIfAborted()
    const raw = {
      method: (request?.method ?? init?.method ?? 'GET').toUpperCase(),
      path: new URL(request?.url ?? String(input)).pathname,
      headers: Object.fromEntries(request?.headers ?? new Headers(init?.headers)),
      bodyText: request ? await request.text() : await bodyText(init?.body),
    }
    const call = currentModelCall()
    if (call) call.scripted = true
    return script.handle(raw, signal)
  }
  return Object.defineProperties(fetch, {
    requests: { get: () => script.requests },
    unexpected: { get: () => script.unexpected },
    remaining: { get: () => script.remaining },
    assertDone: { value: () => script.assertDone() },
  }) as ScriptedFetch
}

async function bodyText(body: RequestInit['body']): Promise<string> {
  return typeof body === 'string' ? body : new Response(body ?? null).text()
}
