import type { CompleteInit } from '../../dispatcher/index.ts'
import { defined } from '../../internal/objects.ts'
import { generateContent } from '../../wire/generate-content.ts'
import { asList, asObject, asText } from '../../wire/reading.ts'
import type { ObserveOptions } from '../generated-client/options.ts'
import { instructionIn } from '../instruction.ts'
import { currentCalls } from '../safe/calls.ts'
import { SdkLoop } from '../sdk-loop/sdk-loop.ts'
import { withOwn } from '../sdk-loop/with-own.ts'
import { isToldOf } from '../told-model-call.ts'
import { whenGone } from '../when-gone.ts'
import { isCallable, watchTools } from './callable-tool.ts'
import { GOOGLE_GENAI_CAPABILITIES } from './capabilities.ts'
import type { Params } from './types.ts'

/** A question to the model, or a run of automatic function calling. */
export async function generate(
  ask: (params: Params) => Promise<unknown>,
  params: Params,
  options: ObserveOptions,
): Promise<unknown> {
  if (isTold(params, options)) return ask(params)
  const loop = await begin(params, options)
  try {
    const response = await loop.run(() => ask(watched(params, loop)))
    await loop.complete(endOf([response], loop))
    return response
  } catch (error) {
    await loop.fail(error, params.config?.abortSignal)
    throw error
  }
}

/** The same, streamed. */
export async function generateStream(
  ask: (params: Params) => Promise<AsyncGenerator<unknown>>,
  params: Params,
  options: ObserveOptions,
): Promise<AsyncGenerator<unknown>> {
  if (isTold(params, options)) return ask(params)
  const loop = await begin(params, options)
  try {
    const chunks = await loop.run(() => ask(watched(params, loop)))
    if (!loop.ownsRun && !runsTools(params)) return chunks
    const reading = endingUnread(read(chunks, loop, params), chunks, loop)
    whenGone(reading, () => loop.left())
    return reading
  } catch (error) {
    await loop.fail(error, params.config?.abortSignal)
    throw error
  }
}

/** Each chunk is asked for as part of the loop, whose run ends with the stream. */
async function* read(
  chunks: AsyncGenerator<unknown>,
  loop: SdkLoop,
  params: Params,
): AsyncGenerator<unknown> {
  // The last turn's, which is what the run said.
  let said: unknown[] = []
  let left = true
  try {
    for (;;) {
      const chunk = await loop.run(() => chunks.next())
      if (chunk.done) break
      const isAnswer = asObject(asList(asObject(chunk.value)?.candidates)[0])?.content
      if (asObject(isAnswer)?.role === 'user') said = []
      else said.push(chunk.value)
      yield chunk.value
    }
    left = false
    await loop.complete(endOf(said, loop))
  } catch (error) {
    left = false
    await loop.fail(error, params.config?.abortSignal)
    throw error
  } finally {
    if (left) {
      await loop.run(() => chunks.return(undefined))
      await loop.complete({})
    }
  }
}

/** A generator that is left before it began runs nothing of its own. */
function endingUnread(
  reading: AsyncGenerator<unknown>,
  chunks: AsyncGenerator<unknown>,
  loop: SdkLoop,
): AsyncGenerator<unknown> {
  const { next, return: leave } = reading
  let begun = false
  reading.next = (...given) => {
    begun = true
    return next.apply(reading, given)
  }
  reading.return = async (value) => {
    if (!begun) {
      begun = true
      await chunks.return(undefined)
      await loop.complete({})
    }
    return leave.call(reading, value)
  }
  return reading
}

function runsTools({ config }: Params): boolean {
  const { automaticFunctionCalling, tools } = config ?? {}
  const { disable, maximumRemoteCalls: most } = asObject(automaticFunctionCalling) ?? {}
  // With a number that is none of calls the SDK leaves them to its caller, too.
  const isOff = disable === true || (typeof most === 'number' && !(Number.isInteger(most) && most > 0))
  return !isOff && asList(tools).some(isCallable)
}

/** Whether it is a single question that somebody else has told of. */
const isTold = (params: Params, { dispatcher }: ObserveOptions) => !runsTools(params) && isToldOf(dispatcher)

function begin(
  params: Params,
  { dispatcher, operation, operationOf, agentName }: ObserveOptions,
): Promise<SdkLoop> {
  const { contents, config } = params
  const turns = runsTools(params)
  const place =
    operation ?? (turns || currentCalls(dispatcher) !== undefined ? undefined : operationOf?.({ contents }))
  return SdkLoop.begin({
    dispatcher,
    operation: place,
    ...(turns && {
      adapter: { name: 'google-genai', capabilities: GOOGLE_GENAI_CAPABILITIES },
      signal: config?.abortSignal,
    }),
    instruction: instructionIn(contents) ?? '',
    input: contents,
    ...defined({ agentName, instructions: textOf(config?.systemInstruction) || undefined }),
  })
}

/** The user's own object is the one that the SDK changes, where it does. */
function watched(given: Params, loop: SdkLoop): Params {
  const params = loop.input === given.contents ? given : withOwn(given, { contents: loop.input })
  if (!runsTools(params) || params.config?.tools === undefined) return params
  const tools = watchTools(params.config.tools, loop)
  return withOwn(params, { config: withOwn(params.config, { tools }) })
}

function endOf(said: readonly unknown[], { hasTurns }: SdkLoop): CompleteInit {
  const collector = generateContent.collector()
  for (const chunk of said) collector.push(asObject(chunk) ?? {})
  const { content, toolCalls = [] } = generateContent.read(collector.reply()).response
  return {
    ...defined({ content }),
    ...(hasTurns && toolCalls.length > 0 && { reason: 'max_steps' }),
  }
}

function textOf(content: unknown): string {
  const parts = asObject(content)?.parts ?? content
  return (
    asText(parts) ??
    asList(parts)
      .map((part) => asText(asObject(part)?.text) ?? asText(part) ?? '')
      .join('')
  )
}
