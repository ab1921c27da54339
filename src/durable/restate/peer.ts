import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { HookspanError } from '../../internal/errors.ts'

/** What is used of `@restatedev/restate-sdk`. */
export interface RestateSdk {
  workflow(definition: {
    readonly name: string
    readonly handlers: Readonly<Record<string, (ctx: never, input: never) => Promise<unknown>>>
    readonly options?: object
  }): unknown
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
}

/**
 * The one that the program imports, whose server knows only the handlers that it made itself: `require` would load a second
 * one, because the package has another file for it.
 *
 * @throws HookspanError `MISSING_DEPENDENCY`.
 */
export function restateSdk(): RestateSdk {
  const name = '@restatedev/restate-sdk'
  try {
    return createRequire(import.meta.url)(fileURLToPath(import.meta.resolve(name))) as RestateSdk
  } catch (error) {
    const { code } = error as { code?: string }
    if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') throw error
    const message = `hookspan/restate needs ${name}, which is not installed. Run: npm install ${name}`
    throw new HookspanError('MISSING_DEPENDENCY', message, { cause: error })
  }
}
