import { defined } from '../../internal/objects.ts'
import { asObject, asObjects, asText, type Loose } from '../../wire/reading.ts'
import { replace } from '../replace.ts'
import type { Method, Schemas } from './call.ts'

type List = (...asked: unknown[]) => Promise<unknown>

/** The schemas of a server's tools, as its client has listed them. */
export class ListedTools {
  readonly #schemas = new Map<string, Schemas>()

  of(method: Method, params: Loose): Schemas {
    return (method === 'tools/call' && this.#schemas.get(asText(params.name) ?? '')) || {}
  }

  /** Reads the lists that are asked for, which come as they are. @returns leaves the client as it was. */
  watch(client: { listTools?: List }): () => void {
    const { listTools } = client
    if (typeof listTools !== 'function') return () => {}
    return replace(client as { listTools: List }, 'listTools', async (...asked) => {
      const listed = await listTools.apply(client, asked)
      this.read(listed)
      return listed
    })
  }

  read(listed: unknown): void {
    for (const { name, inputSchema, outputSchema } of asObjects(asObject(listed)?.tools))
      this.#schemas.set(asText(name) ?? '', defined({ inputSchema, outputSchema }))
  }
}
