import type { HookDispatcher } from '../../dispatcher/index.ts'
import { currentPlace } from '../../dispatcher/run/current.ts'
import { a, type Fields } from '../../internal/expect.ts'
import { defined } from '../../internal/objects.ts'
import { asObject, type Loose } from '../../wire/reading.ts'
import { warnOfVersion } from '../peer-range.ts'
import { replace } from '../replace.ts'
import { currentCalls } from '../safe/calls.ts'
import { startOperation } from '../safe/operation.ts'
import { AttachedObjects } from '../sdk-loop/attached.ts'
import { callServer, type Method } from './call.ts'
import { type ListedTools, listedBy } from './listed-tools.ts'
import { type Around, traced, traceparentOf, watchHandlers } from './protocol.ts'
import { askHuman, askModel } from './questions.ts'

export interface ObserveMcpServerOptions {
  dispatcher: HookDispatcher
  /** The home of the tools, as `identifier`, and the name of the operations. @default the server's own name, else `mcp` */
  serverName?: string
}

const FIELDS: Fields<ObserveMcpServerOptions> = { dispatcher: a.value, serverName: a.name }

type Ask = (params: Loose, options?: unknown) => Promise<unknown>

/** The server under an `McpServer`. */
interface LowServer {
  elicitInput?: Ask
  createMessage?: Ask
  readonly setRequestHandler?: unknown
  /** Of a client alone. */
  readonly callTool?: unknown
  readonly _serverInfo?: { readonly name?: string }
}

const attached = new AttachedObjects(
  'observeMcpServer',
  'an McpServer or a Server of the MCP SDK',
  ({ setRequestHandler, callTool }: LowServer) =>
    typeof setRequestHandler === 'function' && callTool === undefined,
  ({ startHTTP, listen }: { startHTTP?: unknown; listen?: unknown }) =>
    typeof (startHTTP ?? listen) === 'function'
      ? 'One that makes a server of the SDK for each connection is out of reach: put its tools through wrapTools() of hookspan/adapter before it is given them.'
      : undefined,
)

/** An `McpServer` and the `Server` below it are one. */
const lowOf = (server: object) => (server as { server?: object } | null)?.server ?? server

/**
 * Makes each call of an MCP server's tools an operation with a tool call in it, in the trace of the client that calls
 * (`_meta.traceparent`): gates decide on it, mocks stand in for the tool. Resources and prompts are the same, under the names
 * `resources/read` and `prompts/get`. What a tool asks of the client is told as the question to a human, or the model call, that
 * it is.
 *
 * @returns the same server.
 * @throws HookspanError `INVALID_OPTION` when the server is none, or is observed by another dispatcher.
 */
export function observeMcpServer<S extends object>(server: S, options: ObserveMcpServerOptions): S {
  const low = lowOf(server)
  attached.attach(low, options, FIELDS, () => patch(low, options))
  return server
}

/** Leaves the server as it was before `observeMcpServer`. Calls in flight are watched to their end. */
export function unobserveMcpServer<S extends object>(server: S): S {
  attached.detach(lowOf(server))
  return server
}

function patch(low: LowServer, options: ObserveMcpServerOptions): () => void {
  // Version 2 speaks several versions of the protocol, and keeps which.
  warnOfVersion(`@modelcontextprotocol/${'_supportedProtocolVersions' in low ? 'server' : 'sdk'}`)
  const name = options.serverName ?? (low._serverInfo?.name || 'mcp')
  const tools = listedBy(options.dispatcher, name)
  const around = Object.fromEntries(
    (['tools/call', 'resources/read', 'prompts/get'] as const).map((method) => [
      method,
      serving(method, name, tools, options.dispatcher),
    ]),
  )
  const listing: Around[string] = async (request, extra, handler) => {
    const listed = await handler(request, extra)
    tools.read(listed)
    return listed
  }
  const undo = [
    watchHandlers(low, { ...around, 'tools/list': listing }, 'observeMcpServer'),
    ...watchQuestions(low),
  ]
  return () => {
    for (const one of undo) one()
  }
}

function serving(
  method: Method,
  name: string,
  tools: ListedTools,
  dispatcher: HookDispatcher,
): Around[string] {
  return async (request, extra, handler) => {
    const { params = {} } = request
    const call = { method, identifier: name, params, schemas: tools.of(method, params) }
    const op = startOperation(dispatcher, {
      agentName: name,
      ...traceparentOf(request),
      ...defined({ signal: signalOf(extra) }),
    })
    try {
      const result = await callServer(op, call, (params) => handler({ ...request, params }, extra))
      await op.complete(op.signal?.aborted ? { reason: 'interrupted' } : {})
      return result
    } catch (error) {
      if (op.signal?.aborted) await op.complete({ reason: 'interrupted' })
      else await op.fail(error)
      throw error
    }
  }
}

/** Version 1 has it beside the request's other facts, version 2 in `mcpReq`. */
function signalOf(extra: unknown): AbortSignal | undefined {
  const { signal, mcpReq } = asObject(extra) ?? {}
  const found = signal ?? asObject(mcpReq)?.signal
  return found instanceof AbortSignal ? found : undefined
}

function watchQuestions(low: LowServer): (() => void)[] {
  const { elicitInput, createMessage } = low
  const asking = (own: Ask, params: Loose, options: unknown) =>
    own.call(low, traced(params, currentPlace()?.site.traced.traceparent), options)
  const undo: (() => void)[] = []
  if (elicitInput) {
    undo.push(
      replace(low, 'elicitInput', async (params, options) => {
        const calls = currentCalls()
        const ask = () => asking(elicitInput, params, options)
        return calls ? askHuman(calls, params, [], ask) : ask()
      }),
    )
  }
  if (createMessage) {
    undo.push(
      replace(low, 'createMessage', async (params, options) => {
        const calls = currentCalls()
        const ask = (given: Loose) => asking(createMessage, given, options)
        return calls ? askModel(calls, params, ask) : ask(params)
      }),
    )
  }
  return undo
}
