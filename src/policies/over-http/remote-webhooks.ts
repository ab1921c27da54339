/** Webhooks that were registered over HTTP: what a registration may say, and those that there are. */
import type { HookDispatcher, Plugin } from '../../dispatcher/index.ts'
import type { AgentHook, AnyHookType, HookContext, HookEvent } from '../../hooks/index.ts'
import { within } from '../../internal/async.ts'
import { HookspanError } from '../../internal/errors.ts'
import { a, assertFields, expected, type Fields, required, secret, shape } from '../../internal/expect.ts'
import { matchesGlob } from '../../internal/glob.ts'
import type { DeliveryCounts, WebhookSender } from '../../internal/http/webhook-sender.ts'
import { defined } from '../../internal/objects.ts'
import type { EventField } from '../event-fields.ts'
import { senderOf, type WebhookHook, webhooksOn } from '../webhook-hook.ts'

/** The body of `PUT /hooks/{id}`. */
export interface WebhookRegistration {
  /** Which events: one type of hook, or several. */
  on: AnyHookType | readonly AnyHookType[]
  /** Where they are posted to, as `{ id, type, event }`. */
  url: string
  /** Names of the event's fields that are sent, and no others. Has no default: what leaves the process is said. */
  fields: readonly EventField<AnyHookType>[]
  /** Of tool hooks: a glob of tool names. */
  match?: string
  /** Only what is told of this run, and of the runs that it calls. The registration goes when the run has ended. */
  operationId?: string
  /** Signs each request with HMAC-SHA256. */
  secret?: string
  headers?: Readonly<Record<string, string>>
  /** Milliseconds for one attempt. @default 10_000 */
  timeoutMs?: number
  /** Attempts in all before a delivery is given up. @default 8 */
  maxAttempts?: number
}

const REGISTRATION: Fields<WebhookRegistration> = {
  on: required(
    shape('a type of hook, or a list of them', (on) => typeof on === 'string' || a.strings.fits(on)),
  ),
  url: required(a.name),
  fields: required(shape("names of the event's fields, at least one", hasOne)),
  match: a.name,
  operationId: a.name,
  secret: secret(a.name),
  headers: secret(a.object),
  timeoutMs: a.number(1),
  maxAttempts: a.number(1),
}

function hasOne(fields: unknown): boolean {
  return a.strings.fits(fields) && (fields as unknown[]).length > 0
}

/** One that was registered, as it is listed: without what is secret. */
export interface RegisteredWebhook extends DeliveryCounts {
  readonly id: string
  readonly on: readonly AnyHookType[]
  /** Without its query, which may hold a secret. */
  readonly url: string
  readonly fields: readonly string[]
  readonly match?: string
  readonly operationId?: string
  /** Whose token it was registered with, where the token has an owner. */
  readonly by?: string
  /** Epoch milliseconds. */
  readonly registeredAt: number
}

export interface RemoteWebhooksOptions {
  readonly dispatcher: HookDispatcher
  readonly deliverTo: readonly string[] | undefined
  readonly allowPrivateAddresses: boolean
  readonly maxWebhooks: number
}

interface Entry {
  readonly told: Omit<RegisteredWebhook, keyof DeliveryCounts>
  readonly sender: WebhookSender
  readonly hooks: readonly WebhookHook[]
  readonly plugin: Plugin
  readonly inUse: Disposable
}

/** It is part of a path and of a header. */
const ID = /^[\w.-]{1,100}$/

export class RemoteWebhooks {
  readonly #options: RemoteWebhooksOptions
  readonly #entries = new Map<string, Entry>()
  readonly #removed = new Set<readonly WebhookHook[]>()

  constructor(options: RemoteWebhooksOptions) {
    this.#options = options
  }

