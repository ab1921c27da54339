import { asObjects, type Loose } from '../../wire/reading.ts'
import type { ObservedRun } from '../sdk-run/observed-run.ts'
import { rememberRun } from '../sdk-run/parked-run.ts'
import { attached, before, stepCallbacks } from './attach.ts'
import { beginRun, type Host } from './begin-run.ts'
import type { SdkArguments, SdkFunction } from './sdk.ts'
import { watchResult } from './stream-result.ts'
import { isTimeUp } from './time-up.ts'
import { noteUnfit } from './unfit-output.ts'

/** `generateText`. */
export function observeGenerate(sdk: SdkFunction, host: Host, gateway: unknown): SdkFunction {
  return async (args, ...more) => {
    const run = beginRun(host, args ?? {})
    return generated(run, async () => {
      const input = await run.admit()
      const given = { ...attached(run, host, args, gateway, input), ...stepCallbacks(run, args) }
      return run.run(() => sdk(given, ...more))
    })
  }
}

/** Ends the run with what the SDK gives or throws. */
export async function generated(run: ObservedRun, generate: () => Promise<unknown>): Promise<unknown> {
  let result: unknown
  try {
    result = await generate()
  } catch (error) {
    await (isTimeUp(run) ? run.interrupt() : run.fail(error))
    throw error
  }
  rememberRun(result, run.parked)
  if (run.isPart) return result
  const { text } = result as { readonly text?: unknown }
  const refusal = await run.end(typeof text === 'string' ? text : undefined)
  if (refusal !== undefined) throw refusal
  return result
}

/** `streamText`, which gives its result at once. */
export function observeStream(sdk: SdkFunction, host: Host, gateway: unknown): SdkFunction {
  return (args, ...more) => {
    const run = beginRun(host, args ?? {})
    try {
      const given = { ...streamed(run, attached(run, host, args, gateway)), ...streamCallbacks(run, args) }
      const result = run.run(() => sdk(given, ...more))
      watchResult(result, run)
      return result
    } catch (error) {
      void run.fail(error)
      throw error
    }
  }
}

/** The gates on the input decide before the first step: nothing can wait for them earlier. */
function streamed(run: ObservedRun, args: SdkArguments): SdkArguments {
  const { prepareStep } = args
  return {
    ...args,
    prepareStep: async (options: StepOptions) => {
      if (options.stepNumber > 0) return prepareStep?.(options)
      const input = await run.admit()
      if (input === run.input) return prepareStep?.(options)
      // What a user has said since the call began is none of its input.
      const messages = [...messagesOf(input), ...asObjects(options.experimental_steeringMessages)]
      return { messages, ...((await prepareStep?.({ ...options, messages } as never)) ?? {}) }
    },
  }
}

export function streamCallbacks(run: ObservedRun, args: SdkArguments): Partial<SdkArguments> {
  const ended = async (event: Loose & { readonly text?: string }) => {
    await noteUnfit(run, event)
    return run.over(event.text)
  }
  return {
    ...stepCallbacks(run, args),
    onChunk: (event: StreamEvent) => {
      toldIn(event.chunk, run)
      return args.onChunk?.(event as never)
    },
    onEnd: before(ended, args.onEnd ?? args.onFinish),
  }
}

/** What a call is asked, as the SDK makes messages of it. */
export function messagesOf(input: unknown): object[] {
  return typeof input === 'string' ? [{ role: 'user', content: input }] : [...asObjects(input)]
}

interface StepOptions {
  readonly model: unknown
  readonly stepNumber: number
  readonly experimental_steeringMessages?: unknown
}

interface StreamEvent {
  readonly chunk: { readonly type?: string; readonly error?: unknown }
}

/** What ends a stream that is no failure of a model call: messages that are wrong, a callback that throws, a timeout. */
function toldIn({ type, error }: StreamEvent['chunk'], run: ObservedRun): void {
  if (type === 'error') run.failure ??= { error }
  else if (type === 'abort' && !run.signal?.aborted) void run.interrupt()
}
