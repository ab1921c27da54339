import { fileURLToPath } from 'node:url'
import { spanTitle } from 'hookspan/tracing'
import type { ReceivedSpan } from './collector.ts'
import { type CliRun, runCli } from './run-cli.ts'

export const REGISTER = fileURLToPath(new URL('../../dist/register/index.js', import.meta.url))

/** `node --import hookspan/register FILE`, a plain program with nothing of hookspan in it. */
export function registered(
  file: string,
  { args = [], ...options }: { args?: readonly string[]; env: Record<string, string>; cwd?: string },
): Promise<CliRun> {
  return runCli([file, ...args], { command: `--import=${REGISTER}`, ...options })
}

/** What a plain program of any SDK finds around it: the model, the collector, and no configuration of whoever runs the tests. */
export function programEnv(modelURL: string, collectorURL: string): Record<string, string> {
  const { origin } = new URL(modelURL)
  return {
    OTEL_EXPORTER_OTLP_ENDPOINT: collectorURL,
    OPENAI_API_KEY: 'none',
    OPENAI_BASE_URL: modelURL,
    ANTHROPIC_BASE_URL: origin,
    GOOGLE_GEMINI_BASE_URL: origin,
    HOOKSPAN_CONFIG_HOME: '/nowhere',
  }
}

/** The spans that came, as a person reads them, each with those below it. */
export function receivedTree(spans: readonly ReceivedSpan[], parent = ''): string[] {
  return spans
    .filter(({ parentSpanId }) => (parentSpanId ?? '') === parent)
    .flatMap(({ name, attributes, spanId }) => [
      spanTitle(name, attributes),
      ...receivedTree(spans, spanId).map((inner) => `  ${inner}`),
    ])
}
