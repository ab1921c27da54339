import { describeValue, HookspanError } from './errors.ts'

/** A misspelt option of a guard is a missing guard. @throws HookspanError `INVALID_OPTION`. */
export function assertKnown(options: object, known: readonly string[], owner: string): void {
  if (typeof options !== 'object' || options === null) {
    throw new HookspanError(
      'INVALID_OPTION',
      `Expected the options of ${owner} to be an object, got ${describeValue(options)}.`,
    )
  }
  const unknown = Object.keys(options).find((key) => !known.includes(key))
  if (unknown === undefined) return
  throw new HookspanError(
    'INVALID_OPTION',
    `Unknown option \`${unknown}\` of ${owner}. Known: ${known.join(', ')}.`,
  )
}
