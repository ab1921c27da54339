/** What a file of approvals has of a request's arguments, for who may read it alone: nothing of it is made, changed or forgotten. */
import { existsSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import type { ApprovalAnswer, ApprovalRequest } from '../../gates/index.ts'
import { errorSentence } from '../../internal/errors.ts'
import { digestOf } from '../../internal/json.ts'
import { loadSqlite } from '../../internal/sqlite.ts'
import { UsageError } from '../failure.ts'
import { shown } from '../render/shown.ts'
import type { Audited } from './audited.ts'

export interface KeptArguments {
  /** With those whose digest is the one in the log. */
  add(one: Audited): Audited
  close(): void
}

/** @throws UsageError for a file that has no approvals. */
export function keptArguments(path: string): KeptArguments {
  if (!existsSync(path)) throw new UsageError(`There is no file ${path}.`)
  const { DatabaseSync } = loadSqlite()
  const reading = (place: string | URL) => {
    const db = new DatabaseSync(place, { readOnly: true })
    return { db, row: db.prepare('SELECT request, answer FROM hookspan_approvals WHERE id = ?') }
  }
  const file = pathToFileURL(path)
  file.searchParams.set('immutable', '1')
  let opened: ReturnType<typeof reading>
  try {
    opened = reading(path)
    opened.row.get('')
  } catch (error) {
    try {
      // In a folder that nobody may write to, as on a copy, SQLite wants to be told so.
      opened = reading(file)
      opened.row.get('')
    } catch {
      const why = `The approvals in "${shown(path)}" cannot be read: ${errorSentence(error)} Give the file that agents use as their store.`
      throw new UsageError(why, { cause: error })
    }
  }
  const { db, row } = opened
  return { add: (one) => withArguments(one, row.get(one.requestId)), close: () => db.close() }
}

function withArguments(one: Audited, row: Record<string, unknown> | undefined): Audited {
  const args = parsed<ApprovalRequest>(row?.request)?.args
  const editedArgs = parsed<ApprovalAnswer>(row?.answer)?.args
  const { argsDigest, answer } = one
  return {
    ...one,
    ...(args !== undefined && digestOf(args) === argsDigest && { args }),
    ...(answer !== undefined &&
      editedArgs !== undefined &&
      digestOf(editedArgs) === answer.editedDigest && { answer: { ...answer, editedArgs } }),
  }
}

/** Nothing for what is damaged: the log says what there is to say. */
function parsed<T>(text: unknown): Partial<T> | undefined {
  try {
    return typeof text === 'string' ? (JSON.parse(text) as Partial<T>) : undefined
  } catch {
    return undefined
  }
}
