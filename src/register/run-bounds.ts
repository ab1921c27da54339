import { basename } from 'node:path'
import type { HookDispatcher, Operation } from '../dispatcher/index.ts'
import type { AgentHook, LlmRequest } from '../hooks/index.ts'
import { safeStringify } from '../internal/json.ts'
import { defined, isPlain } from '../internal/objects.ts'
import { snapshot } from '../internal/snapshot.ts'
import { asName, conversationOf } from '../wire/reading.ts'
import { currentRequest } from './handled-requests.ts'

/** A run that began with a model call. */
interface Run {
  readonly op: Operation
  /** The messages of its last request, as they were then. */
  said: readonly unknown[]
  /** Ids of its replies, and of its conversation: a request that names one goes on with it. */
  readonly ids: Set<string>
  usedAt: number
  /** Of its requests, those that have no answer yet. */
  waiting: number
  /** Its last request failed: who says it again tries it again. */
  failed: boolean
}

const IDLE_MS = 300_000
const MOST_OPEN = 100

/**
 * Says to which run a model call belongs that nobody began a run for: to that of the request that is being handled; else
 * to that whose messages, or whose conversation, it goes on from; else to a new one of the script.
 */
export class RunBounds {
  readonly #dispatcher: HookDispatcher
  readonly #open = new Set<Run>()
  /** The runs that were begun here, of which the last. */
  begun = 0
  last: Operation | undefined
  /** Told of each request, before it is sent. */
  lookInto: ((request: LlmRequest) => void) | undefined

  constructor(dispatcher: HookDispatcher) {
    this.#dispatcher = dispatcher
  }

  /** The run in which the code runs that makes no model call: of the request that is being handled, else the last one. */
  get current(): Operation | undefined {
    const handled = currentRequest()
    if (handled !== undefined && !handled.over) return handled.op
    return [...this.#open].findLast(({ op }) => !op.ended)?.op
  }

  readonly operationOf = (request: LlmRequest): Operation => {
    this.lookInto?.(request)
    const handled = currentRequest()
    // What goes on behind its answer is the script's.
    if (handled === undefined || handled.over) return this.#ofScript(request)
    handled.op ??= this.#start(handled.name, request)
    return handled.op
  }

  #ofScript(request: LlmRequest): Operation {
    const said = saidBy(request)
    const { previous_response_id, previous_interaction_id } = request
    const ids = [conversationOf(request), asName(previous_response_id ?? previous_interaction_id)].filter(
      (id) => id !== undefined,
    )
    this.#endIdle()
    const found = [...this.#open].findLast((run) => ids.some((id) => run.ids.has(id)) || goesOn(said, run))
    const run = found ?? this.#begin(request, ids)
    const before = goesOn(said, run) ? run.said : []
    run.said = [...before, ...said.slice(before.length).map(snapshot)]
    run.usedAt = performance.now()
    run.waiting++
    run.failed = false
    return run.op
  }

  #begin(request: LlmRequest, ids: readonly string[]): Run {
    const answered = ({ response }: { response?: { id?: string } }) => {
      if (response?.id !== undefined) run.ids.add(response.id)
      run.usedAt = performance.now()
      run.waiting--
    }
    const op = this.#start(scriptName(), request, [
      { id: 'register:answered', type: 'afterLlmCall', handler: answered },
      {
        id: 'register:failed',
        type: 'onLlmCallError',
        handler: () => {
          answered({})
          run.failed = true
        },
      },
    ])
    const run: Run = { op, said: [], ids: new Set(ids), usedAt: performance.now(), waiting: 0, failed: false }
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
    const now = performance.now()
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

function saidBy({ messages, input, prompt, contents }: LlmRequest): readonly unknown[] {
  const given = messages ?? input ?? prompt ?? contents
  return Array.isArray(given) ? given : given === undefined ? [] : [given]
}

/** A history is not written out for it: what an agent says again are mostly the same texts, which cost nothing to compare. */
function goesOn(said: readonly unknown[], { said: before, failed }: Pick<Run, 'said' | 'failed'>): boolean {
  const isLonger = said.length > before.length || (failed && said.length === before.length)
  return before.length > 0 && isLonger && before.every((item, index) => isSame(said[index], item, 0))
}

const MAX_DEPTH = 100

/** As JSON would say it: what is undefined is not there. */
function isSame(one: unknown, other: unknown, depth: number): boolean {
  if (one === other) return true
  if (!isObject(one) || !isObject(other) || Array.isArray(one) !== Array.isArray(other)) return false
  if (!isTree(one) || !isTree(other) || depth > MAX_DEPTH) return safeStringify(one) === safeStringify(other)
  const names = new Set([...Object.keys(one), ...Object.keys(other)])
  return [...names].every((name) => isSame(one[name], other[name], depth + 1))
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null
/** What has its content in its properties. */
const isTree = (value: object): boolean => Array.isArray(value) || isPlain(value)
