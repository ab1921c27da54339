import { setTimeout as sleep } from 'node:timers/promises'
import { trace } from '@opentelemetry/api'
import type { OpenAI } from 'openai'
import {
  type CallMaker,
  type HookDispatcher,
  type Operation,
  type Step,
  type ToolOutcome,
  ToolResult,
} from '../../dispatcher/index.ts'
import type { LlmRequest } from '../../hooks/index.ts'
import { jsonIn } from '../../internal/json.ts'
import { defined } from '../../internal/objects.ts'
import { GEN_AI } from '../../tracing/index.ts'
import { readReply } from '../../wire/formats.ts'
import type {
  RecordedAssistantTurn,
  RecordedCall,
  RecordedCodeCalls,
  RecordedItem,
  RecordedRun,
  RecordedSystemMessage,
  RecordedUserMessage,
} from './recordings/index.ts'
import { ReplayClock, wallClock } from './replay-clock.ts'
import { agentNameOf, attributesOf, firstTime, lastText, reasonOf } from './run-facts.ts'
import { RUN_HEADER } from './served-turns.ts'

export interface ReplayRunOptions {
  dispatcher: HookDispatcher
  /** Talks to the endpoint that serves the recorded turns: see {@link ServedTurns}. */
  client: OpenAI
  operationId: string
  /** Named in requests where the recording names none. @default 'recorded-model' */
  model?: string | undefined
  /** Keeps the recorded times instead of those of the replay. @default false */
  recordedTimes?: boolean | undefined
  /** Waits as long as the recording did, divided by this. @default no waiting */
  speed?: number | undefined
  /** Keeps what the user said after the model's last turn, as events of the run's span. @default false */
  captureContent?: boolean | undefined
}

export interface ReplayedRun {
  readonly traceId: string | undefined
}

/** The name of the tools that the user operated, as the home of the call. */
const USER_TOOLS = 'user'

/** The type of a step in which the agent's code ran tools that no model asked for. */
const CODE_STEP = 'code'

/**
 * Runs a recorded conversation through the real runtime: model turns through the client, tools with the results
 * they had, hooks, gates and spans as in any run.
 *
 * @throws what the client or a hookspan call throws; the operation has ended as failed then.
 */
export async function replayRun(run: RecordedRun, options: ReplayRunOptions): Promise<ReplayedRun> {
  return new RunReplay(run, options).play()
}

class RunReplay {
  readonly #run: RecordedRun
  readonly #options: ReplayRunOptions
  readonly #model: string
  readonly #clock: ReplayClock | undefined
  /** Of the spans and of what is noted beside them: by two clocks their order would be lost. */
  readonly #now: () => number
  readonly #history: object[] = []
  #lastMs: number | undefined

  constructor(run: RecordedRun, options: ReplayRunOptions) {
    this.#run = run
    this.#options = options
    this.#model = run.model ?? options.model ?? 'recorded-model'
    const startMs = firstTime(run)
    this.#lastMs = startMs
    if (options.recordedTimes && startMs !== undefined) this.#clock = new ReplayClock(startMs)
    this.#now = this.#clock?.now ?? wallClock()
  }

  async play(): Promise<ReplayedRun> {
    const { systemPrompt, userPrompt, items, format } = this.#run
    const operation = this.#options.dispatcher.startOperation({
      operationId: this.#options.operationId,
      agentName: agentNameOf(this.#run),
      conversationId: this.#run.id,
      input: userPrompt,
      instructions: systemPrompt,
      clock: this.#now,
      attributes: attributesOf(this.#run),
    })
    // A tau2-bench policy is no message of the recording, but the model was told it.
    if (format === 'tau2-bench' && systemPrompt !== undefined) {
      this.#history.push({ role: 'system', content: systemPrompt })
    }
    const traceId = operation.traceparent?.split('-')[1]
    try {
      for (const [position, item] of items.entries()) await this.#item(operation, item, position)
      const { error } = this.#run.outcome
      if (error === undefined)
        await operation.complete({ reason: reasonOf(this.#run), content: lastText(items) })
      else await operation.fail(new Error(error))
      return { traceId }
    } catch (error) {
      await operation.fail(error)
      throw error
    }
  }

  async #item(operation: Operation, item: RecordedItem, position: number): Promise<void> {
    switch (item.kind) {
      case 'system':
        this.#history.push({ role: item.role, content: contentOf(item) })
        return
      case 'user':
        return this.#userMessage(operation, item, position)
      case 'assistant':
        await operation.step((step) => this.#turn(step, item, position), { stepType: 'model' })
        return
      case 'code':
        // What follows an answer was run in its step.
        if (this.#answerBefore(position)) return
        await operation.step((step) => this.#codeCalls(step, item), { stepType: CODE_STEP })
        return
      case 'toolResult':
        // Told together with its call.
        return
    }
  }

  async #turn(step: Step, turn: RecordedAssistantTurn, position: number): Promise<void> {
    const reply = await this.#reply(step, turn)
    if (reply !== undefined) {
      const message = reply.choices[0]?.message
      if (message === undefined) throw new Error('The served reply holds no message.')
      this.#history.push(turn.name === undefined ? message : { ...message, name: turn.name })
      const asked = (message.tool_calls ?? []).flatMap((call) => (call.type === 'function' ? [call] : []))
      const outcomes = await this.#calls(
        step,
        turn.calls,
        asked.map(({ function: { arguments: text } }) => jsonIn(text, text)),
      )
      for (const outcome of outcomes) this.#history.push(outcome.toToolMessage())
    }
    for (let at = position + 1; at < this.#run.items.length; at++) {
      const next = this.#run.items[at]
      if (next?.kind === 'code') await this.#codeCalls(step, next)
      else if (next?.kind !== 'toolResult') return
    }
  }

  /** Undefined where the recording has no answer. */
  async #reply(
    step: Step,
    turn: RecordedAssistantTurn,
  ): Promise<OpenAI.Chat.Completions.ChatCompletion | undefined> {
    const { costUsd, error, requestModel: model = this.#model, sent = this.#history } = turn
    try {
      return await step.llmCall<OpenAI.Chat.Completions.ChatCompletion>(
        {
          model,
          request: { model, messages: [...sent] },
          read: (answer) => {
            const { response, usage } = readReply(answer)
            return defined({ response, usage, costUsd })
          },
        },
        (request, { signal }) => this.#ask(request, turn, signal),
      )
    } catch (thrown) {
      if (error === undefined) throw thrown
      return undefined
    }
  }

  /** Whether an answer is right before, with nothing between but what code ran and got. */
  #answerBefore(position: number): boolean {
    const before = this.#run.items
      .slice(0, position)
      .findLast(({ kind }) => kind !== 'code' && kind !== 'toolResult')
    return before?.kind === 'assistant'
  }

  async #codeCalls(step: Step, { calls }: RecordedCodeCalls): Promise<void> {
    await this.#calls(
      step,
      calls,
      calls.map(({ args }) => args),
    )
  }

