import type { Plugin } from '../dispatcher/index.ts'
import type { LlmRequest, ToolCallContext, ToolCallRequest } from '../hooks/index.ts'
import { canonicalJson } from '../internal/json.ts'
import { formatOfRequest, partReader } from '../wire/formats.ts'
import { asList, asObjects } from '../wire/reading.ts'
import { tell } from './tell.ts'

/** Of so many calls that nobody has answered yet, the last are kept. */
const MOST = 1_000

/**
 * Where guards are to hold on tools, tells of those that the program runs by itself: its model asked for a call and is told what
 * came of it, and no call was seen in between. Refusing them would refuse what the program may have wrapped by itself.
 */
export class UnaskedTools {
  /** What models asked for, by its id, or its name where it has none. */
  readonly #asked = new Map<string, ToolCallRequest>()
  readonly #told = new Set<string>()

  readonly plugin: Plugin = {
    name: 'register:unasked-tools',
    hooks: [
      {
        id: 'register:asked',
        type: 'afterLlmCall',
        handler: ({ response }) => {
          for (const call of response.toolCalls ?? []) this.#asked.set(call.toolCallId || call.apiName, call)
          for (const id of this.#asked.keys()) {
            if (this.#asked.size <= MOST) break
            this.#asked.delete(id)
          }
        },
      },
      { id: 'register:ran', type: 'afterToolCall', handler: (event) => this.#seen(event) },
      { id: 'register:ran-failed', type: 'onToolCallError', handler: (event) => this.#seen(event) },
    ],
  }

  #seen({ toolCallId, apiName, source, args }: ToolCallContext): void {
    if (this.#take(toolCallId) !== undefined || this.#take(apiName) !== undefined || source !== 'mcp') return
    // Whoever asks a server by itself gives its tools names that begin with the server's.
    const asked = [...this.#asked].find(
      ([, call]) => isNamedBy(call.apiName, apiName) && canonicalJson(call.args) === canonicalJson(args),
    )
    if (asked !== undefined) this.#asked.delete(asked[0])
  }

  /** By the model's id, or by the name: Google's are answered by that, and what calls a tool may know no id. */
  #take(idOrName: string): string | undefined {
    const asked = [...this.#asked]
    const [id, call] =
      asked.find(([id]) => id === idOrName) ?? asked.find(([, { apiName }]) => apiName === idOrName) ?? []
    if (id !== undefined) this.#asked.delete(id)
    return call?.apiName
  }

  /** Looks into what was said since the model's last word. */
  readonly lookInto = (request: LlmRequest): void => {
    const format = this.#asked.size === 0 ? undefined : formatOfRequest(request)
    if (format === undefined) return
    const read = partReader(format)
    const names = new Set<string>()
    for (const item of asObjects(asList(format.fields(request).messages)).toReversed()) {
      const { role, parts } = format.message(item, read)
      if (role === 'assistant') break
      for (const { type, id } of parts) {
        const name = type === 'tool_call_response' ? this.#take(String(id)) : undefined
        if (name !== undefined) names.add(name)
      }
    }
    const fresh = [...names].filter((name) => !this.#told.has(name)).sort()
    if (fresh.length === 0) return
    for (const name of fresh) this.#told.add(name)
    tell(
      `the program runs tools by itself (${fresh.join(', ')}): no gate and no mock of hookspan.config.* was asked here. wrapTools() of hookspan/adapter asks those of its dispatcher.`,
    )
  }
}

/** `mcp__shop__find`, `shop.find`: of the tool `find`. */
function isNamedBy(given: string, apiName: string): boolean {
  return given.endsWith(apiName) && /[^A-Za-z0-9]$/.test(given.slice(0, -apiName.length))
}

/** Whether it decides on tools, or stands in for them. */
export function guardsTools({ gates = [], hooks = [], standIn }: Plugin): boolean {
  const decides = gates.some(({ point, shadow }) => !shadow && [point].flat().includes('beforeToolCall'))
  return decides || standIn !== undefined || hooks.some(({ mocks }) => mocks)
}
