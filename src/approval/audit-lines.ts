/**
 * The lines of an audit log that end in a piece of it, each with what ends it.
 *
 * @param begun what has come before of the first of them; afterwards what has come of the next.
 */
export function* linesEndingIn(piece: Buffer, begun: Buffer[]): Generator<Buffer> {
  let from = 0
  for (let end = piece.indexOf('\n'); end >= 0; end = piece.indexOf('\n', from)) {
    begun.push(piece.subarray(from, end + 1))
    yield Buffer.concat(begun.splice(0))
    from = end + 1
  }
  if (from < piece.length) begun.push(piece.subarray(from))
}
