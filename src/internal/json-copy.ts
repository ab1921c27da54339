import { errorMessage } from './errors.ts'
import { isPlain } from './objects.ts'

/** Deeper, or more, than anybody decides on who means well; and what holds itself would never end. */
const MAX_DEPTH = 500
const MAX_VALUES = 1_000_000

/** Of the way to what is refused, as a message says it. */
const MAX_STEPS = 8

/** Assigned, `__proto__` would be the prototype, and a setter of every object would get the value. */
const OWN = { enumerable: true, writable: true, configurable: true }

/** Where the copy is: the objects it is in, and the key of each that led here. */
interface Walk {
  readonly above: object[]
  readonly path: (string | number)[]
  values: number
}

/**
 * A copy of what JSON carries whole: plain objects, lists, texts, finite numbers, booleans, null. Each part is looked at
 * once, so that what is shown of the copy is what there is, whatever becomes of the original. A field that is undefined
 * is left out, as JSON leaves it out; undefined itself stays.
 *
 * @throws TypeError naming the place and what is there, for everything that JSON would leave out or tell otherwise: maps,
 * dates and other instances, symbols, functions, accessors, fields that are not enumerable, holes, cycles.
 */
export function jsonCopy(value: unknown): unknown {
  return value === undefined ? undefined : copy(value, { above: [], path: [], values: 0 })
}

/** The same, without a throw. */
export function copyOrProblem(value: unknown): { readonly copy: unknown } | { readonly problem: string } {
  try {
    return { copy: jsonCopy(value) }
  } catch (error) {
    return { problem: errorMessage(error) }
  }
}

function copy(value: unknown, walk: Walk): unknown {
  // What is shared is written out each time: a few objects can be more than any memory holds.
  if (++walk.values > MAX_VALUES) throw refusal(walk, `more than ${MAX_VALUES} values`)
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return value
  // JSON knows no other zero.
  if (typeof value === 'number' && Number.isFinite(value)) return value === 0 ? 0 : value
  if (typeof value === 'number' || value === undefined) throw refusal(walk, String(value))
  if (typeof value !== 'object') throw refusal(walk, `a ${typeof value}`)
  const { above } = walk
  if (above.includes(value)) throw refusal(walk, 'an object that holds itself')
  if (above.length >= MAX_DEPTH) throw refusal(walk, `nested deeper than ${MAX_DEPTH} levels`)
  above.push(value)
  const copied = Array.isArray(value) ? copyList(value, walk) : copyObject(value, walk)
  above.pop()
  return copied
}

function copyList(list: unknown[], walk: Walk): unknown[] {
  if (!isPlainList(list)) throw refusal(walk, `an instance of ${className(list)}`)
  const { length } = list
  // Its own keys are the indices and `length`: nothing else, and no holes.
  if (Reflect.ownKeys(list).length !== length + 1) throw refusal(walk, 'a list with holes or with fields')
  const copied: unknown[] = []
  for (let i = 0; i < length; i++) {
    walk.path.push(i)
    copied.push(copy(fieldOf(list, i, walk), walk))
    walk.path.pop()
  }
  return copied
}

function copyObject(value: object, walk: Walk): object {
  if (!isPlain(value)) throw refusal(walk, `an instance of ${className(value)}`)
  const copied: Record<string, unknown> = {}
  for (const key of Reflect.ownKeys(value)) {
    if (typeof key === 'symbol') throw refusal(walk, `a field under ${String(key)}`)
    walk.path.push(key)
    const field = fieldOf(value, key, walk)
    if (field !== undefined) {
      const item = copy(field, walk)
      if (key in copied) Object.defineProperty(copied, key, { ...OWN, value: item })
      else copied[key] = item
    }
    walk.path.pop()
  }
  return copied
}

function fieldOf(holder: object, key: string | number, walk: Walk): unknown {
  const field = Reflect.getOwnPropertyDescriptor(holder, key)
  if (field === undefined || !('value' in field)) throw refusal(walk, 'an accessor')
  if (field.enumerable !== true) throw refusal(walk, 'not enumerable')
  return field.value
}

/** Of whatever realm, but no class of its own. */
function isPlainList(list: unknown[]): boolean {
  const prototype = Object.getPrototypeOf(list)
  if (prototype === Array.prototype) return true
  return Array.isArray(prototype) && Object.getPrototypeOf(Object.getPrototypeOf(prototype)) === null
}

function className(value: object): string {
  try {
    const { name } = value.constructor
    return typeof name === 'string' && name !== '' ? name : 'a class'
  } catch {
    return 'a class'
  }
}

function refusal({ path }: Walk, what: string): TypeError {
  const steps = path.slice(0, MAX_STEPS).map((key) => (typeof key === 'number' ? `[${key}]` : `.${key}`))
  const place = `${steps.join('').replace(/^\./, '')}${path.length > MAX_STEPS ? ' ...' : ''}`
  return new TypeError(`JSON cannot carry ${place === '' ? 'it' : `\`${place}\``} whole: ${what}`)
}
