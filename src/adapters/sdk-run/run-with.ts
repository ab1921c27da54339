import { AsyncLocalStorage } from 'node:async_hooks'
import type { OperationInit } from '../../dispatcher/index.ts'
import { assertOperationInit } from '../../dispatcher/run/operation-init.ts'
import { assertHooks } from '../../hooks/agent-hook.ts'
import { a, assertFields, expected, type Fields } from '../../internal/expect.ts'

/** What is said of a run that an observed function makes. */
export type RunWithInit = Pick<
  OperationInit,
  | 'operationId'
  | 'agentName'
  | 'agentId'
  | 'userId'
  | 'conversationId'
  | 'parent'
  | 'traceparent'
  | 'hooks'
  | 'gates'
  | 'approver'
  | 'priceOf'
  | 'attributes'
  | 'resume'
>

/** What there is; what each has to be, the operation says. */
const FIELDS: Fields<RunWithInit> = {
  operationId: a.value,
  agentName: a.value,
  agentId: a.value,
  userId: a.value,
  conversationId: a.value,
  parent: a.value,
  traceparent: a.value,
  hooks: a.value,
  gates: a.value,
  approver: a.value,
  priceOf: a.value,
  attributes: a.value,
  resume: a.value,
}

const asked = new AsyncLocalStorage<{ init: RunWithInit | undefined }>()

/**
 * Says what the run is that an observed function makes in `fn`: whose it is, or which parked run it continues. It holds
 * for the first such call in `fn`, and for no agents below it.
 *
 * @throws HookspanError `INVALID_OPTION`.
 * @example
 * const result = await runWith({ userId, conversationId }, () => generateText({ model, tools, prompt }))
 */
export function runWith<T>(init: RunWithInit, fn: () => T): T {
  assertFields<RunWithInit>(init, FIELDS, 'runWith')
  assertOperationInit(init)
  if (init.hooks !== undefined) assertHooks(init.hooks, 'runWith')
  if (typeof fn !== 'function') throw expected('`fn` of runWith to be a function', fn)
  return asked.run({ init }, fn)
}

/** Each is given once. */
export function takeRunInit(): RunWithInit | undefined {
  const store = asked.getStore()
  const init = store?.init
  if (store !== undefined) store.init = undefined
  return init
}
