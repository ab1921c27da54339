export interface Way {
  /** With which codes it fails, whatever is said. */
  readonly fails?: readonly string[]
  /** What was asked is not known when it is said. */
  readonly unasked?: true
  /** Said so, it is as if it was said plainly. */
  readonly unless?: string
  /** It may fail with a code of `fails`, and may be taken. */
  readonly perhaps?: true
}
