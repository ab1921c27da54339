import { visibleText } from '../../viewer/model/format.ts'

/** A name of a file or the like in one line of ours: what it holds acts on no terminal, and begins no line of its own. */
export function shown(name: string): string {
  return visibleText(name).replaceAll('\n', '␊').replaceAll('\t', '␉')
}
