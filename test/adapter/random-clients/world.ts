import type { HookDispatcher, Operation } from 'hookspan'
import { observeAnthropic } from 'hookspan/anthropic'
import { observeGoogleGenAI } from 'hookspan/google-genai'
import { observeOpenAI } from 'hookspan/openai'
import { Caller } from './caller.ts'
import { type Clients, call, clientsOf } from './clients.ts'
import type { Plan } from './plan.ts'
import { type OnWire, Provider } from './provider.ts'

/** What came of a plan. */
export interface Seen {
  readonly calls: readonly { readonly lines: readonly string[]; readonly wire: readonly OnWire[] }[]
}

const IN_TIME = 20_000

/** Makes the calls of a plan, bare, or observed by a dispatcher. */
export async function happen(plan: Plan, dispatcher?: HookDispatcher): Promise<Seen> {
  const inRun = plan.place !== 'none'
  const providers = plan.calls.map((one) => new Provider(one))
  const callers = plan.calls.map((one, index) => new Caller(one, providers[index] as Provider, inRun))
  const fetch = async (url: string | URL | Request, init: RequestInit = {}) =>
    (providers[caseOf(url instanceof Request ? url : init)] as Provider).fetch(url, init)
  const clients = observed(clientsOf(plan, fetch), plan, dispatcher)
  const all = () => Promise.all(callers.map((caller, index) => call(caller, String(index), clients)))
  const done: Promise<unknown> =
    dispatcher === undefined || !inRun ? all() : within(dispatcher, plan, callers, all)
  await inTime('the calls', done, () => callers)
  // Whether a request was out already when it was aborted a moment after the call is a matter of turns.
  const sent = ({ plan: { abort }, provider: { wire } }: Caller) => (abort === 'later' ? [] : wire)
  return { calls: callers.map((caller) => ({ lines: caller.lines, wire: sent(caller) })) }
}

const caseOf = ({ headers }: RequestInit | Request) => Number(new Headers(headers).get('x-case'))

/** A promise that does not hang. */
export async function inTime<T>(
  what: string,
  promise: Promise<T>,
  told: () => unknown,
  ms = IN_TIME,
): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error(`${what} hang: ${JSON.stringify(told())}`)), ms)
  try {
    return await Promise.race([promise, late.promise])
  } finally {
    clearTimeout(timer)
  }
}

async function within(
  dispatcher: HookDispatcher,
  { place, signalled }: Plan,
  [caller, ...others]: readonly Caller[],
  all: () => Promise<unknown>,
): Promise<void> {
  const signal = signalled && others.length === 0 ? caller?.signal : undefined
  const operation: Operation = dispatcher.startOperation({ agentName: 'random', ...(signal && { signal }) })
  await operation.run(() => (place === 'step' ? operation.step(async () => void (await all())) : all()))
  await operation.complete()
}

function observed(clients: Clients, { derived }: Plan, dispatcher: HookDispatcher | undefined): Clients {
  const { openai, anthropic, google } =
    dispatcher === undefined
      ? clients
      : {
          openai: observeOpenAI(clients.openai, { dispatcher }),
          anthropic: observeAnthropic(clients.anthropic, { dispatcher }),
          google: observeGoogleGenAI(clients.google, { dispatcher }),
        }
  if (!derived) return { openai, anthropic, google }
  return { openai: openai.withOptions({}), anthropic: anthropic.withOptions({}), google }
}
