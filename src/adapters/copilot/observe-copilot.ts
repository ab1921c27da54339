import { assertAdapterOptions } from '../../adapter/adapter-options.ts'
import { guardsRun } from '../../dispatcher/guards-of.ts'
import type { HookDispatcher } from '../../dispatcher/index.ts'
import { yieldsTo } from '../../dispatcher/yielding.ts'
import { a, type Fields } from '../../internal/expect.ts'
import { warnOfVersion } from '../peer-range.ts'
import type { RunHost } from '../sdk-run/observed-run.ts'
import { rememberRun } from '../sdk-run/parked-run.ts'
import { Patches } from '../sdk-run/patches.ts'
import { assertSame, wrongTarget } from '../wrong-target.ts'
import { withHooks } from './built-ins.ts'
import { ADAPTER } from './capabilities.ts'
import {
  type CopilotClient,
  type CopilotConfig,
  type CopilotSession,
  type CopilotTool,
  isRunHere,
  type Prompt,
  type ToolHandler,
  type ToolInvocation,
} from './sdk.ts'
import { SessionRun } from './session-run.ts'
import { omitSdkSpans } from './telemetry.ts'

export interface ObserveCopilotOptions {
  dispatcher: HookDispatcher
  /** Names runs of sessions whose `agent` says none. @default 'copilot' */
  agentName?: string
  /**
   * What becomes of the spans that Copilot makes itself, and sends where its client's `telemetry` or
   * `OTEL_EXPORTER_OTLP_ENDPOINT` says: `omit` leaves them out, as each call is a span of ours already; `nest` leaves them,
   * in the same trace, below the run.
   *
   * @default 'nest' of a client that was made with `telemetry`, else 'omit'
   */
  sdkSpans?: 'omit' | 'nest'
}

const FIELDS: Fields<ObserveCopilotOptions> = {
  dispatcher: a.value,
  agentName: a.string,
  sdkSpans: a.oneOf('omit', 'nest'),
}

interface Observed {
  readonly options: ObserveCopilotOptions
  readonly patches: Patches
}

const observed = new WeakMap<object, Observed>()

/**
 * Makes each prompt to a session of `@github/copilot-sdk`, until the session is idle again, a run that lives the lifecycle:
 * turns, model calls, your tools and Copilot's own. Holds for the sessions that the client makes or resumes from now on.
 *
 * @returns the same client. Twice observed is once observed.
 * @throws HookspanError `INVALID_OPTION` when it is none, or is observed by another dispatcher.
 * @example
 * const client = observeCopilot(new CopilotClient(), { dispatcher })
 * const session = await client.createSession({ model, tools, onPermissionRequest })
 * await session.sendAndWait('Tidy up.')
 */
export function observeCopilot<T extends object>(client: T, options: ObserveCopilotOptions): T {
  assertAdapterOptions(options, FIELDS, 'observeCopilot')
  const { dispatcher, agentName = 'copilot' } = options
  const asked = client as unknown as CopilotClient | null
  if (typeof asked?.createSession !== 'function' || typeof asked.resumeSession !== 'function') {
    throw wrongTarget('observeCopilot', 'a CopilotClient', client)
  }
  let before = observed.get(client)
  if (yieldsTo(before?.options.dispatcher, dispatcher)) {
    unobserveCopilot(client)
    before = undefined
  }
  const { sdkSpans = asked.options?.telemetry === undefined ? 'omit' : 'nest' } = options
  const resolved = { dispatcher, agentName, sdkSpans }
  if (before !== undefined) {
    assertSame(before.options, options, 'This client is', 'Call unobserveCopilot() on it first.')
    return client
  }
  warnOfVersion('@github/copilot-sdk')
  const patches = new Patches()
  const host = { dispatcher, adapter: ADAPTER }
  if (sdkSpans === 'omit') omitSdkSpans(asked, patches)
  const { createSession, resumeSession } = asked
  patches.replace(asked, 'createSession', (config) =>
    watched({ host, agentName, patches }, config, (given) => createSession.call(client, given)),
  )
  patches.replace(asked, 'resumeSession', (id, config) =>
    watched({ host, agentName, patches }, config, (given) => resumeSession.call(client, id, given)),
  )
  observed.set(client, { options: resolved, patches })
  return client
}

/** Ends it, for the sessions that it has made, too. A run that is under way is told to its end. */
export function unobserveCopilot<T extends object>(client: T): T {
  observed.get(client)?.patches.undoAll()
  observed.delete(client)
  return client
}

type Alone = (
  tool: CopilotTool,
  handler: ToolHandler,
  args: unknown,
  invocation: ToolInvocation,
) => Promise<unknown>

