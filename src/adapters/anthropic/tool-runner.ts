import type { CompleteInit } from '../../dispatcher/index.ts'
import { defined } from '../../internal/objects.ts'
import { messages } from '../../wire/anthropic-messages.ts'
import { asList, asObject, asObjects, asText, type Loose } from '../../wire/reading.ts'
import type { ObserveOptions } from '../generated-client/options.ts'
import { instructionIn, saidIn } from '../instruction.ts'
import { allOrNone, replace } from '../replace.ts'
import { type FailedCall, type LoopInit, SdkLoop } from '../sdk-loop/sdk-loop.ts'
import { whenGone } from '../when-gone.ts'
import { ANTHROPIC_CAPABILITIES } from './capabilities.ts'
import { isRunnable, type ToolPlace, watchTools } from './runnable-tool.ts'

/** The SDK's runner of a loop: an async iterable of replies, and a promise of the last one. */
interface Runner extends AsyncIterable<unknown> {
  readonly params: Loose
  addTools?(...tools: unknown[]): void
  setMessagesParams?(params: unknown): void
}

interface Thread {
  toolRunner(settings?: Loose, options?: Loose): Runner
  fork(): Thread
  update(params: Loose, ...more: unknown[]): void
  readonly params: Loose
}

interface BetaMessages {
  toolRunner(params: Loose, options?: Loose): Runner
  thread?(params: Loose, options?: Loose): Thread
}

/** Makes each loop that `beta.messages` runs an agent. @returns leaves the client as it was. */
export function watchRunners(client: object, options: ObserveOptions): () => void {
  const beta = (client as { beta?: { messages?: Partial<BetaMessages> } }).beta?.messages
  if (typeof beta?.toolRunner !== 'function') return () => {}
  const { toolRunner, thread } = beta as BetaMessages
  const watchThread = (made: Thread): Thread => {
    const { toolRunner: run, fork, update } = made
    let last: ToolPlace | undefined
    replace(made, 'update', (params, ...more) =>
      update.call(made, last === undefined ? params : withTools(params, last), ...more),
    )
    replace(made, 'toolRunner', (settings, more) => {
      const make = (place: ToolPlace) => {
        last = place
        // A thread has the tools of its runners.
        if (made.params.tools !== undefined) made.update({ tools: made.params.tools })
        return run.call(made, settings, more)
      }
      return new WatchedRunner(client, options, make, more).runner
    })
    replace(made, 'fork', () => watchThread(fork.call(made)))
    return made
  }
  const runner: BetaMessages['toolRunner'] = (params, more) => {
    const make = (place: ToolPlace) => toolRunner.call(beta, withTools(params, place), more)
    return new WatchedRunner(client, options, make, more).runner
  }
  const startThread: BetaMessages['thread'] =
    thread && ((params, more) => watchThread(thread.call(beta, params, more)))
  return allOrNone(
    () => replace(beta as BetaMessages, 'toolRunner', runner, true),
    () => (startThread ? replace(beta as BetaMessages, 'thread', startThread, true) : () => {}),
  )
}

/** What the SDK's runners make a result of that says `is_error`. */
export function toolErrorOf(client: object): ToolPlace['ToolError'] {
  const { messages } = (client as { beta?: { messages?: object } }).beta ?? {}
  return (messages?.constructor as { ToolError?: ToolPlace['ToolError'] } | undefined)?.ToolError ?? Error
}

function withTools(params: Loose, place: ToolPlace): Loose {
  return Array.isArray(params?.tools) ? { ...params, tools: watchTools(params.tools, place) } : params
}

class WatchedRunner implements ToolPlace {
  readonly runner: Runner
  readonly ToolError: ToolPlace['ToolError']
  readonly #client: object
  readonly #options: ObserveOptions
  readonly #signal: AbortSignal | undefined
  #loop: Promise<SdkLoop> | undefined

  constructor(
    client: object,
    options: ObserveOptions,
    make: (place: ToolPlace) => Runner,
    requestOptions: Loose | undefined,
  ) {
    this.#client = client
    this.#options = options
    this.#signal = requestOptions?.signal as AbortSignal | undefined
    this.ToolError = toolErrorOf(client)
    this.runner = make(this)
    this.#watch()
  }

