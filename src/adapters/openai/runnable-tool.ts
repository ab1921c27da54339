import { errorMessage } from '../../internal/errors.ts'
import { defined } from '../../internal/objects.ts'
import { asObject, asText, type Loose, parseArguments } from '../../wire/reading.ts'
import type { SdkLoop } from '../sdk-loop/sdk-loop.ts'
import { withOwn } from '../sdk-loop/with-own.ts'

/** The run that has the tools. */
export interface ToolPlace {
  readonly loop: SdkLoop
  readonly signal: AbortSignal
  /** What a function is given beside its arguments. */
  readonly more: readonly unknown[]
  /** The id of a call that the model has just made. Each is given once. */
  idOf(name: string, text: string): string | undefined
}

/** What is used of a function that the runner runs, with what `parse` makes of the model's text, or with that text. */
interface Runnable {
  readonly name: string
  readonly description: unknown
  readonly parameters: unknown
  readonly parse: ((text: string) => unknown) | undefined
  run(input: unknown, more: readonly unknown[]): unknown
}

/** What stands in the place of both. */
interface Watched {
  readonly parse?: (text: string) => Promise<Parsed>
  readonly run: (input: unknown, ...more: unknown[]) => unknown
}

interface Parsed {
  readonly give: (more: readonly unknown[]) => Promise<unknown>
}

/** Tools whose functions run as tool calls. What the runner does not run itself stays as it is. */
export function watchTools(tools: readonly unknown[], place: ToolPlace): unknown[] {
  return tools.map((tool) => {
    const made = asObject(tool)
    const told = asObject(made?.function)
    if (made === undefined || told === undefined) return tool
    return typeof made.$callback === 'function' ? ofSchema(made, told, place) : ofFunction(made, told, place)
  })
}

/** What the SDK's helpers make of a schema. */
function ofSchema(tool: Loose, told: Loose, place: ToolPlace): Loose {
  const { run, parse } = watched({ ...ofTold(told), ...partsOf(tool, '$callback', '$parseRaw') }, place)
  return withOwn(tool, { $callback: run, $parseRaw: parse })
}

function ofFunction(tool: Loose, told: Loose, place: ToolPlace): Loose {
  if (typeof told.function !== 'function') return tool
  const name = asText(told.name) || told.function.name
  const { run, parse } = watched({ ...ofTold(told), name, ...partsOf(told, 'function', 'parse') }, place)
  return withOwn(tool, { function: withOwn(told, { name, function: run, ...defined({ parse }) }) })
}

function ofTold({ name, description, parameters }: Loose): Omit<Runnable, 'run' | 'parse'> {
  return { name: asText(name) ?? '', description, parameters }
}

type Methods = Record<string, (...args: readonly unknown[]) => unknown>

/** Called on what they are of. */
function partsOf(of: Loose, run: string, parse: string): Pick<Runnable, 'run' | 'parse'> {
  const methods = of as Methods
  return {
    run: (input, more) => methods[run]?.(input, ...more),
    parse: typeof of[parse] === 'function' ? (text) => methods[parse]?.(text) : undefined,
  }
}

function watched(tool: Runnable, place: ToolPlace): Watched {
  const { parse } = tool
  if (parse === undefined) {
    return {
      run: (text, ...more) =>
        called(tool, place, asText(text) ?? '', async (changed) => tool.run(changed ?? text, more)),
    }
  }
  const again = async (changed: string, more: readonly unknown[]) =>
    tool.run(await fitting(parse, changed), more)
  return {
    async parse(text) {
      let input: unknown
      try {
        input = await parse(text)
      } catch (error) {
        // The model is told what is wrong, and asked again: a call that is in the trace, and that a gate may mend.
        const result = called(tool, place, text, async (changed) => {
          if (changed === undefined) throw error
          return again(changed, place.more)
        })
        await result.catch((thrown: unknown) => {
          if (thrown === error) throw error
        })
        return { give: () => result }
      }
      const run = (more: readonly unknown[]) => async (changed: string | undefined) =>
        changed === undefined ? tool.run(input, more) : again(changed, more)
      return { give: (more) => called(tool, place, text, run(more)) }
    },
    run: (parsed, ...more) => (parsed as Parsed).give(more),
  }
}

/** Arguments that are no longer the model's, and that the tool does not take. */
const misfits = new WeakSet<object>()

async function fitting(parse: (text: string) => unknown, changed: string): Promise<unknown> {
  try {
    return await parse(changed)
  } catch (error) {
    if (typeof error === 'object' && error !== null) misfits.add(error)
    throw error
  }
}

/**
 * Makes the call. `body` is told the text of arguments that are no longer the model's.
 *
 * @returns what the runner makes the tool's message of: what the tool gave, as long as nobody changed it.
 */
async function called(
  { name, description, parameters }: Runnable,
  { loop, idOf, signal }: ToolPlace,
  text: string,
  body: (changed: string | undefined) => Promise<unknown>,
): Promise<unknown> {
  const args = parseArguments(text)
  const asked = JSON.stringify(args)
  const told = {
    toolCallId: idOf(name, text),
    description: asText(description),
    inputSchema: asObject(parameters),
  }
  let gave: unknown
  const init = { apiName: name, args, outlastsAbort: true, ...defined(told) }
  const outcome = await loop.tool<unknown, unknown>(init, async (now) => {
    // The abort came while gates decided: the SDK begins no tool after one.
    if (signal.aborted) throw new DOMException('The run was aborted before its tool began.', 'AbortError')
    const said = typeof now === 'string' ? now : JSON.stringify(now)
    gave = await body(JSON.stringify(now) === asked ? undefined : said)
    return gave
  })
  if (outcome.state === 'errored') {
    // As the runner says it of the model's own.
    if (misfits.has(outcome.error as object)) return errorMessage(outcome.error)
    throw outcome.error
  }
  return outcome.state === 'completed' && outcome.result === gave ? gave : outcome.toToolMessage().content
}
