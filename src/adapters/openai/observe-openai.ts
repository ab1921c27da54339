import { chat } from '../../wire/chat-completions.ts'
import { responses } from '../../wire/responses.ts'
import type { ClientKind } from '../generated-client/client.ts'
import { observeClient, unobserveClient } from '../generated-client/observe-client.ts'
import type { ObserveOptions } from '../generated-client/options.ts'
import { watchSessions } from './hosted-agents.ts'
import { turnsHere, watchRunners } from './tool-runner.ts'

const OPENAI: ClientKind = {
  name: 'openai',
  observer: 'observeOpenAI',
  has: ['chat', 'responses'],
  majors: [6, 7],
  apis: {
    '/chat/completions': { format: chat },
    '/responses': { format: responses },
    '/responses?beta=true': { format: responses },
    '/responses/compact': { format: responses, compacts: true },
    '/responses/compact?beta=true': { format: responses, compacts: true },
    '/completions': { format: chat, operationName: 'text_completion' },
    '/embeddings': { format: chat, operationName: 'embeddings' },
    // Of `groq-sdk`, whose client is the same but for these.
    '/openai/v1/chat/completions': { format: chat },
    '/openai/v1/embeddings': { format: chat, operationName: 'embeddings' },
  },
  looks: /^\/responses\/([^/?]+)(?:\/cancel)?(?:\?|$)/,
  maker: turnsHere,
  also: [watchRunners, watchSessions],
}

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
 * responses over a WebSocket, assistants, what the model of a hosted agent is asked.
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
  return observeClient(client, options, OPENAI)
}

/** Leaves the client as it was before `observeOpenAI`. Calls in flight are watched to their end. */
export function unobserveOpenAI<C extends object>(client: C): C {
  return unobserveClient(client, OPENAI)
}
