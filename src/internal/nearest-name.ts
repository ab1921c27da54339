/** The name that was probably meant: at most so many of its letters differ, a third where nothing is said. */
export function nearestName(
  name: string,
  names: Iterable<string>,
  most = Math.max(1, Math.floor(name.length / 3)),
): string | undefined {
  let best: string | undefined
  let bestDistance = most + 1
  for (const candidate of names) {
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase(), bestDistance)
    if (distance < bestDistance) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}

/** Letters that are left out, put in, replaced, or swapped with the next one; `most`, as soon as there are so many. */
function editDistance(a: string, b: string, most: number): number {
  if (Math.abs(a.length - b.length) >= most) return most
  let before: readonly number[] = []
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const replace = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1)
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      const swap = swapped ? (before[j - 2] as number) + 1 : replace
      next.push(Math.min(replace, swap, (row[j] as number) + 1, (next[j - 1] as number) + 1))
    }
    if (Math.min(...next) >= most) return most
    before = row
    row = next
  }
  return row[b.length] as number
}
