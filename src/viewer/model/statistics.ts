/** What numbers of many runs come to. */

/** The smallest of `sorted`, which is not empty, that is at least as great as `share` of them: the nearest rank. */
export function percentile(sorted: ArrayLike<number>, share: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)]!
}
