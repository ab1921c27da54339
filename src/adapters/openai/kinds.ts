import { chat } from '../../wire/chat-completions.ts'
import { responses } from '../../wire/responses.ts'
import { type ClientKind, nameOf } from '../generated-client/client.ts'
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
    // Of those of other providers, which have the whole path in their resources.
    '/openai/v1/chat/completions': { format: chat },
    '/openai/v1/embeddings': { format: chat, operationName: 'embeddings' },
    '/v1/chat/completions': { format: chat },
    '/v1/completions': { format: chat, operationName: 'text_completion' },
  },
  looks: /^\/responses\/([^/?]+)(?:\/cancel)?(?:\?|$)/,
  maker: turnsHere,
  also: [watchRunners, watchSessions],
}

function other(name: string, majors: readonly number[], provider: string): ClientKind {
  const { observer, has, apis } = OPENAI
  return { name, majors, provider, observer, has, apis, isOlder: true }
}

/** Clients of other providers that are the same but for what else they have, by the name under which each asks. */
const OTHERS: Readonly<Record<string, ClientKind>> = {
  Groq: other('groq-sdk', [0, 1], 'groq'),
  Together: other('together-ai', [0], 'together'),
  Cerebras: other('@cerebras/cerebras_cloud_sdk', [1], 'cerebras'),
}

/** What it is, as it says of itself; one of a class of the user's is one of `openai`. */
export function kindOf(client: object): ClientKind {
  return OTHERS[nameOf(client) ?? ''] ?? OPENAI
}
