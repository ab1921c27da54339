import { tell } from './tell.ts'

let isTold = false

/**
 * Another copy of hookspan knows nothing of what is attached here, so that none of the two can leave anything to the other. Said once:
 * one that is loaded makes dispatchers, too.
 */
export function tellOtherCopy(where: string, mend: string): void {
  if (isTold) return
  isTold = true
  tell(
    `the program has another copy of hookspan (${where}): what it attaches by that may be told of twice, and hookspan.config.* ` +
      `does not hold in all of it. ${mend}`,
  )
}
