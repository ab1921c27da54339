/** What the exporter said. */
export interface ExportAnswer {
  sent: boolean
  error?: { message: string; code?: number | string; body?: string }
  /** What it complained about though it counts as sent. */
  warnings: readonly string[]
}
