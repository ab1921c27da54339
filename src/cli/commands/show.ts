import type { Command } from 'commander'
import { conversationText, cutsOf, showText, spansForJson } from '../../viewer/text/show-text.ts'
import { printJson, terminalPaint, terminalWidth } from '../render/terminal.ts'
import { findRun, type SourceFlags, withRuns, withSourceFlags } from '../run-source.ts'

export function registerShow(program: Command): void {
  withSourceFlags(
    program
      .command('show')
      .description('show one run as a tree, as a conversation, or one of its spans')
      .argument('[run]', 'id of the run, the beginning of one, or latest', 'latest')
      .option('-c, --conversation', 'as the chat it was')
      .option('-s, --span <id>', 'one span, whole, as JSON'),
  ).action(async (given: string, flags: SourceFlags & { conversation?: boolean; span?: string }) => {
    await withRuns(flags, async (source) => {
      const run = await findRun(source, given)
      const { traceId } = run.summary
      if (flags.span) {
        const span = await source.span(traceId, flags.span)
        if (!span) throw new Error(`No span "${flags.span}" in run ${traceId}.`)
        printJson(span)
        return
      }
      const conversation = flags.conversation ? await source.conversation(traceId) : undefined
      if (flags.json)
        printJson({
          run: run.summary,
          spans: spansForJson(run.rows),
          ...(conversation && {
            conversation: conversation.items,
            cut: cutsOf(conversation, (spanId) => commandFor(traceId, spanId, flags)),
          }),
        })
      else if (conversation) {
        console.log(conversationText(conversation, terminalPaint()))
        for (const { cutChars, whole } of cutsOf(conversation, (id) => commandFor(traceId, id, flags)))
          console.log(`… ${cutChars} characters are not shown above. Whole: ${whole}`)
      } else
        console.log(
          showText(run.summary, run.rows, {
            paint: terminalPaint(),
            width: terminalWidth(),
            nowMs: Date.now(),
          }),
        )
    })
  })
}

/** What shows all of a span, from where this was read. */
function commandFor(traceId: string, spanId: string, { db, url, from }: SourceFlags): string {
  const quoted = (text: string) => (/^[\w./:@=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`)
  const place = Object.entries({ url, db, from }).flatMap(([flag, value]) =>
    value === undefined ? [] : ` --${flag} ${quoted(value)}`,
  )
  return `hookspan show ${traceId} --span ${spanId}${place.join('')}`
}
