import { tellsFailure, wordsOf } from '../../dispatcher/calls/tool-outcome.ts'
import type { ToolOutcome } from '../../dispatcher/index.ts'
import { isToolResult } from '../../wire/mcp-result.ts'
import { asName, asObject } from '../../wire/reading.ts'
import { assertWorked, KINDS, type Schemas } from '../mcp/call.ts'
import { ListedTools } from '../mcp/listed-tools.ts'
import { type Handler, type Request, watchHandlers } from '../mcp/protocol.ts'
import { type AnnouncedCall, ClaudeRun } from './claude-run.ts'
import type { McpServerConfig } from './sdk.ts'

const KIND = KINDS['tools/call']

interface Watched {
  users: number
  /** What its tools take and give, as Claude Code has listed them. */
  readonly listed: ListedTools
  readonly undo: () => void
}

const watched = new WeakMap<object, Watched>()

/**
 * Runs the tools of servers in this process in the place of their calls, and lets mocks stand in for them.
 *
 * @returns leaves them as they were, once no query has them any more.
 */
export function watchServers(servers: Readonly<Record<string, McpServerConfig>> | undefined): () => void {
  const instances = Object.values(servers ?? {}).flatMap(({ instance }) => instance ?? [])
  const undo = instances.map(watch)
  return () => {
    for (const one of undo.splice(0)) one()
  }
}

const lowOf = (instance: object): object => (instance as { server?: object }).server ?? instance

/** What mocks of a tool of a server are held to. */
export function schemasOf(instance: object | undefined, name: string): Schemas {
  return (instance && watched.get(lowOf(instance))?.listed.of('tools/call', { name })) ?? {}
}

function watch(instance: object): () => void {
  const low = lowOf(instance)
  const found: Watched = watched.get(low) ?? watchAnew(low)
  watched.set(low, found)
  found.users++
  return () => {
    if (--found.users > 0) return
    watched.delete(low)
    found.undo()
  }
}

function watchAnew(low: object): Watched {
  const listed = new ListedTools()
  const list = async (request: Request, extra: unknown, handler: Handler) => {
    const told = await handler(request, extra)
    listed.read(told)
    return told
  }
  const around = { 'tools/call': serve, 'tools/list': list }
  return { users: 0, listed, undo: watchHandlers(low, around, 'observeClaudeAgent') }
}

async function serve(request: Request, extra: unknown, handler: Handler): Promise<unknown> {
  const { params = {} } = request
  const meta = asObject(params._meta) ?? asObject(asObject(extra)?._meta)
  const run = ClaudeRun.current
  if (run?.isUnguarded) return KIND.refused?.('Nobody could decide on this call.')
  const announced = run?.find(asName(meta?.['claudecode/toolUseId']), params.arguments ?? {})
  if (run === undefined || announced === undefined || announced.served) return handler(request, extra)
  announced.served = true
  const { edited = run.isDecidedOn ? undefined : params.arguments } = announced
  return served({ ...announced, edited }, request, extra, handler)
}

async function served(
  { call, permission, edited }: AnnouncedCall,
  request: Request,
  extra: unknown,
  handler: Handler,
): Promise<unknown> {
  const { params = {} } = request
  let gave: unknown
  permission?.give(edited === undefined ? undefined : { args: edited })
  const decision = await call.decided
  const outcome: ToolOutcome =
    decision.state === 'run'
      ? await call.run(async (args, { signal }) => {
          const asked = { ...request, params: KIND.asked(params, edited ?? args) }
          gave = await handler(asked, untilAborted(extra, signal))
          assertWorked(gave)
          return gave
        })
      : decision
  if (outcome.state === 'errored') {
    if (gave !== undefined) return gave
    throw outcome.error
  }
  if ('result' in outcome && outcome.result === gave && gave !== undefined) return gave
  const { content } = outcome.toToolMessage()
  if (!('result' in outcome) || tellsFailure(outcome)) return KIND.refused?.(content)
  const { result } = outcome
  // Claude Code tells its model what is structured, and not the text beside it.
  const saysItself = isToolResult(result) || wordsOf(outcome) === undefined
  return KIND.result(content, saysItself ? result : content, params)
}

/**
 * A call ends when its run is aborted, and with it the request, so that the server has nothing any more to tell its tool: the tool is
 * told by the run's own signal.
 */
function untilAborted(extra: unknown, run: AbortSignal): unknown {
  const { signal } = asObject(extra) ?? {}
  return signal instanceof AbortSignal
    ? { ...(extra as object), signal: AbortSignal.any([signal, run]) }
    : extra
}
