import { type Command, Option } from 'commander'
import { defined } from '../../internal/objects.ts'
import { userName } from '../../internal/user.ts'
import { UsageError } from '../failure.ts'
import { manyTimes, type SourceFlags, withSource } from '../run-source.ts'

interface McpFlags extends SourceFlags {
  http?: string
  token?: string
  approvals?: string
  allowApprovals?: boolean
  audit?: string
  as: string
}

export function registerMcp(program: Command): void {
  withSource(
    program
      .command('mcp')
      .description(
        'let coding agents read the runs: a server of the Model Context Protocol, on stdin and stdout',
      ),
  )
    .option('--http <port>', 'serve over HTTP on this machine instead; 0 takes a free port')
    .addOption(
      new Option(
        '--token <token>',
        'what clients over HTTP need to know; without it, one is made and printed',
      ).env('HOOKSPAN_MCP_TOKEN'),
    )
    .option('--approvals <file>', 'show the requests of this SQLite file', process.env.HOOKSPAN_APPROVALS_DB)
    .option('--allow-approvals', 'let them be answered, too')
    .option('--audit <file>', 'write answers to this audit log', process.env.HOOKSPAN_AUDIT_LOG)
    .option('--as <name>', 'in whose name they are answered', `mcp:${userName()}`)
    .action(async (flags: McpFlags) => {
      const { approvals, audit, allowApprovals: mayAnswer = false, as: approver } = flags
      if (mayAnswer && approvals === undefined)
        throw new UsageError(
          '--allow-approvals needs to know where the requests are: add --approvals FILE, or set HOOKSPAN_APPROVALS_DB.',
        )
      // An empty variable is none.
      const token = flags.token || undefined
      if (token !== undefined && token.length < LEAST_TOKEN_CHARS)
        throw new UsageError(
          `Expected --token, or HOOKSPAN_MCP_TOKEN, to have at least ${LEAST_TOKEN_CHARS} characters, got ${token.length}.`,
        )
      if (mayAnswer && audit !== undefined) (await import('../approvals/open-approvals.ts')).openAudit(audit)
      const port = flags.http === undefined ? undefined : portOf(flags.http)
      const { serveMcp } = await import('../mcp/serve.ts')
      const place = approvals === undefined ? undefined : { db: approvals, ...defined({ audit }) }
      await serveMcp({
        withRuns: manyTimes(flags),
        ...defined({ port, token }),
        ...(place && { approvals: { place, approver, mayAnswer } }),
      })
    })
}

const LEAST_TOKEN_CHARS = 16

function portOf(text: string): number {
  const port = Number(text)
  if (text.trim() !== '' && Number.isInteger(port) && port >= 0 && port <= 65_535) return port
  throw new UsageError(`Expected --http to be a port from 0 to 65535, got \`${text}\`.`)
}
