import { describeValue } from '../../internal/errors.ts'

/** Whether OTEL_SDK_DISABLED says that there is to be no tracing. */
export function isDisabledByEnv(): boolean {
  return /^true$/i.test(process.env.OTEL_SDK_DISABLED?.trim() ?? '')
}

export interface ChosenExporters {
  readonly otlp: boolean
  readonly console: boolean
}

/** What OTEL_TRACES_EXPORTER says: `otlp`, `console`, both with a comma between, or `none`. `otlp` when it says nothing. */
export function exportersByEnv(onTrouble: (message: string) => void): ChosenExporters {
  const names = (process.env.OTEL_TRACES_EXPORTER ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
  if (names.includes('none')) return { otlp: false, console: false }
  const unknown = names.filter((name) => name !== 'otlp' && name !== 'console')
  if (unknown.length > 0) {
    onTrouble(
      `OTEL_TRACES_EXPORTER names ${unknown.map(describeValue).join(', ')}, which is not held: hookspan knows otlp, console and none.`,
    )
  }
  const isConsole = names.includes('console')
  return { otlp: names.includes('otlp') || !isConsole, console: isConsole }
}
