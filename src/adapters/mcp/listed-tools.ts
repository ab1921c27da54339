import type { HookDispatcher } from '../../dispatcher/index.ts'
import { defined } from '../../internal/objects.ts'
import { asObject, asObjects, asText, type Loose } from '../../wire/reading.ts'
import { replace } from '../replace.ts'
import type { Method, Schemas } from './call.ts'

type List = (...asked: unknown[]) => Promise<unknown>

/** What clients that are observed have listed, by who observes them, as long as there are such. */
const all = new WeakMap<HookDispatcher, Set<WeakRef<ListedTools>>>()

/** What observed servers have listed, by who observes them and their names: one of HTTP may be made anew for each request. */
const ofServers = new WeakMap<HookDispatcher, Map<string, ListedTools>>()

export function listedBy(dispatcher: HookDispatcher, server: string): ListedTools {
  const known = ofServers.get(dispatcher) ?? new Map<string, ListedTools>()
  ofServers.set(dispatcher, known)
  const listed = known.get(server) ?? new ListedTools()
  known.set(server, listed)
  return listed
}

/**
 * The server of a tool that an SDK has made of what a client has listed, and that says nothing of it. Undefined where several
 * servers have such a tool.
 *
 * @param name may have something before it: «shop__refund».
 */
export function serverOf(dispatcher: HookDispatcher, name: string, description: string): string | undefined {
  const known = all.get(dispatcher)
  const found = new Set<string>()
  for (const ref of known ?? []) {
    const listed = ref.deref()
    if (listed?.has(name, description)) found.add(listed.server?.() ?? '')
  }
  const [server] = found
  return found.size === 1 && server !== '' ? server : undefined
}

/** The tools of a server, as its client has listed them. */
export class ListedTools {
  readonly server: (() => string) | undefined
  readonly #schemas = new Map<string, Schemas>()
  readonly #descriptions = new Map<string, string>()

  constructor(server?: () => string) {
    this.server = server
  }

  has(name: string, description: string): boolean {
    return [...this.#descriptions].some(
      ([own, said]) => said === description && (name === own || name.endsWith(`__${own}`)),
    )
  }

  of(method: Method, params: Loose): Schemas {
    return (method === 'tools/call' && this.#schemas.get(asText(params.name) ?? '')) || {}
  }

  /** Reads the lists that are asked for, which come as they are. @returns leaves the client as it was. */
  watch(client: { listTools?: List }, dispatcher: HookDispatcher): () => void {
    const { listTools } = client
    if (typeof listTools !== 'function') return () => {}
    const known = all.get(dispatcher) ?? new Set()
    all.set(dispatcher, known)
    for (const ref of known) if (ref.deref() === undefined) known.delete(ref)
    const own = new WeakRef(this)
    known.add(own)
    const undo = replace(client as { listTools: List }, 'listTools', async (...asked) => {
      const listed = await listTools.apply(client, asked)
      this.read(listed)
      return listed
    })
    return () => {
      known.delete(own)
      undo()
    }
  }

  read(listed: unknown): void {
    for (const { name, description, inputSchema, outputSchema } of asObjects(asObject(listed)?.tools)) {
      this.#schemas.set(asText(name) ?? '', defined({ inputSchema, outputSchema }))
      this.#descriptions.set(asText(name) ?? '', asText(description) ?? '')
    }
  }
}
