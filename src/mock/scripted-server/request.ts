import { jsonIn } from '../../internal/json.ts'
import { isRecord } from '../../internal/objects.ts'
import { chat } from '../../wire/chat-completions.ts'
import { FORMATS } from '../../wire/formats.ts'
import { asList, asObject } from '../../wire/reading.ts'
import type { ScriptedRequest, ScriptedStep } from './types.ts'

/** A request as it came, before anything is understood of it. */
export interface RawRequest {
  method: string
  /** Without the query. */
  path: string
  headers: Record<string, string>
  bodyText: string
}

export function parseRequest(
  { method, path, headers, bodyText }: RawRequest,
  index: number,
): ScriptedRequest {
  const format = FORMATS.find(({ route }) => route?.test(path))
  const body = asObject(jsonIn(bodyText)) ?? {}
  return {
    ...{ index, api: format?.name, method, path, headers, body, bodyText },
    stream: body.stream === true || path.endsWith(':streamGenerateContent'),
    messages: toList((format ?? chat).fields(body).messages),
  }
}

function toList(messages: unknown): readonly unknown[] {
  if (typeof messages === 'string') return [{ role: 'user', content: messages }]
  return asList(messages)
}

/** Why no script could answer the request, if that is so. */
export function problemWith(request: ScriptedRequest): string | undefined {
  if (!request.api || request.method !== 'POST') {
    return (
      'only `POST /v1/chat/completions` and `POST /v1/responses` are served, `POST /v1/messages`, ' +
      '`POST /v1beta/interactions` and `POST /v1beta/models/<model>:generateContent`'
    )
  }
  if (!isRecord(jsonIn(request.bodyText))) return 'its body is not a JSON object'
  return undefined
}

/** Why that step cannot answer the request, if that is so. */
export function misfit({ error, raw }: ScriptedStep, { api, body }: ScriptedRequest): string | undefined {
  const choices = body.n ?? 1
  if (api !== 'chat' || choices === 1 || error || raw) return undefined
  return `it asks for ${JSON.stringify(choices)} choices (\`n\`), and a step holds one. Give the whole reply as \`raw\``
}

/** One line that tells a person which request it was. */
export function describeRequest(request: ScriptedRequest): string {
  const model = typeof request.body.model === 'string' ? ` for model "${request.body.model}"` : ''
  const last = request.messages.at(-1)
  const ending = last === undefined ? '' : `, its last message ${shorten(JSON.stringify(last))}`
  return `request ${request.index} (${request.method} ${request.path}${model}${ending})`
}

export function shorten(text: string, length = 160): string {
  return text.length <= length ? text : `${text.slice(0, length)}… (${text.length} characters)`
}
