/** What an SDK has that may run an agent, a model or a tool: whoever takes a newer one in sees what came with it. */

/** Of a class, by what its objects can do; of a module, its functions. */
export type Surface = Readonly<Record<string, unknown>>

/** Neither runs anything nor hands it to somebody who does. */
const ASIDE =
  /^(get|set|is|has|list|on|off|to|from|find|delete|update|create|make|register|unregister|clear|add|remove|assert|validate|parse|read|format|with)(?=[A-Z_]|$)|^(constructor|_)/

/** A line for each, in order. */
export function surfaceOf(of: Surface): string {
  const lines = Object.entries(of).flatMap(([name, value]) => [
    name,
    ...namesOf(value)
      .filter((one) => !ASIDE.test(one))
      .sort()
      .map((one) => `  ${one}`),
  ])
  return `${lines.join('\n')}\n`
}

function namesOf(value: unknown): string[] {
  const own = Object.getOwnPropertyDescriptors(
    typeof value === 'function' ? (value.prototype as object) : (value as object),
  )
  return Object.entries(own)
    .filter(([, { value: one, get }]) => typeof (get ?? one) === 'function' && !isClass(one))
    .map(([name]) => name)
}

const isClass = (value: unknown): boolean =>
  /^class\b/.test(Function.prototype.toString.call(value ?? (() => {})))
