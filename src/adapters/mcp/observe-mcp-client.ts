import { AsyncLocalStorage } from 'node:async_hooks'
import type { HookDispatcher, Operation } from '../../dispatcher/index.ts'
import { OPERATION } from '../../dispatcher/is-dispatcher.ts'
import { currentPlace } from '../../dispatcher/run/current.ts'
import type { PendingTool } from '../../hooks/index.ts'
import { a, type Fields } from '../../internal/expect.ts'
import { asObject, type Loose } from '../../wire/reading.ts'
import { withEither } from '../either-signal.ts'
import { warnOfVersion } from '../peer-range.ts'
import { replace } from '../replace.ts'
import { currentCalls, type SafeCalls } from '../safe/calls.ts'
import { AttachedObjects } from '../sdk-loop/attached.ts'
import { callServer, type GivenUp, KINDS, type Method } from './call.ts'
import { ListedTools } from './listed-tools.ts'
import { type Told, toldAlready, within } from './place.ts'
import { type Request, traced, traceparentOf, watchHandlers, whenClosed } from './protocol.ts'
import { askHuman, askModel } from './questions.ts'
import { type Send, type TaskClient, watchTaskStreams } from './task-streams.ts'

export interface ObserveMcpClientOptions {
  dispatcher: HookDispatcher
  /** The home of the server's tools, as `identifier`. @default the server's own name, else `mcp` */
  serverName?: string
  /**
   * Where calls belong that are made outside of any running operation. Without it, each of them becomes an
   * operation, and so a trace, of its own.
   */
  operation?: Operation
  /** Names the operations that are made for single calls. */
  agentName?: string
}

const FIELDS: Fields<ObserveMcpClientOptions> = {
  dispatcher: a.value,
  serverName: a.name,
  operation: OPERATION,
  agentName: a.string,
}

type Ask = (params: Loose, ...rest: unknown[]) => Promise<unknown>

interface McpClient extends TaskClient {
  callTool: Ask
  request?(request: Request, ...rest: unknown[]): Promise<unknown>
  readResource?: Ask
  getPrompt?: Ask
  listTools?(...asked: unknown[]): Promise<unknown>
  getServerVersion?(): { readonly name?: string } | undefined
}

const attached = new AttachedObjects(
  'observeMcpClient',
  'a Client of @modelcontextprotocol/sdk or /client',
  ({ callTool }: Partial<McpClient>) => typeof callTool === 'function',
)

/**
 * Makes what is asked of an MCP server tool calls of the operation that is running: `callTool()`, and, under the names
 * `resources/read` and `prompts/get`, `readResource()` and `getPrompt()`, and the same by `request()`. The server is told where in the trace it is asked from
 * (`_meta.traceparent`). What the server asks meanwhile is told, too: an elicitation as a question to a human, sampling as
 * a model call.
 *
 * @returns the same client.
 * @throws HookspanError `INVALID_OPTION` when the client is none, or is observed by another dispatcher.
 */
export function observeMcpClient<C extends object>(client: C, options: ObserveMcpClientOptions): C {
  return attached.attach(client, options, FIELDS, () => patch(client as object as McpClient, options))
}

/** Leaves the client as it was before `observeMcpClient`. Calls in flight are watched to their end. */
export function unobserveMcpClient<C extends object>(client: C): C {
  return attached.detach(client)
}

/** A call that the server has not answered yet: what it asks meanwhile belongs there. */
interface InFlight {
  readonly client: object
  readonly method: Method
  readonly calls: SafeCalls | undefined
  readonly tool: PendingTool
  readonly traceparent: string | undefined
  /** What is sent, an object of ours. */
  readonly params: Loose
  /** The client's own methods ask by `request()`, as whoever asks by it alone does: once for each call. */
  isRequested: boolean
}

/** The call that the running code sends. What is read of its answers runs there, too. */
const sending = new AsyncLocalStorage<InFlight>()

function isTold(client: object, method: Method, params: Loose): boolean {
  const sent = sending.getStore()
  if (sent?.client !== client || sent.method !== method) return false
  const isSame = sent.tool.apiName === KINDS[method].named(params).apiName
  // Version 2 asks once more, with the same object, where the server wants headers that the client had not known of.
  if (sent.params !== params && (sent.isRequested || !isSame)) return false
  sent.isRequested = true
  return true
}

/**
 * The call during which the server asks. Where the connection does not say (over HTTP what comes with the answer of a call is read
 * where that was sent) it is the last of those in the trace that the server tells, else of all.
 */
function askedDuring(inFlight: readonly InFlight[], request: Request): InFlight | undefined {
  const sent = sending.getStore()
  if (sent !== undefined && inFlight.includes(sent)) return sent
  const told = traceIdOf(traceparentOf(request).traceparent)
  const ofTrace = ({ traceparent }: InFlight) => traceIdOf(traceparent) === told
  return (told !== undefined ? inFlight.findLast(ofTrace) : undefined) ?? inFlight.at(-1)
}

