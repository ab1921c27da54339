/** One place at which a value does not fit a schema. */
export interface SchemaProblem {
  readonly path: readonly (string | number)[]
  /** What is expected there. */
  readonly message: string
  readonly value: unknown
}
