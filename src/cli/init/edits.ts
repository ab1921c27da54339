/** What stands instead of the text from `start` to `end`. */
export interface Edit {
  readonly start: number
  readonly end: number
  readonly text: string
}

/** Edits may not overlap; those at one place keep their order. */
export function applyEdits(text: string, edits: readonly Edit[]): string {
  let at = 0
  let edited = ''
  for (const { start, end, text: given } of inOrder(edits)) {
    edited += text.slice(at, start) + given
    at = end
  }
  return edited + text.slice(at)
}

const CONTEXT = 3

/** The change as a person reads it: unified, with the lines around. `before` undefined: a new file. */
export function diffOf(file: string, before: string | undefined, edits: readonly Edit[]): string {
  if (before === undefined) {
    const lines = linesOf(applyEdits('', edits))
    return [
      '--- /dev/null',
      `+++ b/${file}`,
      `@@ -0,0 +1,${lines.length} @@`,
      ...lines.map((line) => `+${line}`),
    ].join('\n')
  }
  const old = linesOf(before)
  const blocks = blocksOf(before, edits)
  const hunks: string[] = []
  let shift = 0
  for (let index = 0; index < blocks.length; ) {
    // Blocks whose surroundings meet are one hunk.
    let last = index
    while (last + 1 < blocks.length && blocks[last + 1]!.from - blocks[last]!.to <= 2 * CONTEXT) last++
    const begin = Math.max(blocks[index]!.from - CONTEXT, 0)
    const end = Math.min(blocks[last]!.to + CONTEXT, old.length)
    const body: string[] = []
    let at = begin
    let added = 0
    for (const block of blocks.slice(index, last + 1)) {
      body.push(...old.slice(at, block.from).map((line) => ` ${line}`))
      body.push(...old.slice(block.from, block.to).map((line) => `-${line}`))
      body.push(...block.lines.map((line) => `+${line}`))
      added += block.lines.length - (block.to - block.from)
      at = block.to
    }
    body.push(...old.slice(at, end).map((line) => ` ${line}`))
    const size = end - begin
    hunks.push(`@@ -${begin + 1},${size} +${begin + 1 + shift},${size + added} @@`, ...body)
    shift += added
    index = last + 1
  }
  return [`--- a/${file}`, `+++ b/${file}`, ...hunks].join('\n')
}

interface Block {
  /** Lines of the old text, counted from 0; `to` is the one behind the last. */
  readonly from: number
  readonly to: number
  readonly lines: readonly string[]
}

/** The lines that edits touch, with those that stand there afterwards. */
function blocksOf(before: string, edits: readonly Edit[]): Block[] {
  const starts = [0, ...[...before.matchAll(/\n/g)].map(({ index }) => index + 1)]
  const lineAt = (offset: number) => starts.findLastIndex((start) => start <= offset)
  const ranges: { from: number; to: number; edits: Edit[] }[] = []
  for (const edit of inOrder(edits)) {
    const from = lineAt(edit.start)
    const to = lineAt(edit.end) + 1
    const last = ranges.at(-1)
    if (last !== undefined && from < last.to) {
      last.to = Math.max(last.to, to)
      last.edits.push(edit)
    } else ranges.push({ from, to, edits: [edit] })
  }
  return ranges.map((range) => {
    const begin = starts[range.from]!
    const end = starts[range.to] ?? before.length
    const own = range.edits.map(({ start, end, text }) => ({ start: start - begin, end: end - begin, text }))
    const old = linesOf(before.slice(begin, end))
    const lines = linesOf(applyEdits(before.slice(begin, end), own))
    // A line that only got others behind it is not shown as changed.
    const same = old.findIndex((line, index) => line !== lines[index])
    const kept = same < 0 ? old.length : same
    return { from: range.from + kept, to: range.to, lines: lines.slice(kept) }
  })
}

function linesOf(text: string): string[] {
  const lines = text.split(/\r?\n/)
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines
}

function inOrder(edits: readonly Edit[]): Edit[] {
  return edits.toSorted((one, other) => one.start - other.start || one.end - other.end)
}
