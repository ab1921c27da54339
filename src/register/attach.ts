import type * as AiSdk from '../adapters/ai-sdk/index.ts'
import type * as Anthropic from '../adapters/anthropic/index.ts'
import type * as OpenAI from '../adapters/openai/index.ts'
import type * as OpenAIAgents from '../adapters/openai-agents/index.ts'
import type { HookDispatcher } from '../dispatcher/index.ts'
import { errorMessage } from '../internal/errors.ts'
import type { Loaded } from './module-hooks.ts'
import { requireOwn } from './require-own.ts'
import type { RunBounds } from './run-bounds.ts'
import { tell } from './tell.ts'

export interface Attaching {
  readonly dispatcher: HookDispatcher
  readonly bounds: RunBounds
  /** What was attached: names and versions. */
  readonly attached: Set<string>
}

type Attach = (exports: Loaded['exports'], to: Attaching) => Loaded['exports'] | undefined

interface Attachable {
  /** Versions that were tried; of others is told that they are not attached. */
  readonly versions: RegExp
  readonly attach: Attach
}

const adapter = <T>(name: string): T => requireOwn(`../adapters/${name}/index.js`)

const ATTACHABLE: Readonly<Record<string, Attachable>> = {
  openai: {
    versions: /^[67]\./,
    attach: eachClient('OpenAI', (client, { dispatcher, bounds }) =>
      adapter<typeof OpenAI>('openai').observeOpenAI(client, { dispatcher, operationOf: bounds.operationOf }),
    ),
  },
  '@anthropic-ai/sdk': {
    versions: /^1\./,
    attach: eachClient('Anthropic', (client, { dispatcher, bounds }) =>
      adapter<typeof Anthropic>('anthropic').observeAnthropic(client, {
        dispatcher,
        operationOf: bounds.operationOf,
      }),
    ),
  },
  '@openai/agents-core': {
    versions: /^0\.20\./,
    attach: (exports, { dispatcher }) =>
      void adapter<typeof OpenAIAgents>('openai-agents').observeAgents(exports, { dispatcher }),
  },
  ai: {
    versions: /^7\./,
    attach: (exports, { dispatcher }) =>
      adapter<typeof AiSdk>('ai-sdk').observeAISDK(exports, { dispatcher }) as Loaded['exports'],
  },
}

/** Attaches a package that the program has loaded, or says in one line why not. */
export function attach({ name, version, exports }: Loaded, to: Attaching): Loaded['exports'] | undefined {
  const known = ATTACHABLE[name]
  if (known === undefined) return undefined
  const what = `${name} ${version ?? 'of unknown version'}`
  if (version === undefined || !known.versions.test(version)) {
    tell(`${what} is not attached: hookspan knows ${known.versions.source.replace(/[\\^]/g, '')}x.`)
    return undefined
  }
  const given = known.attach(exports, to)
  to.attached.add(what)
  return given
}

type Client = Record<string, (...args: unknown[]) => unknown>

/** The clients of a class, each when it makes its first request: it is then that it is what it will be. */
function eachClient(className: string, observe: (client: Client, to: Attaching) => unknown): Attach {
  return (exports, to) => {
    const { prototype } = (exports[className] ?? exports.default) as { prototype: Client }
    const seen = new WeakSet<Client>()
    const { post } = prototype
    if (typeof post !== 'function') throw new TypeError(`its ${className} has no post()`)
    prototype.post = function (this: Client, ...args: unknown[]) {
      if (seen.has(this)) return post.apply(this, args)
      seen.add(this)
      try {
        observe(this, to)
      } catch (error) {
        // Observed by the program itself, most likely.
        tell(`a client of ${className} is not attached: ${errorMessage(error)}`)
      }
      return this.post?.(...args)
    }
    return undefined
  }
}
