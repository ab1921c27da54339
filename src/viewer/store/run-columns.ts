/** What the list keeps of a run: one table from which the columns are created, written and read. */
import type { SQLInputValue } from 'node:sqlite'
import type { Marking, RunSummary } from '../model/span.ts'

type ColumnType = 'text' | 'whole' | 'real' | 'list'

/** The column of `inputTokens` is `input_tokens`. */
const RUN_COLUMNS: Record<keyof RunSummary, ColumnType> = {
  traceId: 'text',
  title: 'text',
  agent: 'text',
  service: 'text',
  model: 'text',
  conversationId: 'text',
  status: 'text',
  reason: 'text',
  inputPreview: 'text',
  answerPreview: 'text',
  startUs: 'whole',
  endUs: 'whole',
  durationMs: 'real',
  spans: 'whole',
  steps: 'whole',
  llmCalls: 'whole',
  toolCalls: 'whole',
  mockedCalls: 'whole',
  errors: 'whole',
  waiting: 'whole',
  inputTokens: 'whole',
  outputTokens: 'whole',
  cachedTokens: 'whole',
  costUsd: 'real',
  estimatedUsd: 'real',
  agents: 'list',
  tools: 'list',
  models: 'list',
  mark: 'text',
  note: 'text',
  labels: 'list',
}
/** What people say of a run: no sum writes over it. */
const MARKED = ['mark', 'note', 'labels'] as const satisfies (keyof RunSummary)[]
const NAMES = Object.keys(RUN_COLUMNS) as (keyof RunSummary)[]
/** The writer gives the trace id when the run's first span comes. */
const OWN = NAMES.filter((name) => name !== 'traceId')
const SUMMED = OWN.filter((name) => !MARKED.includes(name as never))
export const isList = (name: keyof RunSummary): boolean => RUN_COLUMNS[name] === 'list'
const LISTS = NAMES.filter(isList)

/** What is added up over runs. */
export const SUMS = [
  'inputTokens',
  'outputTokens',
  'cachedTokens',
  'costUsd',
  'estimatedUsd',
  'toolCalls',
  'mockedCalls',
] as const satisfies (keyof RunSummary)[]

/** What sums over runs are made of, beside when they started. */
const FIGURES = ['status', 'durationMs', ...SUMS] as const satisfies (keyof RunSummary)[]
export type RunFigures = Pick<RunSummary, 'startUs' | (typeof FIGURES)[number]>

const DECLARED: Record<ColumnType, string> = {
  text: "TEXT NOT NULL DEFAULT ''",
  whole: 'INTEGER NOT NULL DEFAULT 0',
  real: 'REAL NOT NULL DEFAULT 0',
  list: "TEXT NOT NULL DEFAULT '[]'",
}

export function columnOf(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

/** By name, as CREATE and ALTER want them. */
export const DECLARATIONS: ReadonlyMap<string, string> = new Map(
  OWN.map((name) => [
    columnOf(name),
    name === 'status' ? "TEXT NOT NULL DEFAULT 'running'" : DECLARED[RUN_COLUMNS[name]],
  ]),
)
export const DECLARED_COLUMNS = [...DECLARATIONS].map((column) => column.join(' ')).join(', ')
export const MARK_COLUMNS = MARKED.join(', ')
export const SELECTED_COLUMNS = NAMES.map((name) => `${columnOf(name)} AS ${name}`).join(', ')
export const FIGURE_COLUMNS = FIGURES.map(columnOf).join(', ')
export const SELECTED_FIGURES = (['startUs', ...FIGURES] as const)
  .map((name) => `${columnOf(name)} AS ${name}`)
  .join(', ')
/** With a parameter called like the field for each. */
export const ASSIGNED_COLUMNS = SUMMED.map((name) => `${columnOf(name)} = :${name}`).join(', ')

/** Of a run that is summed as it comes: its columns, and a question mark for each of `valuesOf`. */
export const INSERTED_COLUMNS = SUMMED.map(columnOf).join(', ')
export const INSERTED_MARKS = SUMMED.map(() => '?').join(', ')

export function valuesOf(summary: RunSummary): SQLInputValue[] {
  return SUMMED.map((name) => storable(summary[name]))
}

export function parametersOf(summary: RunSummary): Record<string, SQLInputValue> {
  return Object.fromEntries(SUMMED.map((name) => [name, storable(summary[name])]))
}

/** Of a row of `SELECTED_COLUMNS`, or of some of them, which becomes it. */
export function summaryOf(row: Record<string, unknown>): RunSummary {
  for (const name of LISTS) if (row[name] !== undefined) row[name] = JSON.parse(row[name] as string)
  return row as unknown as RunSummary
}

/** SQL and its parameters, to keep what a person says of a run. */
export function marking(marks: Marking): { assignments: string; params: Record<string, SQLInputValue> } {
  const given = MARKED.filter((name) => marks[name] !== undefined)
  return {
    assignments: given.map((name) => `${name} = :${name}`).join(', '),
    params: Object.fromEntries(given.map((name) => [name, storable(marks[name]!)])),
  }
}

/** SQLite keeps larger whole numbers than can be read back as numbers. */
export function storable(value: string | number | string[]): SQLInputValue {
  if (typeof value === 'object') return JSON.stringify(value)
  if (typeof value === 'string') return value
  return Math.max(-Number.MAX_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, value))
}
