import { asObject, asText, type Loose } from '../../wire/reading.ts'
import type { ObservedRun } from '../sdk-run/observed-run.ts'
import type { SdkArguments } from './sdk.ts'

/** How the SDK reads the last reply of a run, where it is to be more than text. */
interface Output {
  parseCompleteOutput?(given: { text: string }, context: object): unknown
}

interface Expected {
  readonly output: Output
  /** Each way to read a stream's result comes by here. */
  noted?: Promise<void>
}

const all = new WeakMap<ObservedRun, Expected>()

export function expectOutput(run: ObservedRun, args: SdkArguments): void {
  const output = asObject(args.output) as Output | undefined
  if (typeof output?.parseCompleteOutput === 'function') all.set(run, { output })
}

/**
 * Notes the run as failed where its last reply is not what was asked for: `generateText()` throws then, and of a stream nobody is told but
 * who asks for its `output`.
 *
 * @param step the last one.
 */
export async function noteUnfit(run: ObservedRun, step: Loose | undefined): Promise<void> {
  const expected = all.get(run)
  if (expected === undefined || step === undefined || run.isStopped) return
  expected.noted ??= read(expected.output, step).catch((error: unknown) => {
    run.failure ??= { error }
  })
  await expected.noted
}

async function read(output: Output, { text: said, response, usage, finishReason }: Loose): Promise<void> {
  const text = asText(said) ?? ''
  // As `generateText()` does: a reply that asks for tools is none yet.
  if (finishReason !== 'stop' && (finishReason === 'tool-calls' || text === '')) return
  await output.parseCompleteOutput?.({ text }, { response, usage, finishReason })
}
