import type { ObserveOptions } from '../adapters/generated-client/options.ts'
import type { HookDispatcher } from '../dispatcher/index.ts'
import { currentModelCall } from '../dispatcher/run/live-calls.ts'
import type { Loaded } from './module-hooks.ts'
import { type RunBounds, scriptName } from './run-bounds.ts'
import { tell } from './tell.ts'
import { attached, notAttached } from './unattached.ts'

export interface Attaching {
  readonly dispatcher: HookDispatcher
  readonly bounds: RunBounds
}

export type Attach = (exports: Loaded['exports'], to: Attaching) => Loaded['exports'] | undefined

type Client = Record<string, (...args: unknown[]) => unknown>

/** The objects of a class, each when one of these methods of it is called for the first time. */
export function eachCalled(
  className: string,
  methods: readonly string[],
  observe: (object: Client, to: Attaching) => unknown,
  seen = new WeakSet<Client>(),
): Attach {
  return (exports, to) => {
    const { prototype } = (exports[className] ?? exports.default) as { prototype: Client }
    if (typeof prototype[methods[0] ?? ''] !== 'function') {
      throw new TypeError(`its ${className} has no ${methods[0]}()`)
    }
    for (const method of methods) {
      const own = prototype[method]
      if (typeof own !== 'function') continue
      prototype[method] = function (this: Client, ...args: unknown[]) {
        if (seen.has(this)) return own.apply(this, args)
        const isAttached = attached(`an object of ${className}`, to.dispatcher, () => observe(this, to))
        // One that is refused is refused as often as it is called.
        seen.add(this)
        if (!isAttached) return own.apply(this, args)
        // Where the class itself is observed, not what a class of the user's makes of it once more.
        const observed = Object.hasOwn(this, method) ? this[method] : prototype[method]
        return observed?.apply(this, args)
      }
    }
    return undefined
  }
}

/** The classes of a client's resources, which it has as its own fields. */
interface ClientClass {
  readonly Chat?: { readonly Completions?: Resource }
  readonly Messages?: Resource
  readonly Beta?: {
    readonly Agents?: { readonly Sessions?: Resource }
    readonly Messages?: Resource
    readonly Sessions?: { readonly Events?: Resource }
    readonly Environments?: { readonly Work?: Resource }
  }
}

interface Resource {
  readonly prototype: Runners
}

type Runners = Client & { readonly _client: Client }

/** The client's own resource, of one that somebody has copied: what observes a client is put there. */
type Own = (client: ClientResources) => Client | undefined

interface ClientResources {
  readonly chat?: { readonly completions?: Client }
  readonly messages?: Client
  readonly beta?: {
    readonly agents?: { readonly sessions?: Client }
    readonly messages?: Client
    readonly sessions?: { readonly events?: Client }
    readonly environments?: { readonly work?: Client }
  }
}

/** Likewise; and the runs of tools of a client are seen from the first one on, which is before its first request. */
export function eachClientAndRunner(
  className: string,
  runnersOf: (of: ClientClass) => readonly (readonly [of: Resource | undefined, method: string, own: Own])[],
  observe: (client: Client, options: ObserveOptions) => unknown,
): Attach {
  const known = new WeakSet<object>()
  return (exports, to) => {
    const { dispatcher, bounds } = to
    const prototype = ownerOf((exports[className] ?? exports.default) as { prototype: Client }, 'post')
    // Its file has been heard of, and now its package, or the other way round.
    if (known.has(prototype)) return undefined
    const seen = new WeakSet<Client>()
    const options = { dispatcher, operationOf: bounds.operationOf, agentName: scriptName() }
    const observed = (client: Client) => observe(client, options)
    for (const [of, method, ownOf] of runnersOf((exports[className] ?? exports.default) as ClientClass)) {
      const runners: Client | undefined = of?.prototype
      const own = runners?.[method]
      if (runners === undefined || typeof own !== 'function') continue
      runners[method] = function (this: Runners, ...args: unknown[]) {
        const isNew = !seen.has(this._client)
        const isAttached =
          isNew && attached(`an object of ${className}`, dispatcher, () => observed(this._client))
        seen.add(this._client)
        const whole = ownOf(this._client)
        // A copy that somebody made to wrap its calls (LangSmith's `wrapOpenAI()`) has nothing of what observes it.
        const isCopy = whole !== undefined && whole !== this && Object.hasOwn(whole, method)
        if (isCopy) return whole[method]?.(...args)
        return isAttached ? this[method]?.(...args) : own.apply(this, args)
      }
    }
    const { withOptions } = prototype
    if (typeof withOptions === 'function') {
      prototype.withOptions = function (this: Client, ...args: unknown[]) {
        const made = withOptions.apply(this, args) as Client
        // Of one that is observed it is observed, too: once.
        if (seen.has(this) && Object.hasOwn(this, 'withOptions')) seen.add(made)
        return made
      }
    }
    // At its first request it is what it will be.
    eachCalled(className, ['post'], observed, seen)({ [className]: { prototype } }, to)
    known.add(prototype)
    return undefined
  }
}

/**
 * A client that a package brings may be asked by an agent that is attached, which tells of that itself (LangChain's of
 * Anthropic). Whatever else it is asked is not told.
 *
 * @returns whether there is such a class.
 */
export function untold(exports: Loaded['exports'], { dispatcher }: Attaching, why: string): boolean {
  const {
    OpenAI,
    Anthropic,
    default: own,
  } = exports as {
    [className: string]: { prototype?: Client } | undefined
  }
  const owner = ownerOf({ prototype: (OpenAI ?? Anthropic ?? own)?.prototype ?? {} }, 'post')
  const { post } = owner
  if (typeof post !== 'function') return false
  owner.post = function (this: Client, ...args) {
    if (currentModelCall() === undefined) {
      // What is thrown here many try again, for a minute.
      tell(why)
      notAttached(dispatcher, why)
    }
    return post.apply(this, args)
  }
  return true
}

/** Where a method is that a class has: clients of Bedrock and Vertex have it of the same class as Anthropic's own. */
function ownerOf({ prototype }: { readonly prototype: Client }, method: string): Client {
  for (let owner = prototype; owner !== null; owner = Object.getPrototypeOf(owner)) {
    if (Object.hasOwn(owner, method)) return owner
  }
  return prototype
}

type Class = new (...args: unknown[]) => object

/** The objects of a class, each when it is made. */
export function eachNew(className: string, observe: (object: object, to: Attaching) => unknown): Attach {
  return (exports, to) => {
    const own = exports[className] as Class
    const observed = new Proxy(own, {
      construct(target, args, made) {
        const object = Reflect.construct(target, args, made) as object
        attached(`a ${className}`, to.dispatcher, () => observe(object, to))
        return object
      },
    })
    return { [className]: observed }
  }
}
