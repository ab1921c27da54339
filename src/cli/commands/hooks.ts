import type { Command } from 'commander'
import type { ConfigFlags } from '../hooks/actions.ts'

const actions = () => import('../hooks/actions.ts')

export function registerHooks(program: Command): void {
  const hooks = program
    .command('hooks')
    .description('list, check and try out the gates and hooks of the config')
  withConfigFlags(hooks.command('list').description('what is active, and from which file')).action(
    async (flags: ConfigFlags) => (await actions()).listHooks(flags),
  )
  withConfigFlags(
    hooks
      .command('check')
      .description('prove that each guard can start and answers; exit code 1 when one does not')
      .argument('[files...]', 'config files to check, instead of the one that is found')
      .option('--timeout <milliseconds>', 'for each guard', '5000'),
  ).action(async (files: string[], flags: ConfigFlags & { timeout: string }) => {
    await (await actions()).checkHooks(files, flags)
  })
  withConfigFlags(
    hooks
      .command('test')
      .description('run recorded events through the gates and print each decision')
      .argument(
        '<file>',
        'events, or questions of gates, as JSON: one, a list, or one a line; - for standard input',
      ),
  ).action(async (file: string, flags: ConfigFlags) => (await actions()).testHooks(file, flags))
}

function withConfigFlags(command: Command): Command {
  return command
    .option('-c, --config <file>', "the project's config file, instead of looking for it")
    .option('--no-user', "leave the user's config file out")
    .option('--gate-types <module>', 'a module that exports `gateTypes` of your own')
    .option('--json', 'print JSON')
}
