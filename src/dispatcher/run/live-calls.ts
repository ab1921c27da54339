import { AsyncLocalStorage } from 'node:async_hooks'
import type { ToolSource } from '../../hooks/index.ts'
import { carried } from '../../internal/carrier.ts'
import { assertBody } from '../../internal/expect.ts'
import type { LlmReading } from '../../wire/reading.ts'
import { costInHeaders } from '../../wire/told-cost.ts'

/** Asked before a real tool runs; throws to refuse it. */
export type ToolGuard = (call: GuardedCall) => void

export interface GuardedCall {
  readonly identifier: string
  readonly apiName: string
  readonly source: ToolSource
}

const toolGuards = new Set<ToolGuard>()

/** @returns takes the guard out again. */
export function addToolGuard(guard: ToolGuard): () => void {
  toolGuards.add(guard)
  return () => toolGuards.delete(guard)
}

/** @throws what a guard throws. */
export function assertToolMayRun(call: GuardedCall): void {
  for (const guard of toolGuards) guard(call)
}

/** One model call while it is made, so that whoever answers it in this process can say that it did. */
export interface ModelCallMark {
  readonly model: string
  scripted: boolean
  /** A piece of a stream came, where the reply is handed over whole. */
  readonly noteChunk: () => void
  /** What the head of the answer says that it cost. */
  costUsd?: number | undefined
  /** The caller has the model's answer and reads it for itself: a run that ends now does not cut the call off. */
  answered?: LlmReading
}

/** A place in an operation that is a model call. */
interface CallPlace {
  readonly modelCall?: ModelCallMark
}

const modelCalls = new AsyncLocalStorage<
  { readonly mark: ModelCallMark; readonly over: unknown } | undefined
>()

/** Runs what makes a model call. `place` holds the mark, for where it is taken along with the code anyway. */
export function runModelCall<T>(place: Required<CallPlace>, fn: () => T): T {
  assertBody(fn, 'what is to run')
  const over = carried()
  return over === place ? fn() : modelCalls.run({ mark: place.modelCall, over }, fn)
}

/** Runs what is no part of the model call that the running code may make: a run, or a tool, that begins in it. */
export function runOutsideModelCall<T>(fn: () => T): T {
  return modelCalls.getStore() === undefined ? fn() : modelCalls.run(undefined, fn)
}

/** Sent with every answer of a scripted server, so that a call over HTTP is known as scripted, too. */
export const SCRIPTED_HEADER = 'x-hookspan-scripted'

/** Looks at the head of a response, or of an error that holds the headers of one. */
export function noteHead(mark: ModelCallMark | undefined, response: unknown): void {
  if (mark === undefined || typeof response !== 'object' || response === null) return
  try {
    const { headers } = response as { readonly headers?: { readonly get?: unknown } | null }
    const get = headers?.get
    if (typeof get !== 'function') return
    if (get.call(headers, SCRIPTED_HEADER) !== null) mark.scripted = true
    mark.costUsd ??= costInHeaders(headers)
  } catch {
    // No headers of ours.
  }
}

/** The same for a client's promise that can give its response beside what it reads from it, as openai's can. */
export function noteReply(mark: ModelCallMark, reply: unknown): void {
  if (typeof reply !== 'object' || reply === null || !('asResponse' in reply)) return
  const { asResponse } = reply
  if (typeof asResponse !== 'function') return
  try {
    Promise.resolve(asResponse.call(reply)).then(
      (response) => noteHead(mark, response),
      () => {},
    )
  } catch {
    // Not the method it looks like: the call is then taken as a real one.
  }
}

export function currentModelCall(): ModelCallMark | undefined {
  const along = carried()
  const own = modelCalls.getStore()
  // The stored one is the inner one as long as nothing else was taken along since.
  return own?.over === along ? own?.mark : (along as CallPlace | undefined)?.modelCall
}
