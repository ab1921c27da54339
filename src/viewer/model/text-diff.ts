/** Line differences, as a person reads them. */

export interface DiffLine {
  kind: 'same' | 'added' | 'removed'
  text: string
}

const MAX_LINES = 1_500
/** Unchanged lines around a change that are shown; the rest of them is folded. */
const CONTEXT_LINES = 2

export function diffLines(before: string, after: string): DiffLine[] {
  const a = before.split('\n')
  const b = after.split('\n')
  let head = 0
  while (head < a.length && head < b.length && a[head] === b[head]) head++
  let tail = 0
  while (
    tail < a.length - head &&
    tail < b.length - head &&
    a[a.length - 1 - tail] === b[b.length - 1 - tail]
  )
    tail++
  const middle = diffMiddle(
    atMost(MAX_LINES, a.slice(head, a.length - tail)),
    atMost(MAX_LINES, b.slice(head, b.length - tail)),
  )
  const same = (text: string): DiffLine => ({ kind: 'same', text })
  return fold([...a.slice(0, head).map(same), ...middle, ...a.slice(a.length - tail).map(same)])
}

function atMost(count: number, all: string[]): string[] {
  return all.length <= count ? all : [...all.slice(0, count), `… ${all.length - count} more lines`]
}

/** Longest common subsequence; both sides are capped, so the table stays small. */
function diffMiddle(a: string[], b: string[]): DiffLine[] {
  const width = b.length + 1
  const table = new Uint16Array((a.length + 1) * width)
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      table[i * width + j] =
        a[i] === b[j]
          ? table[(i + 1) * width + j + 1]! + 1
          : Math.max(table[(i + 1) * width + j]!, table[i * width + j + 1]!)
    }
  }
  const out: DiffLine[] = []
  let i = 0
  let j = 0
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      out.push({ kind: 'same', text: a[i++]! })
      j++
    } else if (i < a.length && (j >= b.length || table[(i + 1) * width + j]! >= table[i * width + j + 1]!)) {
      out.push({ kind: 'removed', text: a[i++]! })
    } else out.push({ kind: 'added', text: b[j++]! })
  }
  return out
}

function fold(all: DiffLine[]): DiffLine[] {
  const near = new Uint8Array(all.length)
  for (let index = 0; index < all.length; index++) {
    if (all[index]!.kind === 'same') continue
    near.fill(1, Math.max(0, index - CONTEXT_LINES), index + CONTEXT_LINES + 1)
  }
  const out: DiffLine[] = []
  let folded = 0
  for (let index = 0; index <= all.length; index++) {
    if (index < all.length && !near[index]) {
      folded++
      continue
    }
    if (folded > 0)
      out.push({ kind: 'same', text: `… ${folded} unchanged ${folded === 1 ? 'line' : 'lines'}` })
    folded = 0
    if (index < all.length) out.push(all[index]!)
  }
  return out
}