  #watch(): void {
    const { runner } = this
    const { addTools, setMessagesParams } = runner
    const turns = runner[Symbol.asyncIterator]
    replace(runner, Symbol.asyncIterator, () => {
      const reading = this.#turns(turns.call(runner))
      whenGone(reading, () => void this.#loop?.then((loop) => loop.left()).catch(() => {}))
      return reading
    })
    if (addTools) replace(runner, 'addTools', (...tools) => addTools.apply(runner, watchTools(tools, this)))
    if (!setMessagesParams) return
    replace(runner, 'setMessagesParams', (params) =>
      setMessagesParams.call(
        runner,
        typeof params === 'function'
          ? (before: Loose) => withTools(params(before), this)
          : withTools(params as Loose, this),
      ),
    )
  }

  /** The run begins with the first turn, or with the first tool that the user has run by hand. */
  begun(): Promise<SdkLoop> {
    this.#loop ??= this.#begin()
    return this.#loop
  }

  async #begin(): Promise<SdkLoop> {
    const { runner } = this
    const told = this.#told()
    const loop = await SdkLoop.begin(told)
    if (loop.input !== told.input) runner.setMessagesParams?.({ ...runner.params, messages: loop.input })
    loop.failures = () => failuresIn(this.runner.params.messages)
    return loop
  }

  #told(): LoopInit {
    const { messages: input, system, tools } = this.runner.params
    const { dispatcher, operation, agentName } = this.#options
    const names = asList(tools).flatMap((tool) =>
      isRunnable(tool) && typeof tool.name === 'string' ? [{ name: tool.name }] : [],
    )
    return {
      dispatcher,
      operation,
      adapter: { name: 'anthropic', capabilities: ANTHROPIC_CAPABILITIES },
      signal: this.#signal,
      instruction: instructionIn(input) ?? '',
      ...(defined({
        agentName,
        input,
        instructions: saidIn(system) || undefined,
        tools: names,
      }) as Partial<LoopInit>),
    }
  }

  async *#turns(turns: AsyncIterator<unknown>): AsyncGenerator<unknown, void> {
    let last: unknown
    let left = true
    try {
      const loop = await this.begun()
      for (;;) {
        loop.answered()
        const turn = await loop.run(() => turns.next())
        if (turn.done) break
        last = turn.value
        yield turn.value
      }
      left = false
      await loop.complete(await this.#ending(last))
    } catch (error) {
      left = false
      throw await this.#failed(error)
    } finally {
      if (left) await this.#left(turns)
    }
  }

  /** Nobody asks for more turns. */
  async #left(turns: AsyncIterator<unknown>): Promise<void> {
    await turns.return?.()
    await (await this.begun()).complete({ reason: 'interrupted' })
  }

  async #ending(last: unknown): Promise<CompleteInit> {
    const stream = last as { finalMessage?(): Promise<unknown> }
    const message = asObject(typeof stream?.finalMessage === 'function' ? await stream.finalMessage() : last)
    const content = message && messages.read(message).response.content
    const reason = message?.stop_reason === 'tool_use' ? 'max_steps' : 'done'
    return { reason, ...defined({ content }) }
  }

  async #failed(error: unknown): Promise<unknown> {
    const loop = await this.begun().catch(() => undefined)
    await loop?.fail(error)
    // What the SDK says of an abort, wherever it was noticed.
    const { APIUserAbortError } = this.#client.constructor as { APIUserAbortError?: new () => Error }
    const aborted = this.#signal?.aborted && error === this.#signal.reason
    return aborted && APIUserAbortError ? new APIUserAbortError() : error
  }
}

/** What the runner says to the calls of the last reply that it has no tool for, beside what tools threw. */
function failuresIn(messages: unknown): FailedCall[] {
  const said = asObjects(messages)
  const at = said.findLastIndex(({ role }) => role === 'assistant')
  const blocks = said.slice(at + 1).flatMap(({ content }) => asObjects(content))
  const answers = new Map(blocks.map((block) => [block.tool_use_id, block]))
  return asObjects(said[at]?.content).flatMap(({ type, id, name, input }) => {
    const [toolCallId, apiName, { is_error, content } = {}] = [asText(id), asText(name), answers.get(id)]
    if (type !== 'tool_use' || !toolCallId || !apiName || is_error !== true) return []
    return [{ init: { toolCallId, apiName, args: input }, error: new Error(saidIn(content)) }]
  })
}
