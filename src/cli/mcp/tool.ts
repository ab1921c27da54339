/** What a tool of the MCP server is: told to the model, held to its arguments, and run. */
import { a, assertFields, type Fields, required, type Shape } from '../../internal/expect.ts'
import type { RunSource, RunWithRows } from '../../viewer/run-source.ts'
import { findRun } from '../run-source.ts'
import type { Answer, Asked } from './answer.ts'

export interface Argument {
  readonly shape: Shape
  /** JSON Schema, with a description. */
  readonly schema: Readonly<Record<string, unknown>>
}

export interface ToolHelp {
  /** Opens the runs for as long as `use` runs: the viewer may start and stop meanwhile. */
  withRuns<T>(use: (source: RunSource) => Promise<T>): Promise<T>
  asked: Asked
}

export interface McpTool {
  readonly name: string
  readonly title: string
  readonly description: string
  /** It changes something. @default false */
  readonly changes?: boolean
  readonly inputSchema: Readonly<Record<string, unknown>>
  /** @throws HookspanError for arguments that are not known, or of another shape. */
  run(args: unknown, help: Omit<ToolHelp, 'asked'>): Promise<string>
}

type Values = Readonly<Record<string, unknown>>

interface ToolInit<A extends Values> {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly changes?: boolean
  readonly args: { readonly [K in keyof Required<A>]: Argument }
  run(args: A, help: ToolHelp): Promise<Answer>
}

/** Of an answer, in characters: some 5,000 tokens. */
const DEFAULT_CHARS = 20_000
const LEAST_CHARS = 1_000
const MOST_CHARS = 100_000

export const text = (description: string): Argument => ({
  shape: a.string,
  schema: { type: 'string', description },
})
const whole = (description: string, least: number, most: number): Argument => ({
  shape: {
    words: `a whole number from ${least} to ${most}`,
    fits: (value) => Number.isInteger(value) && (value as number) >= least && (value as number) <= most,
  },
  schema: { type: 'integer', minimum: least, maximum: most, description },
})
export const oneOf = (description: string, ...names: readonly string[]): Argument => ({
  shape: a.oneOf(...names),
  schema: { type: 'string', enum: names, description },
})
export const flag = (description: string): Argument => ({
  shape: a.boolean,
  schema: { type: 'boolean', description },
})
export const object = (description: string): Argument => ({
  shape: a.object,
  schema: { type: 'object', description },
})
export const needed = ({ shape, schema }: Argument): Argument => ({ shape: required(shape), schema })

export const RUN = text('Id of a run, the beginning of one, or "latest".')

const PAGING = {
  cursor: text('What an answer gave as nextCursor: the rest of it. Give the other arguments as before.'),
  maxChars: whole(`How long the answer may be. Default ${DEFAULT_CHARS}.`, LEAST_CHARS, MOST_CHARS),
}

export function defineTool<A extends Values>(init: ToolInit<A>): McpTool {
  const { name, title, description, changes = false } = init
  const args: Readonly<Record<string, Argument>> = changes ? init.args : { ...init.args, ...PAGING }
  const fields = Object.fromEntries(Object.entries(args).map(([key, { shape }]) => [key, shape]))
  const inputSchema = {
    type: 'object',
    properties: Object.fromEntries(Object.entries(args).map(([key, { schema }]) => [key, schema])),
    required: Object.keys(args).filter((key) => args[key]?.shape.required),
    additionalProperties: false,
  }
  return {
    name,
    title,
    description,
    changes,
    inputSchema,
    async run(given, help) {
      assertFields<Values>(given, fields as Fields<Values>, name)
      const { cursor, maxChars, ...own } = given as Values
      const asked: Asked = {
        of: JSON.stringify([name, Object.entries(own).sort(([x], [y]) => (x < y ? -1 : 1))]),
        cursor: cursor as string | undefined,
        maxChars: (maxChars as number | undefined) ?? DEFAULT_CHARS,
      }
      const answer = await init.run(own as A, { ...help, asked })
      return answer.text
    },
  }
}

/** Opens a run for as long as `use` runs. */
export function withRun<T>(
  given: string | undefined,
  { withRuns }: Pick<ToolHelp, 'withRuns'>,
  use: (run: RunWithRows, source: RunSource) => Promise<T>,
): Promise<T> {
  return withRuns(async (source) => use(await findRun(source, given ?? 'latest'), source))
}
