import { decidesAt } from '../../gates/gate.ts'
import { HookspanError } from '../../internal/errors.ts'
import { defined } from '../../internal/objects.ts'
import { asObject, type Loose } from '../../wire/reading.ts'
import { HOSTED } from '../capabilities.ts'
import type { ObserveOptions } from '../generated-client/options.ts'
import { allOrNone, replace } from '../replace.ts'
import { SdkLoop } from '../sdk-loop/sdk-loop.ts'
import { withOwn } from '../sdk-loop/with-own.ts'
import { warnOnce } from '../warn-once.ts'
import { type ToolPlace, watchTools } from './runnable-tool.ts'
import { toolErrorOf } from './tool-runner.ts'

interface Tool {
  close?(): unknown
}

/** Of `beta.sessions`. */
interface Events {
  toolRunner(sessionId: string, options: Loose): object
}

/** Of `beta.environments`. */
interface Work {
  worker(options?: Loose): object
}

interface Hosted {
  readonly sessions?: { readonly events?: Partial<Events> }
  readonly environments?: { readonly work?: Partial<Work> }
}

/** Makes the tools that sessions of hosted agents have run here tool calls. @returns leaves the client as it was. */
export function watchSessions(client: object, options: ObserveOptions): () => void {
  const ToolError = toolErrorOf(client)
  const { sessions, environments } = (client as { beta?: Hosted }).beta ?? {}
  const watch = (tools: unknown, sessionId: unknown, signal: unknown) =>
    Array.isArray(tools) ? new Session(options, ToolError, sessionId, signal).watched(tools) : tools
  return allOrNone(
    () =>
      replaced(sessions?.events as Events | undefined, 'toolRunner', (own) => (sessionId, given) => {
        const { tools, signal } = given ?? {}
        return own(sessionId, { ...given, tools: watch(tools, sessionId, signal) })
      }),
    () =>
      replaced(environments?.work as Work | undefined, 'worker', (own) => (given) => {
        const { tools, signal } = given ?? {}
        if (tools === undefined) {
          assertNobodyDecides(options)
          return own(given)
        }
        // For each session its own.
        const each = (context: unknown) =>
          watch(
            typeof tools === 'function' ? tools(context) : tools,
            asObject(asObject(context)?.session)?.id,
            signal,
          )
        return own({ ...given, tools: each })
      }),
  )
}

function replaced<T extends object, K extends keyof T>(
  object: T | undefined,
  key: K,
  of: (own: T[K]) => T[K],
): () => void {
  const own = object?.[key]
  return object !== undefined && typeof own === 'function'
    ? replace(object, key, of(own.bind(object) as T[K]), true)
    : () => {}
}

/** A worker takes its tools by itself where it is given none. @throws HookspanError `NOT_CAPABLE` where somebody was to be asked. */
function assertNobodyDecides({ dispatcher }: ObserveOptions): void {
  const what =
    'The tools that worker() takes by itself are not seen. Hand it those of @anthropic-ai/sdk/tools/agent-toolset/node: `tools: betaAgentToolset20260401`.'
  const decides = dispatcher.plugins.some(
    ({ gates = [], hooks = [], standIn }) =>
      standIn !== undefined ||
      hooks.some(({ mocks }) => mocks) ||
      gates.some(
        (gate) => !gate.shadow && (decidesAt(gate, 'beforeToolCall') || decidesAt(gate, 'afterToolCall')),
      ),
  )
  if (decides) throw new HookspanError('NOT_CAPABLE', `${what} Gates and mocks could not hold in them.`)
  warnOnce(`hookspan: ${what}`)
}

/** The run of what a session asks for, from its first tool on. */
class Session implements ToolPlace {
  readonly ToolError: ToolPlace['ToolError']
  readonly #options: ObserveOptions
  readonly #told: Loose
  #loop: Promise<SdkLoop> | undefined

  constructor(
    options: ObserveOptions,
    ToolError: ToolPlace['ToolError'],
    conversationId: unknown,
    signal: unknown,
  ) {
    this.#options = options
    this.ToolError = ToolError
    this.#told = defined({ conversationId, signal })
  }

  /** The runner closes its tools when it ends, whatever ended it. */
  watched(tools: readonly unknown[]): unknown[] {
    const [first, ...others] = watchTools(tools, this) as Tool[]
    if (first === undefined) return []
    const close = async () => {
      try {
        await first.close?.()
      } finally {
        const { signal } = this.#told as { signal?: AbortSignal }
        // One that did not begin has told why in the place of its tools.
        const loop = await this.#loop?.catch(() => undefined)
        await loop?.complete({ reason: signal?.aborted ? 'interrupted' : 'done' })
      }
    }
    return [withOwn(first, { close }), ...others]
  }

  begun(): Promise<SdkLoop> {
    const { dispatcher, operation, agentName } = this.#options
    this.#loop ??= SdkLoop.begin({
      dispatcher,
      operation,
      adapter: { name: 'anthropic, sessions', capabilities: HOSTED },
      instruction: '',
      ...defined({ ...this.#told, agentName }),
    })
    return this.#loop
  }
}
