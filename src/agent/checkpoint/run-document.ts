import type { WaitingCall } from '../../dispatcher/index.ts'
import { safeStringify } from '../../internal/json.ts'
import { isRecord } from '../../internal/objects.ts'
import type { AgentMessage } from '../run-state.ts'
import { invalidCheckpoint, type ListChange, type RunChange } from './record.ts'

/** A run as it is written down: small fields by name, two lists that grow, calls by their key. */
export interface RunContent {
  readonly fields: Readonly<Record<string, unknown>>
  readonly messages: readonly AgentMessage[]
  readonly context: readonly AgentMessage[]
  readonly calls: readonly WaitingCall[]
}

/** What has been written of a run, so that only what is new is written next. */
export class RunDocument {
  /** Fields and calls as their JSON. */
  #fields = new Map<string, string>()
  #calls = new Map<string, string>()
  #messages: readonly AgentMessage[] = []
  #context: readonly AgentMessage[] = []
  /** Where in `messages` each is: a conversation is sent as it is, until it is compacted. */
  #places = new Map<AgentMessage, number>()

  /** What is new in `content`. Undefined where nothing is. */
  change({ fields, messages, context, calls }: RunContent): RunChange | undefined {
    const set = changed(this.#fields, Object.entries(fields))
    const added = this.#messageChange(messages)
    const sent = listChange(this.#context, context, (message) => this.#places.get(message) ?? message)
    this.#context = context
    const open = changed(
      this.#calls,
      calls.map((call) => [call.callKey, call]),
    )
    const change: RunChange = {
      ...(set && { set }),
      ...(added && { messages: added }),
      ...(sent && { context: sent }),
      ...(open && { calls: open as Record<string, WaitingCall | null> }),
    }
    return Object.keys(change).length === 0 ? undefined : change
  }

  #messageChange(messages: readonly AgentMessage[]): ListChange | undefined {
    const change = listChange(this.#messages, messages, (message) => message)
    if (change === undefined) return undefined
    for (const gone of this.#messages.slice(change.keep)) this.#places.delete(gone)
    for (let at = change.keep; at < messages.length; at++) this.#places.set(messages[at] as AgentMessage, at)
    this.#messages = messages
    return change
  }

  /** Takes up what was written. @throws HookspanError `INVALID_STATE` where it does not fit what came before. */
  apply({ set, messages, context, calls }: RunChange): void {
    take(this.#fields, set)
    take(this.#calls, calls)
    if (messages !== undefined) {
      this.#messages = extended(this.#messages, messages, (item) => item as AgentMessage)
      this.#places = new Map(this.#messages.map((message, at) => [message, at]))
    }
    if (context !== undefined) {
      this.#context = extended(this.#context, context, (item) =>
        typeof item === 'number' ? (this.#messages[item] as AgentMessage) : (item as AgentMessage),
      )
    }
  }

  get content(): RunContent {
    const fields = [...this.#fields].map(([name, text]) => [name, JSON.parse(text) as unknown])
    return {
      fields: Object.fromEntries(fields) as Record<string, unknown>,
      messages: this.#messages,
      context: this.#context,
      calls: [...this.#calls.values()].map((text) => JSON.parse(text) as WaitingCall),
    }
  }
}

function changed(
  written: Map<string, string>,
  now: readonly (readonly [string, unknown])[],
): Record<string, unknown> | undefined {
  const change: Record<string, unknown> = {}
  const seen = new Set<string>()
  for (const [name, value] of now) {
    const text = safeStringify(value)
    if (text === '') continue
    seen.add(name)
    if (written.get(name) === text) continue
    written.set(name, text)
    change[name] = value
  }
  for (const name of [...written.keys()].filter((known) => !seen.has(known))) {
    written.delete(name)
    change[name] = null
  }
  return Object.keys(change).length === 0 ? undefined : change
}

function take(written: Map<string, string>, change: Readonly<Record<string, unknown>> = {}): void {
  if (!isRecord(change)) throw invalidCheckpoint('a change of it is no object')
  for (const [name, value] of Object.entries(change)) {
    if (value === null) written.delete(name)
    else written.set(name, safeStringify(value))
  }
}

/** Messages never change: those of one list that are in the other at the same place are the same objects. */
function listChange<T>(
  before: readonly T[],
  now: readonly T[],
  written: (item: T) => unknown,
): ListChange | undefined {
  let keep = 0
  while (keep < before.length && keep < now.length && before[keep] === now[keep]) keep++
  if (keep === before.length && keep === now.length) return undefined
  return { keep, add: now.slice(keep).map(written) }
}

function extended<T>(before: readonly T[], { keep, add }: ListChange, read: (item: unknown) => T): T[] {
  if (!Array.isArray(add) || !(keep >= 0 && keep <= before.length)) {
    throw invalidCheckpoint(`${keep} messages are to stay, and there are ${before.length}`)
  }
  const items = add.map(read)
  if (items.some((item) => !isRecord(item))) throw invalidCheckpoint('a message of it is missing')
  return [...before.slice(0, keep), ...items]
}
