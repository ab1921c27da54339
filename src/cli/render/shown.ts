import { ACTING, visibleText } from '../../viewer/model/format.ts'

/** A name of a file or the like in one line of ours: what it holds acts on no terminal, and begins no line of its own. */
export function shown(name: string): string {
  return visibleText(name).replaceAll('\n', '␊').replaceAll('\t', '␉')
}

/** JSON for a terminal: what would act there, and JSON lets stand, is escaped. Read again, it is the same. */
export function shownJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replace(ACTING, (char) =>
    char === '\n' ? char : `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
