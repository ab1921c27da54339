import { describeValue } from '../errors.ts'

/** A wrong name as messages show it: of `Authorization: Bearer …` what follows was meant to be the value. */
export function shownHeaderName(name: string): string {
  const [start = ''] = name.split(/[\s:]/, 1)
  return describeValue(start === name ? name : `${start}…`)
}
