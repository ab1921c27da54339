import { Parser } from 'acorn'

/** What acorn's parsers have, and their types leave out. */
interface Tokenizer {
  readonly input: string
  pos: number
  readonly lastTokEnd: number
  skipSpace(): void
  nextToken(): void
  parseExprSubscripts(): void
}

type TokenizerClass = new (options: object, input: string, at: number) => Tokenizer

/** Reads JavaScript with decorators, as if blanks were in their place. */
export const DecoratedParser = Parser.extend(
  ((Base: TokenizerClass) =>
    class extends Base {
      readonly #options: object
      readonly #ends = new Map<number, number>()

      constructor(options: object, input: string, at: number) {
        super(options, input, at)
        this.#options = options
      }

      override skipSpace(): void {
        super.skipSpace()
        while (this.input[this.pos] === '@') {
          this.pos = this.#ends.get(this.pos) ?? this.#endOf(this.pos)
          super.skipSpace()
        }
      }

      /** Of the decorator that begins there: `@name`, `@name.of(...)`. */
      #endOf(start: number): number {
        const inner = new (this.constructor as TokenizerClass)(this.#options, this.input, start + 1)
        inner.nextToken()
        inner.parseExprSubscripts()
        this.#ends.set(start, inner.lastTokEnd)
        return inner.lastTokEnd
      }
    }) as never,
)

const DECLARING =
  /(?<=[(,]\s*(?:@[\w$.]+(?:\([^()]*\))?\s*)*)(?:(?:public|private|protected|override|readonly)\s+)+(?=[\w$]+\s*[?:,=)])/g

/** Blanks in the place of what makes a parameter of a constructor a field: Node strips types, and this is more. */
export function withoutFields(text: string): string {
  return text.replace(DECLARING, (words) => words.replace(/\S/g, ' '))
}
