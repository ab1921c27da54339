import { a } from '../../internal/expect.ts'
import { messages } from '../../wire/anthropic-messages.ts'
import { chat } from '../../wire/chat-completions.ts'
import type { ClientKind } from '../generated-client/client.ts'
import { observeClient, unobserveClient } from '../generated-client/observe-client.ts'
import type { ObserveOptions } from '../generated-client/options.ts'
import { replace } from '../replace.ts'
import { SdkLoop } from '../sdk-loop/sdk-loop.ts'
import { watchSessions } from './sessions.ts'
import { watchRunners } from './tool-runner.ts'

export interface ObserveAnthropicOptions extends ObserveOptions {
  /**
   * What becomes of the spans that the SDK makes itself where OpenTelemetry is set up for the process: they are left
   * out, or stay below the span of the run, beside hookspan's. @default 'omit'
   */
  sdkSpans?: 'omit' | 'nest'
}

const ANTHROPIC: ClientKind = {
  name: '@anthropic-ai/sdk',
  observer: 'observeAnthropic',
  has: ['messages'],
  majors: [1],
  provider: 'anthropic',
  apis: {
    '/v1/messages': { format: messages },
    '/v1/messages?beta=true': { format: messages },
    '/v1/complete': { format: chat, operationName: 'text_completion' },
  },
  fields: { sdkSpans: a.oneOf('omit', 'nest') },
  maker: () => SdkLoop.turns(),
  also: [watchRunners, watchSessions, omitSpans],
}

function omitSpans(client: { _tracer?: unknown }, { sdkSpans }: ObserveAnthropicOptions): () => void {
  return sdkSpans === 'nest' ? () => {} : replace(client, '_tracer', undefined)
}

/**
 * Makes each model call of an Anthropic client (messages and beta messages, streamed or not, `parse`, `stream`,
 * message threads, legacy completions) a model call of the operation that is running, and each `beta.messages.toolRunner()`
 * an agent: its turns are steps, its tools are tool calls that gates decide on and mocks stand in for. A runner inside
 * the tool of another one is a sub-agent. The tools that a hosted agent's session has run here, by `events.toolRunner()` or
 * a `worker()`, are tool calls of a run. All else is not seen: batches, token counts, files, what hosted agents' models are asked.
 *
 * @returns the same client, with its whole surface. Clients that its `withOptions()` makes are observed, too.
 * @throws HookspanError `INVALID_OPTION` when the client is none, or is observed by another dispatcher.
 */
export function observeAnthropic<C extends object>(client: C, options: ObserveAnthropicOptions): C {
  return observeClient(client, options, ANTHROPIC)
}

/** Leaves the client as it was before `observeAnthropic`. Calls in flight are watched to their end. */
export function unobserveAnthropic<C extends object>(client: C): C {
  return unobserveClient(client, ANTHROPIC)
}
