import { asObject, asObjects, asText, type Loose } from './reading.ts'

/**
 * A call of a function that Google sends in pieces (`streamFunctionCallArguments`): the name first, then places in the arguments with
 * what comes there. A piece without a name belongs to the call before it, as long as that one says that it goes on.
 *
 * @param begun as `beginCall` made it.
 * @returns whether `piece` was one of `begun`, which has it now.
 */
export function addPiece(begun: Loose | undefined, piece: Loose): boolean {
  if (begun?.willContinue !== true || asText(piece.name)) return false
  putAll(asObject(begun.args) ?? {}, piece)
  if (piece.willContinue !== true) delete begun.willContinue
  return true
}

/** A whole call, or the first piece of one. */
export function beginCall({ partialArgs, ...call }: Loose): Loose {
  if (partialArgs === undefined && call.willContinue !== true) return call
  const args: Loose = { ...asObject(call.args) }
  putAll(args, { partialArgs })
  return { ...call, args }
}

function putAll(args: Loose, { partialArgs }: Loose): void {
  for (const piece of asObjects(partialArgs)) put(args, placeOf(piece.jsonPath), valueIn(piece))
}

function valueIn({ stringValue, numberValue, boolValue }: Loose): unknown {
  return stringValue ?? numberValue ?? boolValue ?? null
}

/** `$.orders[0]['a name']`: names, and numbers of list entries. */
function placeOf(path: unknown): (string | number)[] {
  const steps = (asText(path) ?? '').matchAll(/\.([^.[\]]+)|\[(\d+)\]|\[(['"])(.*?)\3\]/g)
  return [...steps].map(([, name, index, , quoted]) => name ?? quoted ?? Number(index))
}

/** A text goes on where there is one. An entry that is further on than the next would make a list of nothing. */
function put(args: Loose, place: readonly (string | number)[], value: unknown): void {
  let at: unknown = args
  for (const [depth, key] of place.entries()) {
    const holder = at as Record<string | number, unknown>
    if (Array.isArray(at) ? typeof key !== 'number' || key > at.length : typeof key === 'number') return
    const there = Object.hasOwn(holder, key) ? holder[key] : undefined
    const following = place[depth + 1]
    let next = there
    if (following === undefined) {
      next = typeof there === 'string' && typeof value === 'string' ? there + value : value
    } else if (asObject(there) === undefined && !Array.isArray(there)) {
      next = typeof following === 'number' ? [] : {}
    }
    // A name is the model's: `__proto__` is one like any other.
    Object.defineProperty(holder, key, { value: next, writable: true, enumerable: true, configurable: true })
    at = next
  }
}
