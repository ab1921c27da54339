import { isMockedFailure, tellsFailure } from '../../dispatcher/calls/tool-outcome.ts'
import type { ToolCallInit, ToolFunction, ToolOutcome, ToolRunContext } from '../../dispatcher/index.ts'
import { errorMessage, HookspanError } from '../../internal/errors.ts'
import { isRecord } from '../../internal/objects.ts'
import { isToolResult } from '../../wire/mcp-result.ts'
import { asObject, asText, type Loose } from '../../wire/reading.ts'
import type { SafeCalls } from '../safe/calls.ts'
import { isToolFailure, ToolFailure, toldFailure } from '../tool-failure.ts'

/** What a server has, and how what stands in for it has to look. */
export interface Kind {
  /** The name and the arguments under which hooks, gates and mocks see it. */
  named(params: Loose): { readonly apiName: string; readonly args: unknown }
  /** Puts the arguments that a gate made into the request. */
  asked(params: Loose, args: unknown): Loose
  /** A result in the place of the server's. */
  result(content: string, value: unknown, params: Loose, schemas?: Schemas): unknown
  /** A refusal, or a failure that a mock tells, where the protocol has a word for it. */
  refused?(content: string): unknown
}

export const KINDS: Readonly<Record<'tools/call' | 'resources/read' | 'prompts/get', Kind>> = {
  'tools/call': {
    named: (params) => ({ apiName: asText(params.name) || 'unnamed', args: params.arguments ?? {} }),
    asked: (params, args) => ({ ...params, arguments: args }),
    result: (text, value, _params, schemas) =>
      isToolResult(value)
        ? value
        : {
            content: [{ type: 'text', text }],
            ...(isStructured(value, schemas) && { structuredContent: value }),
          },
    refused: (text) => ({ isError: true, content: [{ type: 'text', text }] }),
  },
  'resources/read': {
    named: ({ uri }) => ({ apiName: 'resources/read', args: { uri } }),
    asked: (params, args) => ({ ...params, ...asObject(args) }),
    result: (text, value, { uri }) =>
      Array.isArray(asObject(value)?.contents) ? value : { contents: [{ uri, text }] },
  },
  'prompts/get': {
    named: ({ name, arguments: args = {} }) => ({ apiName: 'prompts/get', args: { name, arguments: args } }),
    asked: (params, args) => ({ ...params, ...asObject(args) }),
    result: (text, value) =>
      Array.isArray(asObject(value)?.messages)
        ? value
        : { messages: [{ role: 'user', content: { type: 'text', text } }] },
  },
}

/** An object; any JSON, where the schema of what the tool gives is one of something else. */
function isStructured(value: unknown, { outputSchema }: Schemas = {}): boolean {
  return isRecord(value) || (isRecord(outputSchema) && outputSchema.type !== 'object')
}

export type Method = keyof typeof KINDS

/** What mocked calls of a tool are held to. */
export interface Schemas {
  readonly inputSchema?: unknown
  readonly outputSchema?: unknown
}

/** Tells that nobody waits for a call any more, with what it ends with. @returns stops it. */
export type GivenUp = (leave: (reason: unknown) => void) => () => void

/**
 * Makes what is asked of a server a tool call. Gives what the server gives, the same object, unless a gate changed it, a
 * mock stood in, or it was refused.
 *
 * @param givenUp tells that nobody waits for the call any more.
 * @throws what `send` throws; what `givenUp` tells while the call is decided on; HookspanError `CALL_DENIED`
 * for a refused resource or prompt, `NOT_CAPABLE` when the call is to wait for a human in another process.
 */
export async function callServer(
  calls: SafeCalls,
  {
    method,
    identifier,
    params,
    schemas,
  }: {
    readonly method: Method
    readonly identifier: string
    readonly params: Loose
    readonly schemas?: Schemas
  },
  send: (params: Loose, context: ToolRunContext) => unknown,
  givenUp?: GivenUp,
): Promise<unknown> {
  const kind = KINDS[method]
  let gave: unknown
  const init: ToolCallInit = { ...kind.named(params), ...schemas, identifier, source: 'mcp' }
  const outcome = await made(calls, init, givenUp, async (args, context) => {
    gave = await send(args === init.args ? params : kind.asked(params, args), context)
    assertWorked(gave)
    return gave
  })
  return told(outcome, gave, kind, init.apiName, params, schemas)
}

/** Once it is sent the SDK ends it. Before that, as while a human is asked, it ends where nobody waits for it any more. */
async function made(
  calls: SafeCalls,
  init: ToolCallInit,
  givenUp: GivenUp | undefined,
  body: ToolFunction<unknown, unknown>,
): Promise<ToolOutcome<unknown>> {
  if (givenUp === undefined) return calls.toolCall<unknown, unknown>(init, body)
  const call = calls.openToolCall(init)
  if (call.decision !== undefined) return call.run(body)
  const left = Promise.withResolvers<never>()
  let isLeft = false
  const stop = givenUp((reason) => {
    isLeft = true
    call.fail(reason).catch(() => {})
    left.reject(reason)
  })
  try {
    await Promise.race([call.decided, left.promise])
  } finally {
    stop()
  }
  return isLeft ? left.promise : call.run(body)
}

function told(
  outcome: ToolOutcome<unknown>,
  gave: unknown,
  kind: Kind,
  name: string,
  params: Loose,
  schemas: Schemas | undefined,
): unknown {
  if (outcome.state === 'errored') {
    const failed = isToolFailure(outcome.error)
    if (failed && gave !== undefined) return gave
    if (kind.refused && (failed || isMockedFailure(outcome))) return kind.refused(errorMessage(outcome.error))
    throw outcome.error
  }
  if (outcome.state === 'waiting') {
    throw new HookspanError(
      'NOT_CAPABLE',
      `The call of "${name}" is to wait for a human in another process, which a call over MCP cannot: its connection ends ` +
        "with the process. Let the approver wait in this one (`mode: 'wait'`).",
    )
  }
  const { content } = outcome.toToolMessage()
  if (kind.refused && tellsFailure(outcome)) return kind.refused(content)
  if (!('result' in outcome)) {
    if (kind.refused) return kind.refused(content)
    throw new HookspanError('CALL_DENIED', `The call of "${name}" was refused: ${content}`)
  }
  const { result } = outcome
  const isOwn = gave !== undefined && (result === gave || (isUnderway(gave) && isUnderway(result)))
  return isOwn ? result : kind.result(content, result, params, schemas)
}

/** What a server gives that has no result yet: it asks something first, or has made a task. */
function isUnderway(value: unknown): boolean {
  const { resultType, task } = asObject(value) ?? {}
  return resultType === 'input_required' || asObject(task)?.taskId !== undefined
}

/** @throws ToolFailure with what the tool says. */
export function assertWorked(result: unknown): void {
  const failure = toldFailure(result)
  if (failure !== undefined) throw new ToolFailure(failure)
}
