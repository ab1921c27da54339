import { isRecord } from '../objects.ts'
import { isSchema, resolve, type Schema } from './references.ts'

type Path = readonly (string | number)[]

export interface Place {
  readonly root: Schema
  readonly path: Path
  /** References that led here without going deeper into the value, to find those that go round in circles. */
  readonly refs: readonly string[]
}

/** What the schema refers to, to be held against the same value. */
export function referred(
  { $ref, $dynamicRef }: Record<string, unknown>,
  place: Place,
): { schema: Schema; place: Place }[] {
  return [$ref, $dynamicRef].flatMap((ref) => {
    if (typeof ref !== 'string') return []
    if (place.refs.includes(ref)) throw new TypeError(`The schema's $ref "${ref}" goes round in a circle`)
    return [{ schema: resolve(ref, place.root), place: { ...place, refs: [...place.refs, ref] } }]
  })
}

/** As the standard wants it, else as most libraries read it: `[\\w-.]` is no expression under the `u` flag. */
export function expression(pattern: string): RegExp {
  try {
    return new RegExp(pattern, 'u')
  } catch {
    return new RegExp(pattern)
  }
}

export function deeper(place: Place, key: string | number): Place {
  return { root: place.root, path: [...place.path, key], refs: [] }
}

export function asList(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}

export function asSchemas(value: unknown): Schema[] {
  return asList(value).filter(isSchema)
}

export function entries(value: unknown): [string, unknown][] {
  return isRecord(value) ? Object.entries(value) : []
}
