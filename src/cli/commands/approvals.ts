import { type Command, Option } from 'commander'
import { userName } from '../../internal/user.ts'
import type { AnswerFlags, ApprovalFlags } from '../approvals/actions.ts'
import type { AuditFlags } from '../approvals/show-audit.ts'

const actions = () => import('../approvals/actions.ts')

export function registerApprovals(program: Command): void {
  const approvals = program.command('approvals').description('answer what agents ask humans')
  withPlace(
    approvals
      .command('list')
      .description('requests, the oldest first')
      .option('-s, --status <status>', 'pending, answered, expired, cancelled or all', 'pending'),
  ).action(async (flags: ApprovalFlags & { status: string }) => (await actions()).listApprovals(flags))
  withAnswer(approvals.command('approve').description('let the call run').argument('<id>'))
    .option('--args <json>', 'run it with these arguments instead')
    .option('--always', 'ask no more about this tool for the rest of the run')
    .action(async (id: string, flags: AnswerFlags) => (await actions()).approve(id, flags))
  withAnswer(
    approvals.command('reject').description('refuse the call; the model is told why').argument('<id>'),
  )
    .option('--stop', 'end the run, too')
    .action(async (id: string, flags: AnswerFlags) => (await actions()).reject(id, flags))
  approvals
    .command('audit')
    .description(
      'who let which call run, when, by what way, and what became of it; exit code 1 where a log was changed',
    )
    .argument('[files...]', 'audit logs, rotated ones too, also .gz; or HOOKSPAN_AUDIT_LOG')
    .option('--approver <name>', 'what they answered, and tried')
    .option('--tool <glob>', 'calls of these tools')
    .option('--run <id>', 'of this run and its sub-agents')
    .option('--request <id>', 'of this request')
    .option(
      '-s, --status <status>',
      'approved, edited, allowed, rejected, expired, cancelled, waiting or refused; approved: with edited and allowed',
    )
    .option('--since <time>', 'decided at or after 2026-11-01 (UTC), or within 2h, 7d, ...')
    .option('--until <time>', 'decided before')
    .option(
      '--db <file>',
      'show the arguments, of the requests that this SQLite file has still',
      process.env.HOOKSPAN_APPROVALS_DB,
    )
    .option(
      '--key <key>',
      'the key of the logs; once more for each other one; else HOOKSPAN_AUDIT_KEY',
      collected,
    )
    .option('--json', 'print JSON')
    .action(async (files: string[], flags: AuditFlags) =>
      (await import('../approvals/show-audit.ts')).showAudit(files, flags),
    )
  approvals
    .command('verify')
    .description('find the first changed line of an audit log; exit code 1 when there is one')
    .argument('<file>')
    .addOption(secret('--key <key>', 'the key of the log', 'HOOKSPAN_AUDIT_KEY'))
    .action(async (file: string, { key }: { key?: string }) => (await actions()).verifyLog(file, key))
}

function withPlace(command: Command): Command {
  return command
    .option('--db <file>', 'the SQLite file of the requests', process.env.HOOKSPAN_APPROVALS_DB)
    .option('--url <url>', 'or the server that has them', process.env.HOOKSPAN_APPROVALS_URL)
    .addOption(secret('--token <token>', 'bearer token for the server', 'HOOKSPAN_APPROVALS_TOKEN'))
    .option(
      '--audit <file>',
      'write answers to this audit log, keyed with HOOKSPAN_AUDIT_KEY',
      process.env.HOOKSPAN_AUDIT_LOG,
    )
    .option('--json', 'print JSON')
}

/** A default would be printed by `--help`; the name of a variable may be. */
function secret(flags: string, description: string, variable: string): Option {
  return new Option(flags, description).env(variable)
}

function withAnswer(command: Command): Command {
  return withPlace(command)
    .option('-r, --reason <text>', 'why; a refused model is told')
    .option('--as <name>', 'who answers', userName())
}

function collected(value: string, before: string[] = []): string[] {
  return [...before, value]
}
