import type { LlmCallInit } from '../../dispatcher/index.ts'
import { HookspanError } from '../../internal/errors.ts'
import { defined } from '../../internal/objects.ts'
import { interactions } from '../../wire/interactions.ts'
import { asObject, type Loose } from '../../wire/reading.ts'
import { BackgroundReply } from '../background-replies.ts'
import type { SafeCalls } from '../safe/calls.ts'
import type { SdkLoop } from '../sdk-loop/sdk-loop.ts'

/**
 * Asks for an interaction that Google makes in the background, as most of its agents only do.
 *
 * @param loop ends when it is made, if it is one of its own.
 * @returns the interaction, or that it goes on.
 */
export async function askInBackground(
  calls: SafeCalls,
  init: LlmCallInit<unknown>,
  create: LlmCreate,
  loop: SdkLoop,
): Promise<unknown> {
  const call = calls.openLlmCall<unknown>(init)
  const decided = await call.decided
  if (decided.state === 'answered') return decided.reply
  const { request, signal, gated } = decided
  let answer: unknown
  try {
    answer = await call.run(() => create(request, signal))
  } catch (error) {
    call.fail(error)
    throw error
  }
  const end = loop.ownsRun ? () => void loop.complete({}).catch(() => {}) : undefined
  const finish = loop.ownsRun ? { finish: finishing(loop) } : {}
  const begun = BackgroundReply.begins(answer, { format: interactions, init, call, gated, end, ...finish })
  return begun ? new GoesOn(answer) : call.settle(answer)
}

/** What is told of an interaction that is not made yet. */
export class GoesOn {
  readonly interaction: unknown

  constructor(interaction: unknown) {
    this.interaction = interaction
  }
}

type LlmCreate = (request: Loose, signal: AbortSignal | undefined) => Promise<unknown>

export const said = (reply: unknown) =>
  defined({ content: interactions.read(asObject(reply) ?? {}).response.content })

/** A loop of its own ends with the reply. */
const finishing = (loop: SdkLoop) => async (reply: Promise<unknown>) => {
  try {
    const given = await reply
    await loop.complete(said(given))
    return given
  } catch (error) {
    await loop.fail(error)
    throw error
  }
}

/**
 * What somebody sees who looks whether an interaction is made.
 *
 * @param begin a loop for where the code runs now, if the run that asked is over.
 */
export async function look(
  reply: BackgroundReply,
  get: () => Promise<unknown>,
  streams: boolean,
  begin: () => Promise<SdkLoop>,
): Promise<unknown> {
  if (streams) {
    if (!reply.gated) return get()
    throw new HookspanError(
      'CALL_DENIED',
      'A gate decides on the interaction, and one that is made in the background is not held back as a stream. Get it without `stream`.',
    )
  }
  const value = await get()
  let late: SdkLoop | undefined
  const seen = reply.seen(value, async () => {
    late = await begin()
    return late.turn()
  })
  if (!(seen instanceof Promise)) return seen
  try {
    const given = await seen
    return late === undefined ? given : await finishing(late)(Promise.resolve(given))
  } catch (error) {
    await late?.fail(error)
    throw error
  }
}
