import type { ObservedRun } from '../sdk-run/observed-run.ts'
import { before } from './attach.ts'
import { beginCalls, type Host } from './begin-run.ts'
import { generated, messagesOf } from './observe-text.ts'
import { observeModel } from './observed-model.ts'
import type { SdkArguments, SdkFunction } from './sdk.ts'
import { withoutSpans } from './telemetry.ts'

/** `generateObject`: a run of one step, unless it is part of another run. */
export function observeGenerateObject(sdk: SdkFunction, host: Host, gateway: unknown): SdkFunction {
  return async (args, ...more) => {
    const run = beginCalls(host, args ?? {})
    return generated(run, async () => {
      const given = withInput(args, await run.admit(), run)
      const call = { ...given, ...oneStep(run, host, args, gateway) }
      return run.run(() => sdk(call, ...more))
    })
  }
}

/** `streamObject`: its run ends when the object is there, or its reader has left. */
export function observeStreamObject(sdk: SdkFunction, host: Host, gateway: unknown): SdkFunction {
  return (args, ...more) => {
    const run = beginCalls(host, args ?? {})
    run.onLeft = () => void run.end()
    const failed = ({ error }: { readonly error: unknown }) => run.fail(error)
    // Also of what is no object, or not the one that was asked for.
    const finished = ({ error }: { readonly error?: unknown }) =>
      error === undefined ? run.end() : run.fail(error)
    const call = {
      ...args,
      ...admittedLate(run, args ?? {}),
      ...oneStep(run, host, args, gateway),
      onFinish: before(finished, args.onFinish),
      onError: before(failed, args.onError ?? logged),
    }
    try {
      return run.run(() => sdk(call, ...more))
    } catch (error) {
      void run.fail(error)
      throw error
    }
  }
}

/**
 * It gives its result at once, and waits for nobody before it has begun: what gates make of the input is put into the list that the
 * SDK reads after its first callback.
 */
function admittedLate(run: ObservedRun, args: SdkArguments): Partial<SdkArguments> {
  const { prompt, messages, onStart = args.experimental_onStart } = args
  const given = prompt ?? messages
  if (typeof given !== 'string' && !Array.isArray(given)) return {}
  const list: unknown[] = typeof given === 'string' ? messagesOf(given) : [...given]
  const admit = async () => {
    const input = await run.admit()
    if (input !== run.input) list.splice(0, list.length, ...messagesOf(input))
  }
  const theirs = typeof onStart === 'function' && ((event: object) => onStart({ ...event, prompt, messages }))
  return { [prompt == null ? 'messages' : 'prompt']: list, onStart: before(admit, theirs || undefined) }
}

/** What the SDK does where nothing is said. */
const logged = ({ error }: { readonly error: unknown }) => console.error(error)

function withInput(args: SdkArguments, input: unknown, run: ObservedRun): SdkArguments {
  if (input === run.input) return args
  return { ...args, ...(args.prompt === undefined ? { messages: input } : { prompt: input }) }
}

function oneStep(run: ObservedRun, host: Host, args: SdkArguments, gateway: unknown): Partial<SdkArguments> {
  return {
    ...(host.omitSdkSpans && withoutSpans(args)),
    model: observeModel(args.model, run, gateway),
    onStepStart: before(() => run.beginStep(), args.onStepStart ?? args.experimental_onStepStart),
  }
}

/** Where `embed`, `embedMany` and `rerank` have what they are about. */
const INPUTS = ['value', 'values', 'query'] as const

/** What asks a model that says nothing: model calls of the run that is going on, or of one of their own. */
function observeValues(kind: 'embeddingModel' | 'rerankingModel') {
  return (sdk: SdkFunction, host: Host, gateway: unknown): SdkFunction =>
    async (args, ...more) => {
      const key = INPUTS.find((name) => args?.[name] !== undefined)
      const run = beginCalls(host, args ?? {}, key && args[key])
      return generated(run, async () => {
        const input = await run.admit()
        const model = observeModel(args.model, run, gateway, kind)
        const admitted = key !== undefined && input !== run.input ? { ...args, [key]: input } : args
        return run.run(() =>
          sdk({ ...admitted, ...(host.omitSdkSpans && withoutSpans(args)), model }, ...more),
        )
      })
    }
}

/** `embed` and `embedMany`. */
export const observeEmbed = observeValues('embeddingModel')

export const observeRerank = observeValues('rerankingModel')
