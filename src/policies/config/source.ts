import { parse as parseToml } from 'smol-toml'
import { isNode, LineCounter, parseDocument } from 'yaml'
import { errorMessage, errorSentence, HookspanError } from '../../internal/errors.ts'
import { assertHarmless } from '../../internal/hostile-json.ts'

export type ConfigPath = readonly (string | number)[]

/** A config file that was read: its value, and where in it each part is. */
export interface ConfigSource {
  readonly file: string
  readonly value: unknown
  /** The line of a part, from 1; of the nearest part around it that is known. */
  lineOf(path: ConfigPath): number | undefined
}

/** What is said of a file that says nothing more. */
export const STAYS = 'what was in it stays. To remove it, write `gates: []`.'

/** @throws HookspanError `INVALID_CONFIG` naming the file and the line. */
export function parseConfig(file: string, text: string): ConfigSource {
  const source = file.endsWith('.toml') ? tomlSource(file, text) : yamlSource(file, text)
  assertPlain(source)
  return source
}

/** What a module exports; its lines are those of the texts that look like the part. */
export function moduleSource(file: string, text: string, value: unknown): ConfigSource {
  return { file, value, lineOf: (path) => searchLine(text, value, path) }
}

export function configError(file: string, line: number | undefined, message: string): HookspanError {
  return new HookspanError('INVALID_CONFIG', `${file}${line === undefined ? '' : `:${line}`}: ${message}`)
}

function assertPlain({ file, value }: ConfigSource): void {
  try {
    assertHarmless(value)
  } catch (error) {
    throw configError(file, undefined, `the file is refused: ${errorSentence(error)}`)
  }
}

/** JSON is YAML, too. */
function yamlSource(file: string, text: string): ConfigSource {
  const lines = new LineCounter()
  const document = parseDocument(text, {
    lineCounter: lines,
    uniqueKeys: true,
    merge: true,
    prettyErrors: false,
  })
  const [problem] = [...document.errors, ...document.warnings]
  if (problem !== undefined) {
    throw configError(file, lines.linePos(problem.pos[0]).line, `${problem.message}.`)
  }
  let value: unknown
  try {
    value = document.toJS({ maxAliasCount: 100 })
  } catch (error) {
    throw configError(file, undefined, `${errorSentence(error)}`)
  }
  return {
    file,
    value,
    lineOf(path) {
      for (let length = path.length; length >= 0; length--) {
        const node = length === 0 ? document.contents : document.getIn(path.slice(0, length), true)
        const start = isNode(node) ? node.range?.[0] : undefined
        if (start !== undefined) return lines.linePos(start).line
      }
      return undefined
    },
  }
}

function tomlSource(file: string, text: string): ConfigSource {
  try {
    const value = parseToml(text)
    return { file, value, lineOf: (path) => searchLine(text, value, path) }
  } catch (error) {
    const { line } = error as { line?: number }
    throw configError(file, line, `${errorMessage(error).split('\n')[0]}.`)
  }
}

/** The entry's line is where its id is; the field's, where its name is from there on. */
function searchLine(text: string, value: unknown, path: ConfigPath): number | undefined {
  const [list, index, field] = path
  const lines = text.split('\n')
  const entry = ((value as Record<string, unknown>)?.[list as string] as unknown[] | undefined)?.[
    index as number
  ]
  const id = (entry as { id?: unknown } | undefined)?.id
  const found =
    typeof id === 'string'
      ? lines.findIndex((line) => /\bid\b/.test(line) && new RegExp(`["'\`]${literal(id)}["'\`]`).test(line))
      : lines.findIndex((line) => new RegExp(`\\b${literal(String(list))}\\b`).test(line))
  if (found < 0) return undefined
  const name = typeof field === 'string' ? new RegExp(`\\b${literal(field)}\\b\\s*["']?\\s*[:=]`) : undefined
  const offset = name === undefined ? -1 : lines.slice(found).findIndex((line) => name.test(line))
  return found + Math.max(offset, 0) + 1
}

function literal(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}
