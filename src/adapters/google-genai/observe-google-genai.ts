import { isWithin } from '../../internal/version-range.ts'
import { FIELDS, type ObserveOptions } from '../generated-client/options.ts'
import { testedRange } from '../peer-range.ts'
import { allOrNone, replace } from '../replace.ts'
import { AttachedObjects } from '../sdk-loop/attached.ts'
import { warnOnce } from '../warn-once.ts'
import { generate, generateStream } from './generate.ts'
import { interact, lookAt } from './interactions.ts'
import { askModel } from './model-call.ts'
import type { Interactions, Models } from './types.ts'

const attached = new AttachedObjects(
  'observeGoogleGenAI',
  'a GoogleGenAI of @google/genai',
  ({ models }: { models?: Partial<Models> }) => typeof models?.generateContent === 'function',
)

/**
 * Makes each request of `models.generateContent()`, `generateContentStream()`, of chats and of `interactions.create()` a model call
 * of the operation that is running, and automatic function calling an agent: its turns are steps, its tools (`CallableTool`, `mcpToTool()`) are
 * tool calls that gates decide on and mocks stand in for. An interaction that is made in the background is one call, up to the
 * `interactions.get()` of this process that first finds it made. Everything else the client does is left alone and not seen:
 * embeddings, images, video, live sessions, decisions, caches, files, batches.
 *
 * @returns the same client.
 * @throws HookspanError `INVALID_OPTION` when the client is none, or is observed by another dispatcher.
 */
export function observeGoogleGenAI<C extends object>(client: C, options: ObserveOptions): C {
  return attached.attach(client, options, FIELDS, () => patch(client, options))
}

/** Leaves the client as it was before `observeGoogleGenAI`. Calls in flight are watched to their end. */
export function unobserveGoogleGenAI<C extends object>(client: C): C {
  return attached.detach(client)
}

const METHODS = [
  'generateContent',
  'generateContentStream',
  'generateContentInternal',
  'generateContentStreamInternal',
] as const

function patch(client: object, options: ObserveOptions): () => void {
  const { models, interactions } = client as { models?: Models; interactions?: Interactions }
  const range = testedRange('@google/genai')
  const missing = METHODS.filter((name) => typeof models?.[name] !== 'function')
  if (models === undefined || missing.length > 0) {
    warnOnce(
      `hookspan cannot observe this client (@google/genai ${versionOf(models) ?? 'of unknown version'}): it has no ` +
        `${missing.map((name) => `\`models.${name}()\``).join(', ')}. Its calls make no hooks and no spans. ` +
        `Use @google/genai ${range ?? 3}, or update hookspan.`,
    )
    return () => {}
  }
  const version = versionOf(models)
  if (version === undefined || (range && !isWithin(version, range))) {
    warnOnce(
      `hookspan knows @google/genai ${range ?? 3}, and this client is ${version ?? 'of unknown version'}. ` +
        'It is observed as if it were one of those: check that its calls show up, or update hookspan.',
    )
  }
  const { generateContent, generateContentStream } = models
  const { generateContentInternal: ask, generateContentStreamInternal: askStream } = models
  const { provider, dispatcher } = options
  const create = interactions?.create?.bind(interactions)
  return allOrNone(
    () =>
      replace(models, 'generateContent', (params) => generate(generateContent.bind(models), params, options)),
    () =>
      replace(models, 'generateContentStream', (params) =>
        generateStream(generateContentStream.bind(models), params, options),
      ),
    () =>
      replace(models, 'generateContentInternal', (params) =>
        askModel(models, params, ask, { streams: false, provider, dispatcher }),
      ),
    () =>
      replace(
        models,
        'generateContentStreamInternal',
        (params) =>
          askModel(models, params, askStream, { streams: true, provider, dispatcher }) as Promise<
            AsyncGenerator<unknown>
          >,
      ),
    () =>
      interactions === undefined || create === undefined
        ? () => {}
        : replace(interactions, 'create', (params, given) =>
            interact(create, models.apiClient, params, given, options),
          ),
    ...(['get', 'cancel'] as const).map((method) => () => {
      const own = interactions?.[method]?.bind(interactions)
      if (interactions === undefined || own === undefined) return () => {}
      return replace(interactions, method, (id, params, given) => lookAt(own, id, params, given, options))
    }),
  )
}

/** The client's own word for its version. */
function versionOf(models: Models | undefined): string | undefined {
  const said = Object.values(models?.apiClient?.getDefaultHeaders?.() ?? {}).join(' ')
  return /google-genai-sdk\/(\d+\.\d+\.\d+\S*)/.exec(said)?.[1]
}
