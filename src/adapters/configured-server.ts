import { isRecord } from '../internal/objects.ts'
import { type ModelServer, modelServer } from '../wire/model-server.ts'

/**
 * Where models of SDKs keep the address that they call: a client's own first, since it is what is called, then what was
 * configured.
 */
const PLACES: readonly (readonly string[])[] = [
  // LangChain's models of OpenAI, Groq and their like, once they have a client
  ['client', 'baseURL'],
  ['completions', 'client', 'baseURL'],
  // the AI SDK's providers
  ['config', 'baseURL'],
  ['config', 'baseUrl'],
  ['config', 'url'],
  // LangChain's models, and what they tell of themselves to callbacks
  ['clientConfig', 'baseURL'],
  ['configuration', 'baseURL'],
  ['clientOptions', 'baseURL'],
  ['azureOpenAIEndpoint'],
  ['apiUrl'],
  ['baseURL'],
  ['baseUrl'],
  ['base_url'],
  ['serverURL'],
]

/**
 * Who is called, with the host and the port as far as the model says so. What its SDK calls `openai` may be any server that
 * speaks like it, and its host tells whose. Reads the model and calls at most the function by which providers of the AI SDK make
 * their address.
 */
export function configuredServer(model: unknown, provider: string): ModelServer {
  for (const path of PLACES) {
    const address = addressAt(model, path)
    if (address === undefined) continue
    const server = modelServer(address)
    if (server.serverAddress !== undefined)
      return { ...server, provider: provider === 'openai' ? server.provider : provider }
  }
  return { provider }
}

function addressAt(model: unknown, path: readonly string[]): string | undefined {
  try {
    let value: unknown = model
    for (const key of path) value = isRecord(value) ? value[key] : undefined
    if (typeof value === 'function') {
      const { modelId } = model as { modelId?: unknown }
      value = value({ path: '/', modelId })
    }
    return typeof value === 'string' && /^https?:\/\//.test(value) ? value : undefined
  } catch {
    return undefined
  }
}