const traceIdOf = (traceparent: string | undefined) => traceparent?.split('-')[1]

/** Whoever asks aborts it, or its connection closes, by which the SDK ends every call. */
const givenUp =
  (client: object, asked: AbortSignal | undefined): GivenUp =>
  (leave) => {
    const stop = whenClosed(client, leave)
    const abort = () => leave(asked?.reason)
    asked?.addEventListener('abort', abort)
    if (asked?.aborted) abort()
    return () => {
      stop()
      asked?.removeEventListener('abort', abort)
    }
  }

function patch(client: McpClient, options: ObserveMcpClientOptions): () => void {
  // Version 1 has the schema of the result before the options, with a default.
  warnOfVersion(`@modelcontextprotocol/${client.callTool.length === 1 ? 'sdk' : 'client'}`)
  const inFlight: InFlight[] = []
  const identifier = () => options.serverName ?? (client.getServerVersion?.()?.name || 'mcp')
  const tools = new ListedTools(identifier)
  const make = (method: Method, params: unknown, how: unknown, send: Send): Promise<unknown> => {
    const given = asObject(params) ?? {}
    const call = { method, identifier: identifier(), params: given, schemas: tools.of(method, given) }
    const own = asObject(how)
    const asked = own?.signal as AbortSignal | undefined
    const sent = async (given: Loose, { traceparent: ours, signal, toolCallId }: Told) => {
      const params = { ...traced(given, ours, currentPlace()?.core.traced.parentTraceparent) }
      const { traceparent } = traceparentOf({ method, params })
      const { apiName, args } = KINDS[method].named(given)
      const tool = { identifier: call.identifier, apiName, args, toolCallId }
      const calls = currentCalls()
      const entry: InFlight = { client, method, calls, tool, traceparent, params, isRequested: false }
      inFlight.push(entry)
      try {
        // The call ends with its run, too.
        return await withEither(asked, signal, (either) =>
          sending.run(entry, () => send(params, { ...own, signal: either })),
        )
      } finally {
        inFlight.splice(inFlight.indexOf(entry), 1)
      }
    }
    const outer = toldAlready(options.dispatcher, {
      identifier: call.identifier,
      ...KINDS[method].named(call.params),
    })
    if (outer !== undefined) return sent(call.params, outer)
    return within(options, {}, (calls) => callServer(calls, call, sent, givenUp(client, asked)), asked)
  }
  const asked =
    (method: Method, own: Ask, at: number): Ask =>
    (params, ...rest) =>
      make(method, params, rest[at], (given, how) => {
        const more = [...rest]
        more[at] = how
        return own.call(client, given, ...more)
      })
  const { callTool, readResource, getPrompt, request } = client
  // In version 1 the schema of the result stands before the options.
  const undo = [replace(client, 'callTool', asked('tools/call', callTool, callTool.length === 2 ? 0 : 1))]
  if (readResource) undo.push(replace(client, 'readResource', asked('resources/read', readResource, 0)))
  if (getPrompt) undo.push(replace(client, 'getPrompt', asked('prompts/get', getPrompt, 0)))
  if (request) {
    undo.push(
      replace(client, 'request', (asking, ...rest) => {
        const { method, params } = asking ?? {}
        if (!Object.hasOwn(KINDS, method) || isTold(client, method as Method, params ?? {}))
          return request.call(client, asking, ...rest)
        // In version 2 the schema of the result may be left out.
        const at = callTool.length === 1 || '~standard' in (asObject(rest[0]) ?? {}) ? 1 : 0
        return make(method as Method, params, rest[at], (given, how) => {
          const more = [...rest]
          more[at] = how
          return request.call(client, { ...asking, params: given }, ...more)
        })
      }),
    )
  }
  undo.push(tools.watch(client, options.dispatcher))
  undo.push(watchTaskStreams(client, (params, how, send) => make('tools/call', params, how, send)))
  undo.push(watchQuestions(client, options, inFlight))
  return () => {
    for (const one of undo) one()
  }
}

function watchQuestions(
  client: object,
  options: ObserveMcpClientOptions,
  inFlight: readonly InFlight[],
): () => void {
  const during = <R>(
    request: Request,
    make: (calls: SafeCalls, tools: readonly PendingTool[]) => Promise<R>,
  ) => {
    const call = askedDuring(inFlight, request)
    const tools = call === undefined ? [] : [call.tool]
    if (call?.calls !== undefined) return make(call.calls, tools)
    return within(options, traceparentOf(request), (calls) => make(calls, tools))
  }
  return watchHandlers(
    client,
    {
      'elicitation/create': (request, extra, handler) =>
        during(request, (calls, tools) =>
          askHuman(calls, request.params ?? {}, tools, () => handler(request, extra)),
        ),
      'sampling/createMessage': (request, extra, handler) =>
        during(request, (calls) =>
          askModel(calls, request.params ?? {}, (params) => handler({ ...request, params }, extra)),
        ),
    },
    'observeMcpClient',
  )
}
