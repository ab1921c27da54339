/** Values as JavaScript that a test is written in. */

export function quoted(text: string): string {
  return JSON.stringify(text)
}

/** JSON is JavaScript, except that `__proto__` as a key would set what it names. */
export function literal(value: unknown): string {
  return (JSON.stringify(value) ?? 'undefined').replaceAll('"__proto__":', '["__proto__"]:')
}
