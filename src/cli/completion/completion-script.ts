import type { Command } from 'commander'

export const SHELLS = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof SHELLS)[number]

/** Words that may follow a path of commands: subcommands and long options. */
interface Words {
  readonly path: string
  readonly words: readonly string[]
}

/** Made of the program itself, so that no command or option is missing. Words are letters and dashes alone. */
export function completionScript(program: Command, shell: Shell): string {
  const all = wordsOf(program, '')
  if (shell === 'fish') return `${all.map(fishLine).join('\n')}\n`
  const cases = all.map(({ path, words }) => `    '${path}') words='${words.join(' ')}' ;;`).join('\n')
  const bash = `_hookspan() {
  local path='' word words=''
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in -*) ;; *) case "$path $word" in ${paths(all)}) path="$path $word" ;; esac ;; esac
  done
  case "$path" in
${cases}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _hookspan hookspan
`
  return shell === 'bash' ? bash : `autoload -U +X bashcompinit && bashcompinit\n${bash}`
}

function paths(all: readonly Words[]): string {
  return all
    .filter(({ path }) => path !== '')
    .map(({ path }) => `'${path}'`)
    .join('|')
}

function wordsOf(command: Command, path: string): Words[] {
  const options = command.options.flatMap(({ long }) => (long ? [long] : []))
  const words = [...command.commands.map((inner) => inner.name()), ...options, '--help']
  const inner = command.commands.flatMap((one) => wordsOf(one, `${path} ${one.name()}`))
  return [{ path, words }, ...inner]
}

function fishLine({ path, words }: Words): string {
  const given = path.trim().split(' ').filter(Boolean)
  const when =
    given.length === 0
      ? '__fish_use_subcommand'
      : given.map((word) => `__fish_seen_subcommand_from ${word}`).join('; and ')
  return `complete -c hookspan -n '${when}' -a '${words.join(' ')}'`
}
