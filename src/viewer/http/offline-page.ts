import { createHash } from 'node:crypto'
import type { OtlpTraces } from '../../internal/otlp/types.ts'
import type { InTurns } from '../model/in-turns.ts'
import { HttpError } from './body.ts'
import { inert } from './inert.ts'
import { writingJson } from './json-pieces.ts'
import type { StaticFiles } from './static-files.ts'

/**
 * The page with one run inside, in one file that opens from disk with every view. It may run its own script and
 * nothing else: the policy names the script by its hash, and forbids every connection.
 */
export function* offlinePage(files: StaticFiles, traces: OtlpTraces): InTurns<Buffer> {
  const script = files.get('app.js')?.body.toString('utf8').replaceAll('</script', '<\\/script')
  const style = files.get('app.css')?.body.toString('utf8').replaceAll('</style', '<\\/style')
  if (script === undefined || style === undefined)
    throw new HttpError(500, 'The page is not built; run `npm run build`.')
  const policy = `default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}; img-src data:; base-uri 'none'; form-action 'none'`
  const before = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="content-security-policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>hookspan run</title>
<style>${style}</style></head><body><div id="app"></div>
<script type="application/json" id="offline-run">`
  const after = `</script>
<script>${script}</script></body></html>
`
  return Buffer.concat([Buffer.from(before), yield* writingJson(traces, inert), Buffer.from(after)])
}

function hash(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`
}
