import { type Command, InvalidArgumentError } from 'commander'
import { completionScript, SHELLS, type Shell } from '../completion/completion-script.ts'

export function registerCompletion(program: Command): void {
  program
    .command('completion')
    .description('print what completes commands and options in bash, zsh or fish')
    .argument('<shell>', SHELLS.join(', '), shellOf)
    .addHelpText(
      'after',
      '\nbash: eval "$(hookspan completion bash)"; zsh the same; fish: hookspan completion fish | source',
    )
    .action((shell: Shell) => {
      process.stdout.write(completionScript(program, shell))
    })
}

function shellOf(value: string): Shell {
  const shell = SHELLS.find((one) => one === value)
  if (shell !== undefined) return shell
  throw new InvalidArgumentError(`Expected ${SHELLS.join(', ')}.`)
}
