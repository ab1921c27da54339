import { accessSync, constants, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { errorMessage, errorSentence } from '../../internal/errors.ts'
import { makeFolder } from '../../internal/make-folder.ts'
import { UsageError } from '../failure.ts'
import { shown } from '../render/shown.ts'
import { applyEdits } from './edits.ts'
import type { Change } from './propose.ts'

/**
 * Writes new files where there are none, and changes those that still say what was shown.
 *
 * @throws UsageError before anything is written, if something cannot be; and for what fails all the same, naming what was
 * written before.
 */
export function writeAll(root: string, changes: readonly Change[]): void {
  for (const { file, before } of changes) assertWritable(root, file, before)
  const done: string[] = []
  // What is new first: a source must not import what is not there.
  const [created, changed] = [true, false].map((isNew) =>
    changes.filter(({ before }) => (before === undefined) === isNew),
  )
  for (const { file, before, edits } of [...(created ?? []), ...(changed ?? [])]) {
    const path = join(root, file)
    try {
      makeFolder(dirname(path))
      writeFileSync(path, applyEdits(before ?? '', edits), { flag: before === undefined ? 'wx' : 'w' })
    } catch (error) {
      const written = done.length === 0 ? 'Nothing was written.' : `Written before: ${done.join(', ')}.`
      throw new UsageError(`${shown(file)} cannot be written: ${errorSentence(error)} ${written}`, {
        cause: error,
      })
    }
    done.push(shown(file))
  }
}

function assertWritable(root: string, file: string, before: string | undefined): void {
  const path = join(root, file)
  const fail = (why: string): never => {
    throw new UsageError(`${shown(file)} cannot be written: ${why}. Nothing was written.`)
  }
  if (before === undefined && existsSync(path)) fail('it is there already')
  if (before !== undefined && readFileSync(path, 'utf8') !== before)
    fail('it has changed meanwhile; run it again')
  let place = path
  while (!existsSync(place)) place = dirname(place)
  if (place !== path && !statSync(place).isDirectory()) fail(`${shown(place)} is no folder`)
  try {
    accessSync(place, constants.W_OK)
  } catch (error) {
    fail(errorMessage(error))
  }
}
