import { isRecord } from '../objects.ts'

export type Schema = boolean | Record<string, unknown>

export function isSchema(value: unknown): value is Schema {
  return typeof value === 'boolean' || isRecord(value)
}

/**
 * What `$ref` or `$dynamicRef` points at, within the schema: `#`, `#/...`, or the name of an anchor.
 *
 * @throws TypeError when it leads nowhere, or an anchor is there more than once.
 */
export function resolve(ref: string, root: Schema): Schema {
  const pointer = ref.startsWith('#') ? decodeURIComponent(ref.slice(1)) : undefined
  if (pointer === '') return root
  let found: unknown
  if (pointer?.startsWith('/')) {
    found = root
    for (const part of pointer.slice(1).split('/')) {
      const key = part.replaceAll('~1', '/').replaceAll('~0', '~')
      found = isRecord(found) || Array.isArray(found) ? (found as Record<string, unknown>)[key] : undefined
    }
  } else if (pointer !== undefined) {
    const places = findAnchors(root, pointer)
    // Which one is meant would depend on documents within the document, or on the way that led here.
    if (places.length > 1) throw new TypeError(`The schema has the anchor "${pointer}" more than once`)
    found = places[0]
  }
  if (isSchema(found)) return found
  throw new TypeError(`The schema's $ref "${ref}" leads nowhere`)
}

function findAnchors(value: unknown, anchor: string): Schema[] {
  if (typeof value !== 'object' || value === null) return []
  const inside = Object.values(value).flatMap((item) => findAnchors(item, anchor))
  const { $anchor, $dynamicAnchor } = value as Record<string, unknown>
  return $anchor === anchor || $dynamicAnchor === anchor ? [value as Schema, ...inside] : inside
}
