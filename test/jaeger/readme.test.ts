import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { installPacked } from '../package/support.ts'
import { startJaeger } from '../support/jaeger.ts'
import { readReadme } from '../support/readme.ts'

const README = readFileSync(fileURLToPath(new URL('../../README.md', import.meta.url)), 'utf8')

it('shows a run in Jaeger by what the README says alone: the link that is printed leads to it', async () => {
  const quote = readReadme(README)[0]!
  const beside = quote.install!.split(' ').slice(3)
  await using jaeger = await startJaeger()
  const project = await installPacked(beside)
  try {
    writeFileSync(join(project.folder, quote.saveAs!), quote.code)
    const env = { ...process.env, OTEL_EXPORTER_OTLP_ENDPOINT: jaeger.otlpUrl, JAEGER_UI_URL: jaeger.uiUrl }
    const { stdout, stderr } = await promisify(execFile)('node', [quote.saveAs!], {
      cwd: project.folder,
      env,
    })
    expect(stderr).toBe('')
    const [answer, link = ''] = stdout.trim().split('\n')
    expect(answer).toBe(quote.output!.split('\n')[0])
    expect(link).toMatch(new RegExp(`^${jaeger.uiUrl}/trace/[0-9a-f]{32}$`))
    // What Jaeger's page of that address reads.
    const { data } = (await (await fetch(link.replace('/trace/', '/api/traces/'))).json()) as {
      data: { spans: { operationName: string }[] }[]
    }
    expect(data[0]?.spans.map(({ operationName }) => operationName).sort()).toEqual([
      'chat gpt-4o',
      'execute_tool find_order',
      'invoke_agent support',
      'step',
    ])
  } finally {
    project.remove()
  }
})
