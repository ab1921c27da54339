import { expect, it } from 'vitest'
import { startJaeger } from '../support/jaeger.ts'
import { runCli } from '../support/run-cli.ts'

it('hookspan doctor finds its test span taken by a real Jaeger, and knows the gRPC port when it meets one', async () => {
  await using jaeger = await startJaeger()
  const doctor = (endpoint: string) =>
    runCli(['doctor', '--endpoint', endpoint], { env: { JAEGER_UI_URL: jaeger.uiUrl } })

  const { code, stdout } = await doctor(jaeger.otlpUrl)
  expect(stdout).toContain('Everything that tracing needs is right.')
  expect(code).toBe(0)
  const traceId = /trace\/([0-9a-f]{32})/.exec(stdout.replace(/\s+/g, ''))?.[1]
  const { spans } = await jaeger.getTrace(traceId!, { spanCount: 1 })
  expect(spans[0]).toMatchObject({
    name: 'invoke_agent doctor',
    resource: { 'service.name': 'hookspan-doctor' },
  })

  const grpc = await doctor(jaeger.otlpGrpcUrl)
  expect(grpc.stdout.replace(/\s+/g, ' ')).toMatch(
    /may be the gRPC port\. Use the OTLP\/HTTP port, usually 4318/,
  )
  expect(grpc.code).toBe(1)
})
