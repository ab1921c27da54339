import { AsyncLocalStorage } from 'node:async_hooks'
import { subscribe } from 'node:diagnostics_channel'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { basename } from 'node:path'
import type { HookDispatcher, Operation } from '../dispatcher/index.ts'
import type { AgentHook, LlmRequest } from '../hooks/index.ts'
import { safeStringify } from '../internal/json.ts'
import { defined } from '../internal/objects.ts'
import { asList, asName, conversationOf } from '../wire/reading.ts'

/** A run that began with a model call. */
interface Run {
  readonly op: Operation
  /** The messages of its last request, one behind the other. */
  said: string
  /** Ids of its replies, and of its conversation: a request that names one goes on with it. */
  readonly ids: Set<string>
  usedAt: number
  /** Of its requests, those that have no answer yet. */
  waiting: number
}

const IDLE_MS = 300_000
const MOST_OPEN = 100

/** A request that is being handled. */
interface Handled {
  readonly name: string
  op?: Operation
  over: boolean
}

function handling(request: IncomingMessage, response: ServerResponse): Handled {
  const handled: Handled = { name: `${request.method} ${(request.url ?? '/').split('?')[0]}`, over: false }
  response.once('close', () => {
    handled.over = true
    void handled.op?.complete()
  })
  return handled
}

/**
 * Says to which run a model call belongs that nobody began a run for: to that of the request that is being handled; else
 * to that whose messages, or whose conversation, it goes on from; else to a new one of the script.
 */
export class RunBounds {
  readonly #dispatcher: HookDispatcher
  readonly #handled = new AsyncLocalStorage<Handled>()
  readonly #open = new Set<Run>()
  /** The runs that were begun here, of which the last. */
  begun = 0
  last: Operation | undefined

  constructor(dispatcher: HookDispatcher) {
    this.#dispatcher = dispatcher
  }

  /** Hears of the requests that this process handles. */
  watch(): void {
    if (process.versions.bun !== undefined) return this.#watchServers()
    subscribe('http.server.request.start', (message) => {
      const { request, response } = message as { request: IncomingMessage; response: ServerResponse }
      this.#handled.enterWith(handling(request, response))
    })
  }

  /** Bun tells of no requests, so they are met where its servers hand them over. */
  #watchServers(): void {
    const { prototype } = process.getBuiltinModule('node:http').Server
    const handled = this.#handled
    const { emit } = prototype
    prototype.emit = function (this: typeof prototype, event: string | symbol, ...args: unknown[]): boolean {
      const told = (): boolean => Reflect.apply(emit, this, [event, ...args])
      const [request, response] = args as [IncomingMessage, ServerResponse]
      return event === 'request' ? handled.run(handling(request, response), told) : told()
    } as typeof emit
  }

  /** The run in which the code runs that makes no model call: of the request that is being handled, else the last one. */
  get current(): Operation | undefined {
    const handled = this.#handled.getStore()
    if (handled !== undefined && !handled.over) return handled.op
    return [...this.#open].findLast(({ op }) => !op.ended)?.op
  }

  readonly operationOf = (request: LlmRequest): Operation => {
    const handled = this.#handled.getStore()
    // What goes on behind its answer is the script's.
    if (handled === undefined || handled.over) return this.#ofScript(request)
    handled.op ??= this.#start(handled.name, request)
    return handled.op
  }

  #ofScript(request: LlmRequest): Operation {
    const said = saidBy(request)
    const ids = [conversationOf(request), asName(request.previous_response_id)].filter(
      (id) => id !== undefined,
    )
    this.#endIdle()
    const found = [...this.#open].findLast(
      (run) => ids.some((id) => run.ids.has(id)) || (said !== '' && goesOn(said, run.said)),
    )
    const run = found ?? this.#begin(request, ids)
    run.said = said
    run.usedAt = Date.now()
    run.waiting++
    return run.op
  }

  #begin(request: LlmRequest, ids: readonly string[]): Run {
    const answered = ({ response }: { response?: { id?: string } }) => {
      if (response?.id !== undefined) run.ids.add(response.id)
      run.usedAt = Date.now()
      run.waiting--
    }
    const op = this.#start(scriptName(), request, [
      { id: 'register:answered', type: 'afterLlmCall', handler: answered },
      { id: 'register:failed', type: 'onLlmCallError', handler: answered },
    ])
    const run: Run = { op, said: '', ids: new Set(ids), usedAt: Date.now(), waiting: 0 }
    this.#open.add(run)
    return run
  }

  #start(agentName: string, request: LlmRequest, hooks: AgentHook[] = []): Operation {
    this.begun++
    const op = this.#dispatcher.startOperation({
      agentName,
      ...defined({
        conversationId: conversationOf(request),
        input: request.messages ?? request.input ?? request.prompt ?? request.contents,
      }),
      hooks,
    })
    this.last = op
    return op
  }

  #endIdle(): void {
    const now = Date.now()
    for (const run of this.#open) {
      const isLeft = now - run.usedAt > IDLE_MS || this.#open.size > MOST_OPEN
      if (!run.op.ended && (!isLeft || run.waiting > 0)) continue
      this.#open.delete(run)
      void run.op.complete()
    }
  }

  /** The script has ended: so have its runs. */
  end(code: number): void {
    for (const { op } of this.#open) {
      if (code === 0) void op.complete()
      else void op.fail(new Error(`the process ended with code ${code}`))
    }
    this.#open.clear()
  }
}

/** What a run is called that the script begins. */
export function scriptName(): string {
  return basename(process.argv[1] ?? 'script')
}

/** The messages as one text, of which an earlier request's is the beginning. */
function saidBy({ messages, input, prompt, contents }: LlmRequest): string {
  const given = messages ?? input ?? prompt ?? contents
  const items = Array.isArray(given) ? asList(given) : given === undefined ? [] : [given]
  return items.map((item) => `${safeStringify(item)}\n`).join('')
}

function goesOn(said: string, before: string): boolean {
  return before !== '' && said.length > before.length && said.startsWith(before)
}
