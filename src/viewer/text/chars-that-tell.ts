/** So many that a run is named by them: ids of some tracers begin with the time, as Logfire's and X-Ray's do. */
export function charsThatTell(ids: readonly string[]): number {
  const several = new Set(ids).size
  let chars = 8
  while (chars < 32 && new Set(ids.map((id) => id.slice(0, chars))).size < several) chars += 4
  return chars
}
