/** The dispatcher counts the calls of an operation as they are made; a runtime that dispatches events has other keys, or none. */
export function callNumber(callKey: string | undefined): number | undefined {
  const [, number] = /^call-(\d+)$/.exec(callKey ?? '') ?? []
  return number === undefined ? undefined : Number(number)
}
