import { describeValue, errorMessage } from '../internal/errors.ts'
import { a, refusing } from '../internal/expect.ts'
import { parseHostileJson } from '../internal/hostile-json.ts'
import { RUN_STATE_VERSION, type SavedRun } from './run-state.ts'

const invalid = refusing('INVALID_STATE', 'The saved run cannot be resumed')

/** @throws HookspanError `INVALID_STATE` naming what is wrong. */
export function readSavedRun(state: unknown): SavedRun {
  let value = state
  if (typeof state === 'string') {
    try {
      value = parseHostileJson(state)
    } catch (error) {
      throw invalid(errorMessage(error))
    }
  }
  if (typeof value !== 'object' || value === null)
    throw invalid(`expected an object, got ${describeValue(value)}`)
  const saved = value as Partial<SavedRun>
  if (saved.schema !== 'hookspan.run')
    throw invalid(`expected \`schema\` "hookspan.run", got ${describeValue(saved.schema)}`)
  if (saved.version !== RUN_STATE_VERSION) {
    throw invalid(
      `it has version ${describeValue(saved.version)}, this hookspan reads version ${RUN_STATE_VERSION}: resume it with the one that wrote it`,
    )
  }
  for (const key of ['operation', 'loop', 'spending', 'children', 'pendingApprovals', 'hookIds'] as const) {
    if (typeof saved[key] === 'object' && saved[key] !== null) continue
    throw invalid(`expected \`${key}\` to be an object, got ${describeValue(saved[key])}`)
  }
  const { gateIds } = saved
  if (gateIds !== undefined && !a.strings.fits(gateIds)) {
    throw invalid(`expected \`gateIds\` to be ${a.strings.words}, got ${describeValue(gateIds)}`)
  }
  return saved as SavedRun
}
