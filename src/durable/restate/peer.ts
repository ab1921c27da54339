import { fileURLToPath } from 'node:url'
import { HookspanError } from '../../internal/errors.ts'
import { peerFinder } from '../../internal/require-peer.ts'

const NAME = '@restatedev/restate-sdk'

/** What is used of `@restatedev/restate-sdk`. */
export interface RestateSdk {
  workflow(definition: {
    readonly name: string
    readonly handlers: Readonly<Record<string, (ctx: never, input: never) => Promise<unknown>>>
    readonly options?: object
  }): unknown
  readonly handlers: {
    readonly workflow: {
      workflow<A extends unknown[], T>(
        options: { readonly hooks: readonly unknown[] },
        handler: (...args: A) => Promise<T>,
      ): (...args: A) => Promise<T>
    }
  }
  readonly TerminalError: new (message: string, options: { errorCode: number; cause: unknown }) => Error
  readonly RestatePromise: { race(promises: readonly RestatePromise[]): RestatePromise }
}

export interface RestatePromise extends PromiseLike<unknown> {
  orTimeout(timeoutMs: number): RestatePromise
}

export interface RestateContext {
  readonly key: string
  run<T>(name: string, closure: () => Promise<T>): Promise<T>
  promise(name: string): {
    get(): RestatePromise
    peek(): Promise<unknown>
    resolve(value: unknown): Promise<void>
  }
  request(): { readonly attemptCompletedSignal: AbortSignal }
  /** The SDK's own: what it does when Restate closes the request. Without it Restate is waited for. */
  readonly coreVm?: { notify_input_closed?(): void }
}

/**
 * The one that the program has loaded, whose server knows only the handlers that it made itself: the package has a file
 * for `import` and another one for `require`, and a bundle may have it inside.
 *
 * @throws HookspanError `MISSING_DEPENDENCY`.
 */
export function restateSdk(): RestateSdk {
  const require = peerFinder(NAME, 'hookspan/restate')
  const common = require.resolve(NAME)
  if (require.cache[common] !== undefined) return require(common) as RestateSdk
  // A bundle of CommonJS has no such function.
  if (typeof import.meta.resolve === 'function') {
    return require(fileURLToPath(import.meta.resolve(NAME))) as RestateSdk
  }
  throw new HookspanError(
    'MISSING_DEPENDENCY',
    `hookspan/restate needs the ${NAME} that the program serves it with, and it has loaded none outside of its bundle. ` +
      'Leave it out of the bundle, as an external package.',
  )
}