  async #ask(request: LlmRequest, turn: RecordedAssistantTurn, signal: AbortSignal | undefined) {
    const { client, operationId } = this.#options
    await this.#wait(turn)
    if (turn.name !== undefined) trace.getActiveSpan()?.setAttribute('hookspan.replay.speaker', turn.name)
    const reply = await client.chat.completions.create(
      request as unknown as OpenAI.Chat.Completions.ChatCompletionCreateParamsNonStreaming,
      // Names of files may hold what a header may not.
      defined({ headers: { [RUN_HEADER]: encodeURIComponent(operationId) }, signal, maxRetries: 0 }),
    )
    this.#clock?.moveTo(turn.timestampMs)
    return reply
  }

  async #userMessage(operation: Operation, message: RecordedUserMessage, position: number): Promise<void> {
    await this.#wait(message)
    this.#clock?.moveTo(message.timestampMs)
    if (message.content !== null || message.calls.length === 0) {
      const { name } = message
      this.#history.push({ role: 'user', content: contentOf(message), ...defined({ name }) })
      const isSeen = this.#run.items.some((item, index) => index > position && item.kind === 'assistant')
      // Beside calls of the user's own the next request comes too late: the calls would be told before it.
      if (!isSeen || message.calls.length > 0) this.#noteSaid(operation, message)
    }
    if (message.calls.length === 0) return
    // The agent's model does not see what the user's hands do; the trace does.
    await operation.step(
      (step) =>
        this.#calls(
          step,
          message.calls,
          message.calls.map(({ args }) => args),
        ),
      {
        stepType: USER_TOOLS,
      },
    )
  }

  /** Starts the calls of one message together, and ends them in the order and at the times of their results. */
  async #calls(
    maker: CallMaker,
    calls: readonly RecordedCall[],
    args: readonly unknown[],
  ): Promise<ToolOutcome[]> {
    const running = calls.map((call, index) => {
      const ready = Promise.withResolvers<void>()
      const outcome = maker.toolCall(
        {
          toolCallId: call.id,
          apiName: call.name,
          args: args[index],
          identifier: call.madeBy === 'user' ? USER_TOOLS : undefined,
        },
        async () => {
          await ready.promise
          return this.#resultOf(call)
        },
      )
      return { call, ready, outcome }
    })
    const inOrder = [...running].sort((a, b) => positionOf(a.call) - positionOf(b.call))
    const outcomes: ToolOutcome[] = []
    for (const { call, ready, outcome } of inOrder) {
      const result = call.resultItem === undefined ? undefined : this.#run.items[call.resultItem]
      if (result?.kind === 'toolResult') {
        await this.#wait(result)
        this.#clock?.moveTo(result.timestampMs)
      }
      ready.resolve()
      outcomes.push(await outcome)
    }
    return outcomes
  }

  #resultOf(call: RecordedCall): ToolResult {
    const result = call.resultItem === undefined ? undefined : this.#run.items[call.resultItem]
    const isThere = result?.kind === 'toolResult'
    if (!isThere || result.invented) trace.getActiveSpan()?.setAttribute('hookspan.replay.invented', true)
    if (!isThere) throw new Error('The recording ends before this call has a result.')
    return new ToolResult({ content: result.content, success: !result.isError })
  }

  /** What no model call was sent would be missing from the trace, or not be in its place. */
  #noteSaid(operation: Operation, message: RecordedUserMessage): void {
    if (!this.#options.captureContent || message.content === null) return
    const parts = [{ type: 'text', content: message.content }]
    operation.run(() =>
      trace
        .getActiveSpan()
        ?.addEvent(
          'hookspan.user_message',
          { [GEN_AI.inputMessages]: JSON.stringify([{ role: 'user', parts }]) },
          this.#now(),
        ),
    )
  }

  async #wait(item: { timestampMs?: number }): Promise<void> {
    const { speed } = this.#options
    if (item.timestampMs === undefined) return
    const elapsedMs = item.timestampMs - (this.#lastMs ?? item.timestampMs)
    this.#lastMs = Math.max(this.#lastMs ?? 0, item.timestampMs)
    if (speed !== undefined && elapsedMs > 0) await sleep(elapsedMs / speed)
  }
}

function positionOf(call: RecordedCall): number {
  return call.resultItem ?? Number.POSITIVE_INFINITY
}

/** Parts that are no text are kept in the origin only. */
function contentOf({ content, origin }: RecordedUserMessage | RecordedSystemMessage): unknown {
  return origin.extra.content ?? content
}
