import { observeClient, unobserveClient } from '../generated-client/observe-client.ts'
import type { ObserveOptions } from '../generated-client/options.ts'
import { kindOf } from './kinds.ts'

/**
 * Makes each model call of an `openai` client (chat completions, responses, legacy completions and embeddings, streamed
 * or not, through whichever helper) a model call of the operation that is running: of the step, the tool or the
 * sub-agent around it. `responses.compact()` is a compaction, with a model call in it. A call outside of any operation
 * belongs to `options.operation`, else to an operation of its own. A response that is made in the background is one call, up to
 * the `responses.retrieve()` of this process that first finds it made. Each `chat.completions.runTools()` is an agent: its
 * turns are steps, its tools are tool calls that gates decide on and mocks stand in for; inside the tool of another one it is
 * a sub-agent. The `toolHandlers` of a hosted agent's session are tool calls, each of an operation of its own outside of any.
 * Calls that `step.llmCall()` makes itself are not counted twice. Everything else the client does is left alone and not seen:
 * images, video, speech, transcriptions and translations, moderations, decisions, batches, fine-tuning, the realtime API,
 * responses over a WebSocket, assistants, what the model of a hosted agent is asked. Clients of `groq-sdk`, `together-ai` and
 * `@cerebras/cerebras_cloud_sdk` are observed likewise.
 *
 * @returns the same client, with its whole surface: `parse`, `stream`, `withResponse`, `asResponse`, `tee`, ...
 * Clients that its `withOptions()` makes are observed, too.
 * @throws HookspanError `INVALID_OPTION` when the client is none, or is observed by another dispatcher.
 * @example
 * const client = observeOpenAI(new OpenAI(), { dispatcher })
 * const op = dispatcher.startOperation({ agentName: 'support' })
 * await op.run(() => yourLoop(client))
 */
export function observeOpenAI<C extends object>(client: C, options: ObserveOptions): C {
  return observeClient(client, options, kindOf(client))
}

/** Leaves the client as it was before `observeOpenAI`. Calls in flight are watched to their end. */
export function unobserveOpenAI<C extends object>(client: C): C {
  return unobserveClient(client, kindOf(client))
}