  get plugins(): ReadonlySet<Plugin> {
    return new Set([...this.#entries.values()].map(({ plugin }) => plugin))
  }

  list(): RegisteredWebhook[] {
    return [...this.#entries.values()].map(listed)
  }

  get(id: string): RegisteredWebhook | undefined {
    const entry = this.#entries.get(id)
    return entry && listed(entry)
  }

  /**
   * Registers one, or puts it in the place of the one of this id: at no moment are there both, or neither.
   *
   * @throws HookspanError `INVALID_OPTION` or `INVALID_HOOK` naming the field; `DUPLICATE_HOOK` for an id that the program
   * itself uses, and where there are as many as there may be. Then nothing has changed.
   */
  put(id: string, given: unknown, by: string | undefined): RegisteredWebhook {
    const { dispatcher, maxWebhooks } = this.#options
    if (!ID.test(id)) throw expected('the id to be 1 to 100 of A-Z, a-z, 0-9, `_`, `.` and `-`', id)
    const before = this.#entries.get(id)
    this.#assertFree(id)
    if (before === undefined && this.#entries.size >= maxWebhooks) {
      throw new HookspanError('DUPLICATE_HOOK', `There are ${maxWebhooks} webhooks. Remove one first.`)
    }
    assertFields<WebhookRegistration>(given, REGISTRATION, `webhook "${id}"`)
    const { sender, hooks } = this.#make(id, given)
    const { on, fields, match, operationId } = given
    const told = defined({
      ...{ id, on: [on].flat() as AnyHookType[], url: sender.shownUrl, fields, match, operationId, by },
      registeredAt: Date.now(),
    })
    const ofRun = operationId === undefined ? hooks : this.#ofRun(id, operationId, hooks)
    const plugin: Plugin = {
      ...{ name: `http:${id}`, hooks: [...ofRun] },
      ...defined({ replaces: before?.plugin }),
    }
    const entry = { told, sender, hooks, plugin, inUse: dispatcher.use(plugin) }
    if (before !== undefined) this.#keepUntilSent(before)
    this.#entries.set(id, entry)
    return listed(entry)
  }

  /** What it was told before is still delivered. */
  remove(id: string): boolean {
    const entry = this.#entries.get(id)
    if (entry === undefined) return false
    this.#entries.delete(id)
    entry.inUse[Symbol.dispose]()
    this.#keepUntilSent(entry)
    return true
  }

  removeAll(): void {
    for (const id of [...this.#entries.keys()]) this.remove(id)
  }

  /** Waits until everything was delivered or given up, of those that were removed, too. */
  async flush(timeoutMs: number): Promise<void> {
    const hooks = [...[...this.#entries.values()].map((entry) => entry.hooks), ...this.#removed].flat()
    await within(timeoutMs, Promise.all(hooks.map((hook) => hook.flush({ timeoutMs }))))
  }

  #keepUntilSent({ hooks }: Entry): void {
    this.#removed.add(hooks)
    Promise.all(hooks.map((hook) => hook.flush({ timeoutMs: Number.POSITIVE_INFINITY }))).finally(() =>
      this.#removed.delete(hooks),
    )
  }

  #make(id: string, given: WebhookRegistration): { sender: WebhookSender; hooks: readonly WebhookHook[] } {
    const { on, operationId, ...rest } = given
    const { deliverTo, allowPrivateAddresses } = this.#options
    const options = { ...rest, id, types: [on].flat() as AnyHookType[], allowPrivateAddresses }
    const sender = senderOf(options)
    const { hostname } = new URL(given.url)
    if (deliverTo !== undefined && !deliverTo.some((host) => matchesGlob(host, hostname))) {
      throw expected(`\`url\` of webhook "${id}" to be on ${deliverTo.join(' or ')}`, hostname)
    }
    return { sender, hooks: webhooksOn(sender, options as never) }
  }

  /** The same hooks for one run, and one that takes them out when it has ended. */
  #ofRun(id: string, operationId: string, hooks: readonly WebhookHook[]): AgentHook[] {
    const ofRun = hooks.map((hook) => ({
      ...hook,
      handler: (event: HookEvent, context: HookContext) => {
        const belongs = event.operationId === operationId || event.rootOperationId === operationId
        if (belongs) hook.handler(event as never, context)
      },
    }))
    const ends = {
      id: `${id}:end of ${operationId}`,
      type: 'onComplete' as const,
      handler: (event: HookEvent<'onComplete'>) => {
        // Not while it is told: the hooks of this very event may come after this one.
        if (event.operationId === operationId) queueMicrotask(() => this.remove(id))
      },
    }
    return [...(ofRun as AgentHook[]), ends]
  }

  /** `disable` of a run names hooks and gates by their ids. */
  #assertFree(id: string): void {
    const own = this.plugins
    for (const plugin of this.#options.dispatcher.plugins) {
      if (own.has(plugin)) continue
      const { hooks = [], gates = [] } = plugin
      const taken = hooks.some((hook) => hook.id === id || hook.id === `${id}:${hook.type}`)
      if (!taken && !gates.some((gate) => gate.id === id)) continue
      const message = `"${id}" is of plugin "${plugin.name}", which is not changed over HTTP. Use another id.`
      throw new HookspanError('DUPLICATE_HOOK', message)
    }
  }
}

function listed({ told, sender }: Entry): RegisteredWebhook {
  return { ...told, ...sender.counts }
}
