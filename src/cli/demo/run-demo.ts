import { join } from 'node:path'
import type { OpenAI } from 'openai'
import { type AgentRun, execAgent } from '../../agent/index.ts'
import { HookDispatcher } from '../../dispatcher/index.ts'
import { errorMessage } from '../../internal/errors.ts'
import { requirePeer } from '../../internal/require-peer.ts'
import { shownUrl } from '../../internal/shown-url.ts'
import { startScriptedServer } from '../../mock/scripted-server/index.ts'
import { idsOfOperation } from '../../tracing/index.ts'
import { startSomething } from '../../tracing/links/trace-link.ts'
import { treeText } from '../../viewer/text/tree-text.ts'
import { openTraceOutput, type TraceOutput } from '../export/trace-output.ts'
import { EXIT, UsageError } from '../failure.ts'
import { runner } from '../install-line.ts'
import { assertPeers } from '../peers.ts'
import { rowsOf } from '../render/rows.ts'
import { type Terminal, terminalOf, wrap } from '../render/terminal.ts'
import { untilStopped } from '../until-stopped.ts'
import { Narrator } from './narrator.ts'
import { linkToRun, startOwnViewer } from './own-viewer.ts'
import { scriptedModels } from './script.ts'
import { CUSTOMER_SAYS, carrierMock, priceOf, shiftLead, shopRules, supportAgent } from './shop.ts'

const TITLE_COLUMNS = 10

export interface DemoOptions {
  live?: boolean
  model: string
  endpoint?: string
  out?: string
  fast?: boolean
}

/** Gives the exit code. Where it started a viewer, only once that is ended. */
export async function runDemo(options: DemoOptions): Promise<number> {
  assertPeers('hookspan demo')
  const terminal = terminalOf(process.stdout)
  const id = `demo-${Date.now().toString(36)}`
  const { traceId } = idsOfOperation(id)
  const pace = options.fast ? 0 : 1
  await using models = options.live ? liveModels() : await scriptedEndpoint(pace)
  const viewer =
    options.endpoint === undefined
      ? await startOwnViewer((message) => terminal.line(terminal.style('red', message)))
      : undefined
  const output = await openTraceOutput({
    endpoint: options.endpoint ?? viewer?.otlpEndpoint,
    file: options.out ?? join('.hookspan', `${id}.otlp.json`),
    serviceName: process.env.OTEL_SERVICE_NAME?.trim() || 'hookspan-demo',
    captureContent: true,
  })
  const narrator = new Narrator(terminal)
  const dispatcher = new HookDispatcher()
  for (const plugin of [
    output.tracing,
    { name: 'demo-shop', gates: shopRules(), approver: shiftLead(pace) },
    carrierMock(),
    narrator,
  ]) {
    dispatcher.use(plugin)
  }
  introduce(terminal, options, viewer && linkToRun(viewer, traceId))
  const run = await execAgent({
    agent: supportAgent({ pace, models: { support: options.model, small: 'gpt-4o-mini' } }),
    prompt: CUSTOMER_SAYS,
    client: models.client,
    dispatcher,
    operationId: id,
    conversationId: 'order-4711',
    userId: 'mara',
    priceOf: options.live ? undefined : priceOf,
  })
  const trace = output.finish(traceId)
  const undelivered = await output.close()
  conclude(terminal, run, narrator)
  terminal.line(terminal.style('bold', 'The same run as a trace:'))
  for (const line of treeText(rowsOf(trace), { paint: terminal, width: terminal.columns, nowMs: Date.now() }))
    terminal.line(line)
  terminal.line()
  tellWhere(terminal, output, traceId, undelivered, viewer && linkToRun(viewer, traceId))
  if (viewer) {
    terminal.line()
    terminal.line('The viewer runs until Ctrl-C. Its runs are kept: `hookspan view` shows them again.')
    await untilStopped()
    await viewer.close()
  }
  const delivered = undelivered === undefined || options.endpoint === undefined
  return run.status === 'done' && delivered ? EXIT.done : EXIT.failed
}

