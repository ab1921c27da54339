/** Names of the attributes that rows show, found by their bytes. */
import { NAMES, READ_FOR_ROWS } from '../model/attributes.ts'
import { KnownTexts } from './byte-texts.ts'

/** What is read of one in a way of its own. */
export interface RowKey {
  /** Long ones, of tools only, and of failed ones. */
  isArguments: boolean
  isResult: boolean
  /** Another one for each call. */
  isId: boolean
}

export const ROW_KEYS = new KnownTexts(READ_FOR_ROWS)
/** By their numbers. */
export const ROW_KEY_LIST: readonly RowKey[] = [...READ_FOR_ROWS.keys()].map((key) => ({
  isArguments: NAMES.toolArguments.keys.includes(key),
  isResult: isToolResult(key),
  isId: NAMES.toolCallId.keys.includes(key),
}))

export function isToolResult(key: string): boolean {
  return NAMES.toolResult.keys.includes(key)
}
