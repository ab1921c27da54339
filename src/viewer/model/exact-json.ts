/**
 * JSON as a person can judge it: all of it, each value told by its type, and nothing in a text that could hide, act or look
 * like what is around it. Without the breaks and bars it is the JSON itself.
 */
import { append } from '../../internal/append.ts'

export interface ExactPart {
  kind: 'key' | 'string' | 'number' | 'word' | 'sign'
  text: string
}

export interface ExactLine {
  depth: number
  parts: ExactPart[]
}

/** At the beginning of a line that goes on in the text of the line before. */
const GOES_ON = '│ '

/** What has no ink of its own: controls, directions, joiners, tags, fillers, selectors, and spaces that are not the space. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/gu

type Task = { value: unknown; before: ExactPart[]; depth: number; after: string } | { closing: ExactLine }

/** `undefined` is no JSON, and told as such. */
export function exactLines(value: unknown): ExactLine[] {
  const lines: ExactLine[] = []
  // Not recursive: what models write can be nested as deep as they like.
  const tasks: Task[] = [{ value, before: [], depth: 0, after: '' }]
  for (let task = tasks.pop(); task !== undefined; task = tasks.pop()) {
    if ('closing' in task) lines.push(task.closing)
    else if (typeof task.value === 'object' && task.value !== null) open(task.value, task, lines, tasks)
    else append(lines, leafLines(task.value, task))
  }
  return lines
}

export function exactText(value: unknown): string {
  return exactLines(value)
    .map(({ depth, parts }) => '  '.repeat(depth) + parts.map(({ text }) => text).join(''))
    .join('\n')
}

type Place = Pick<Extract<Task, { depth: number }>, 'before' | 'depth' | 'after'>

function open(value: object, { before, depth, after }: Place, lines: ExactLine[], tasks: Task[]): void {
  const [first, last] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
  const entries = Object.entries(value)
  if (entries.length === 0) {
    lines.push({ depth, parts: [...before, sign(first + last + after)] })
    return
  }
  lines.push({ depth, parts: [...before, sign(first)] })
  tasks.push({ closing: { depth, parts: [sign(last + after)] } })
  for (let index = entries.length - 1; index >= 0; index--) {
    const [key, item] = entries[index]!
    const named: ExactPart[] = Array.isArray(value) ? [] : [{ kind: 'key', text: exactJson(key) }, sign(': ')]
    tasks.push({ value: item, before: named, depth: depth + 1, after: index < entries.length - 1 ? ',' : '' })
  }
}

function leafLines(value: unknown, { before, depth, after }: Place): ExactLine[] {
  if (typeof value !== 'string') {
    const kind = typeof value === 'number' ? 'number' : 'word'
    return [{ depth, parts: [...before, { kind, text: String(value) }, sign(after)] }]
  }
  // A long text is read line by line; each break stands there as what it is.
  const [head = '', ...rest] = value.split(/(?<=\n)/).map((line) => exactJson(line).slice(1, -1))
  const lines: ExactLine[] = [{ depth, parts: [...before, { kind: 'string', text: `"${head}` }] }]
  for (const text of rest) lines.push({ depth: depth + 1, parts: [sign(GOES_ON), { kind: 'string', text }] })
  lines.at(-1)!.parts.push({ kind: 'string', text: '"' }, sign(after))
  return lines
}

/** On one line. */
export function exactJson(value: unknown): string {
  return withoutUnseen(JSON.stringify(value) ?? String(value))
}

/** To be edited: as people write JSON, one value a line. */
export function editableJson(value: unknown): string {
  const lines = JSON.stringify(value, null, 2)?.split('\n') ?? ['null']
  return lines.map(withoutUnseen).join('\n')
}

/** What cannot be seen, as JSON escapes it. */
export function withoutUnseen(text: string): string {
  return text.replace(UNSEEN, (char) =>
    Array.from(
      { length: char.length },
      (_, at) => `\\u${char.charCodeAt(at).toString(16).padStart(4, '0')}`,
    ).join(''),
  )
}

function sign(text: string): ExactPart {
  return { kind: 'sign', text }
}
