/** The OpenTelemetry SDKs that the packed package is installed beside, by what they are called in the test. */
export const OTEL_SDKS = {
  '3.x': ['@opentelemetry/api@1.10', '@opentelemetry/sdk-node@0.301'],
  '3.x, the small one': ['@opentelemetry/api@1.10', '@opentelemetry/sdk-trace@3'],
  '2.x': ['@opentelemetry/api@1.9', '@opentelemetry/sdk-node@0.223'],
  '2.x, the oldest': ['@opentelemetry/api@1.9.0', '@opentelemetry/sdk-node@0.200.0'],
}

/** The oldest vitest whose tests may use the fixtures. */
export const OLDEST_VITEST = 'vitest@4.1.0'