interface Watching {
  readonly host: RunHost
  readonly agentName: string
  readonly patches: Patches
}

async function watched(
  { host, agentName, patches }: Watching,
  config: CopilotConfig,
  create: (config: CopilotConfig) => Promise<CopilotSession>,
): Promise<CopilotSession> {
  let run: SessionRun | undefined
  const tools = config.tools?.map((tool) => {
    const { handler } = tool
    if (handler === undefined) return tool
    const watchedHandler: typeof handler = (args, invocation) =>
      run === undefined
        ? alone(tool, handler, args, invocation)
        : run.callTool(tool, handler, args, invocation)
    return { ...tool, handler: watchedHandler }
  })
  const session = await create({
    ...config,
    ...(tools && { tools }),
    hooks: withHooks(
      config.hooks,
      (name) => isRunHere(config, name),
      () => run?.builtIns,
      () => guardsRun(host.dispatcher, {}),
    ),
  })
  const { send, sendAndWait, abort, disconnect, sessionId } = session
  const stop = () => abort.call(session)
  const start = (prompt?: string) =>
    new SessionRun(host, config, { agentName, sessionId, prompt, stop, session: () => session })
  const begin = (prompt?: string) => {
    const begun = start(prompt)
    rememberRun(session, begun.run.parked)
    return begun
  }
  /** No prompt has led to it, as where an agent was started beside the session's own: a run of its own. */
  const alone: Alone = async (tool, handler, args, invocation) => {
    const begun = start()
    try {
      await begun.admit()
      return await begun.callTool(tool, handler, args, invocation, false)
    } finally {
      begun.end()
      await begun.over
    }
  }
  let prepared: SessionRun | undefined
  session.on((event) => {
    // Copilot goes on by itself, with what was scheduled or came from elsewhere.
    if (run === undefined && event.type === 'assistant.turn_start' && event.agentId === undefined) {
      run = begin()
      run.admit().catch(() => void stop())
    }
    const heard = run
    heard?.hear(event)
    if (heard?.isEnding) run = undefined
  })
  const { traceContextProvider } = session
  patches.replace(session, 'traceContextProvider', async () => {
    const traceparent = run?.run.traceparent
    return traceparent === undefined ? traceContextProvider?.() : { traceparent }
  })
  patches.replace(session, 'send', async (options: Prompt) => {
    // It may have ended without a word of Copilot's.
    if (run?.isEnding) run = undefined
    // Another prompt for a run that is under way.
    if (prepared === undefined && run !== undefined) return send.call(session, options)
    const begun = prepared ?? begin(promptOf(options))
    prepared = undefined
    run = begun
    try {
      const admitted = await begun.admit()
      if (begun.run.resumed !== undefined) {
        await begun.goOn(session)
        return ''
      }
      return await send.call(
        session,
        typeof options === 'string' ? admitted : { ...options, prompt: admitted },
      )
    } catch (error) {
      if (run === begun) run = undefined
      begun.end(error)
      await begun.over
      throw error
    }
  })
  patches.replace(session, 'sendAndWait', async (options: Prompt, timeoutMs?: number) => {
    if (run === undefined || run.isEnding) prepared = begin(promptOf(options))
    const resumed = prepared?.run.resumed === undefined ? undefined : prepared
    const sent =
      resumed === undefined
        ? sendAndWait.call(session, options, timeoutMs)
        : goneOn(session, resumed, options)
    const waited = run
    try {
      return await sent
    } finally {
      if (waited?.isEnding) {
        const refusal = await waited.over
        // biome-ignore lint/correctness/noUnsafeFinally: what a gate says against the result stands in for it.
        if (refusal !== undefined) throw refusal
      }
    }
  })
  patches.replace(session, 'abort', async () => {
    run?.aborted()
    return abort.call(session)
  })
  const left = () => {
    run?.aborted()
    run?.end()
    run = undefined
  }
  patches.replace(session, 'disconnect', async () => {
    left()
    return disconnect.call(session)
  })
  const { _markDisconnected: gone } = session
  if (gone !== undefined) {
    patches.replace(session, '_markDisconnected', () => {
      left()
      gone.call(session)
    })
  }
  return session
}

const promptOf = (options: Prompt): string => (typeof options === 'string' ? options : options.prompt)

/** Like the SDK's own `sendAndWait`, of a run to which nothing new is said: gives the last message, if there was one. */
async function goneOn(session: CopilotSession, run: SessionRun, options: Prompt): Promise<unknown> {
  let last: unknown
  const unwatch = session.on((event) => {
    if (event.type === 'assistant.message' && event.agentId === undefined) last = event
  })
  try {
    await session.send(options)
    await run.over
    return last
  } finally {
    unwatch()
  }
}