interface Models extends AsyncDisposable {
  readonly client: OpenAI
}

async function scriptedEndpoint(pace: number): Promise<Models> {
  const { OpenAI: Client } = openai()
  const server = await startScriptedServer({ respond: scriptedModels(pace), recordRequests: false })
  const client = new Client({ apiKey: 'scripted', baseURL: server.baseURL, maxRetries: 0 })
  return { client, [Symbol.asyncDispose]: () => server.close() }
}

function liveModels(): Models {
  if (!process.env.OPENAI_API_KEY) {
    throw new UsageError(
      '--live needs OPENAI_API_KEY, which is not set. Set it (export OPENAI_API_KEY=…), or leave --live out: ' +
        'the scripted demo needs no key.',
    )
  }
  const { OpenAI: Client } = openai()
  return { client: new Client(), [Symbol.asyncDispose]: async () => {} }
}

function openai(): { OpenAI: typeof OpenAI } {
  return requirePeer<{ OpenAI: typeof OpenAI }>('openai', 'hookspan demo')
}

function introduce(
  { line, style, columns }: Terminal,
  { live, model }: DemoOptions,
  link: string | undefined,
): void {
  line(
    style('bold', 'A support agent at work') +
      style('dim', live ? ` (live: ${model})` : ' (scripted model: no key, no network)'),
  )
  // In one piece, so that a terminal makes a link of it.
  if (link !== undefined) line(style('dim', `Watch it in the browser: ${link}`))
  line()
  for (const text of wrap(`Customer: ${CUSTOMER_SAYS}`, Math.min(columns, 100))) line(text)
  line()
}

function conclude(terminal: Terminal, run: AgentRun, { fired }: Narrator): void {
  const { line, style, columns } = terminal
  const width = Math.min(columns, 100)
  line()
  const answer =
    run.status === 'done' ? run.content : `The run ended: ${run.reason}. ${errorMessage(run.error ?? '')}`
  for (const text of wrap(`Agent: ${answer}`, width)) line(run.status === 'done' ? text : style('red', text))
  line()
  const counts = [...fired].map(([type, count]) => `${type} ${count}`)
  const silent = [...fired].filter(([, count]) => count === 0).length
  line(style('bold', `${fired.size - silent} of ${fired.size} hook types fired:`))
  for (const text of wrap(counts.join('  '), width)) line(style('dim', text))
  line()
}

function tellWhere(
  { line, style, columns }: Terminal,
  { collector, silence, filePath }: TraceOutput,
  traceId: string,
  undelivered: string | undefined,
  link: string | undefined,
): void {
  const tell = (title: string, text: string, isBad = false) => {
    for (const [index, part] of wrap(text, Math.min(columns, 100) - TITLE_COLUMNS).entries()) {
      line(style(isBad ? 'red' : 'bold', (index === 0 ? title : '').padEnd(TITLE_COLUMNS)) + part)
    }
  }
  tell('Trace', traceId)
  tell('Written', String(filePath))
  if (undelivered !== undefined) {
    tell('Not sent', `${undelivered} Run \`hookspan doctor\` for the cause.`, true)
  } else if (link !== undefined) {
    line(`${style('bold', 'Open'.padEnd(TITLE_COLUMNS))}${link}`)
  } else if (collector !== undefined) {
    const page = collector.pageOf(traceId)
    if (page !== undefined) tell('Open', `${page}  (${collector.kind})`)
    else
      tell(
        'Sent to',
        `${shownUrl(collector.tracesUrl)}. Its page is not known: set JAEGER_UI_URL for the one of a Jaeger.`,
      )
  } else {
    tell(
      'Not sent',
      `Nothing answers at ${silence && shownUrl(silence.tracesUrl)}. ${startSomething(runner())} Then run the demo again.`,
    )
  }
}
