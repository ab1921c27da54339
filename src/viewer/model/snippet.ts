/** Where the words of a query are in a run. */
export interface Snippet {
  spanId: string
  /** Of the span, and what of it where that is not what was said. */
  name: string
  before: string
  /** As it is written there. */
  match: string
  after: string
}
