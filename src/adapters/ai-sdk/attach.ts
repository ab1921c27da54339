import { defined, isRecord } from '../../internal/objects.ts'
import { asName, asObject, asObjects } from '../../wire/reading.ts'
import { stopConditions } from '../sdk-run/loop-limits.ts'
import type { ObservedRun } from '../sdk-run/observed-run.ts'
import { assertInReach, type Host } from './begin-run.ts'
import { observeModel } from './observed-model.ts'
import { ObservedTools } from './observed-tools.ts'
import { answerWaiting, refusedIn, returnedIn, withOutputs } from './resumed-messages.ts'
import type { SdkArguments } from './sdk.ts'
import { withoutSpans } from './telemetry.ts'
import { expectOutput } from './unfit-output.ts'

type Handler = ((event: never) => unknown) | undefined

/** What a step's events are looked at for. */
interface StepEvent {
  readonly stepNumber?: number
  readonly toolCalls?: unknown
}

interface StepOptions {
  readonly model: unknown
  readonly stepNumber: number
  readonly messages?: unknown
}

/**
 * The same call with the run at each place where the SDK asks, tells or acts: its model, its tools and what approves
 * them, its end.
 *
 * @param input what the gates made of the run's input.
 */
export function attached(
  run: ObservedRun,
  host: Host,
  args: SdkArguments,
  gateway: unknown,
  input: unknown = run.input,
): SdkArguments {
  const { tools, model, stopWhen, prepareStep } = args
  const observed = isRecord(tools) ? new ObservedTools(run, tools) : undefined
  // A prompt may be messages, too: `createAgentUIStream` gives an agent those of the browser so.
  const place = Array.isArray(args.prompt) ? 'prompt' : 'messages'
  const refused = refusedIn(args[place])
  const returned = run.resumed === undefined ? [] : returnedIn(args[place], run.resumed)
  expectOutput(run, args)
  if (refused.length > 0) run.refusals = async () => observed?.tellRefused(refused)
  return {
    ...args,
    ...(input !== run.input && inputAs(input, args)),
    ...(run.resumed !== undefined && { [place]: answerWaiting(args[place], run.resumed) }),
    ...(host.omitSdkSpans && withoutSpans(args)),
    model: observeModel(model, run, gateway),
    ...(observed && { tools: observed.tools, toolApproval: observed.approval(args) }),
    stopWhen: stopConditions(run, stopWhen ?? (isForced(args) ? isAsked : isFirstStep)),
    ...((prepareStep || observed) && {
      prepareStep: async (options: StepOptions) => {
        const changed = options.stepNumber === 0 ? await observed?.tellReturned(returned) : undefined
        const messages = changed?.size ? withOutputs(options.messages, changed) : undefined
        const asked = { ...options, ...(messages && { messages }) }
        const prepared = await prepareStep?.({ ...asked, model })
        if (observed) assertInReach(run, observed.refresh())
        const given = messages && { messages, ...(isRecord(prepared) && prepared) }
        return isRecord(prepared) && prepared.model != null
          ? { ...prepared, ...given, model: observeModel(prepared.model, run, gateway) }
          : (given ?? prepared)
      },
    }),
  }
}

/** What the SDK takes where nothing is said. */
const isFirstStep = ({ steps }: { readonly steps: readonly unknown[] }) => steps.length === 1

/** The one call that it was made for ends it, and no limit. */
const isAsked = () => true

function isForced({ toolChoice }: SdkArguments): boolean {
  return toolChoice === 'required' || asObject(toolChoice)?.type === 'tool'
}

function inputAs(input: unknown, { prompt }: SdkArguments): Partial<SdkArguments> {
  return prompt === undefined ? { messages: input } : { prompt: input }
}

/** Callbacks that tell the run of its steps, before the user's own. */
export function stepCallbacks(run: ObservedRun, args: SdkArguments): Partial<SdkArguments> {
  return {
    onStepStart: before(
      (event) => run.beginStep(event.stepNumber),
      args.onStepStart ?? args.experimental_onStepStart,
    ),
    onStepEnd: before((event) => endStep(run, event), args.onStepEnd ?? args.onStepFinish),
  }
}

async function endStep(run: ObservedRun, { stepNumber, toolCalls }: StepEvent): Promise<void> {
  // Of a tool that there is not, or with arguments that its schema refuses: the SDK tells the model, and asks nobody.
  for (const { invalid, providerExecuted, toolName, toolCallId, input, error } of asObjects(toolCalls)) {
    const apiName = asName(toolName)
    if (invalid !== true || providerExecuted === true || apiName === undefined) continue
    const init = { apiName, args: input, ...defined({ toolCallId: asName(toolCallId) }) }
    await (await run.calls()).failedCall(init, error)
  }
  await run.endStep(stepNumber)
}

/** The user's callback is called whatever comes of ours. */
export function before<E = StepEvent>(ours: (event: E) => Promise<unknown>, theirs: Handler): Handler {
  return async (event: E) => {
    // What refuses a run refuses its next call, too: there it is told.
    await ours(event).catch(() => {})
    return theirs?.(event as never)
  }
}
