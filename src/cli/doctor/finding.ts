/** One thing that was looked at. */
export interface Finding {
  /** Stable, for programs. */
  check: string
  /** `note`: works, or is not needed for tracing, but is worth knowing. */
  state: 'ok' | 'note' | 'wrong'
  says: string
  /** What to do about it. */
  mend?: string
}
