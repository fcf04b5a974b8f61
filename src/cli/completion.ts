/**
 * Completion scripts, generated from the commands. If the inventory can be reached, they also complete node names.
 */
import type { Command } from 'commander'

export const shells = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof shells)[number]

/** What can follow a command. */
export interface Completions {
  /** The command with its parents, without the program: `sandbox up`; empty for the program itself. */
  path: string
  /** Subcommands, and values of its arguments. */
  commands: string[]
  options: { names: string[]; takes?: 'file' | 'text' | string[] }[]
  takesNode: boolean
}

export function completionsOf(command: Command, path = ''): Completions[] {
  const commands = command.commands.filter(each => each.name() !== 'help')
  const options = command.options.map(({ short, long, required, optional, argChoices, flags }) => {
    const names = [short, long].filter(name => name !== undefined && name !== null)
    if (!required && !optional) return { names }
    return { names, takes: argChoices ?? (/<(file|directory)>/.test(flags) ? ('file' as const) : ('text' as const)) }
  })
  const takesNode = command.registeredArguments.some(argument => ['node', 'what'].includes(argument.name()))
  const choices = command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? [])
  return [
    { path, commands: [...commands.map(each => each.name()), ...choices], options, takesNode },
    ...commands.flatMap(each => completionsOf(each, path === '' ? each.name() : `${path} ${each.name()}`)),
  ]
}

export function completionScript(shell: Shell, words: readonly Completions[]): string {
  return { bash: bashScript, zsh: zshScript, fish: fishScript }[shell](words)
}

interface Offer {
  words: string
  files: string
  nodes: string
}

/** The action of each script for an option with a value (`plan -f`), and for a command (`plan`). */
function answers(
  words: readonly Completions[],
  offer: Offer,
): Record<'values' | 'follow', [of: string, act: string][]> {
  const values = words.flatMap(({ path, options }) =>
    options.flatMap(({ names, takes }) => {
      if (takes === undefined) return []
      const act = takes === 'file' ? `${offer.files}; ` : takes === 'text' ? '' : `${offer.words} ${takes.join(' ')}; `
      return names.map((name): [string, string] => [`${path} ${name}`, `${act}return`])
    }),
  )
  const follow = words.map(({ path, commands, options, takesNode }): [string, string] => {
    const all = [...commands, ...options.flatMap(({ names }) => names.filter(name => name.startsWith('--'))), '--help']
    return [path, `${offer.words} ${all.join(' ')}${takesNode ? `; ${offer.nodes}` : ''}`]
  })
  return { values, follow }
}

/** Every script has `chosen` (the command so far), `before` (the previous word) and the same cases. */
function cases(words: readonly Completions[], offer: Offer): string {
  const { values, follow } = answers(words, offer)
  const lines = (of: [string, string][]) => of.map(([when, act]) => `    "${when}") ${act} ;;`).join('\n')
  return `  case "$chosen $before" in
${lines(values)}
  esac
  case "$chosen" in
${lines(follow)}
  esac`
}

function knownPaths(words: readonly Completions[]): string[] {
  return words.filter(({ path }) => path !== '').map(({ path }) => `"${path}"`)
}

/** Node names by prefix. Empty if the inventory cannot be reached. */
const findNodes = (word: string) =>
  `command multinic find "${word}" -o csv 2>/dev/null | sed -n 's/^node,\\([^,]*\\),.*/\\1/p'`

function bashScript(words: readonly Completions[]): string {
  const offer = {
    words: '_multinic_offer',
    files: 'COMPREPLY=($(compgen -f -- "$word"))',
    nodes: '_multinic_nodes',
  }
  return `# Completion of multinic for bash: source <(multinic completion bash)
_multinic_offer() { COMPREPLY+=($(compgen -W "$*" -- "$word")); }
_multinic_nodes() {
  case "$word" in ''|-*) return ;; esac
  COMPREPLY+=($(compgen -W "$(${findNodes('$word')})" -- "$word"))
}
_multinic() {
  local word="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}" chosen= each at
  COMPREPLY=()
  for ((at = 1; at < COMP_CWORD; at++)); do
    each="\${chosen:+$chosen }\${COMP_WORDS[at]}"
    case "$each" in ${knownPaths(words).join('|')}) chosen="$each" ;; esac
  done
${cases(words, offer)}
}
complete -F _multinic multinic kubectl-multinic
`
}

function zshScript(words: readonly Completions[]): string {
  const offer = { words: 'compadd --', files: '_files', nodes: '_multinic_nodes' }
  return `#compdef multinic kubectl-multinic
# Completion of multinic for zsh: source <(multinic completion zsh), after compinit
_multinic_nodes() {
  [[ -z "$PREFIX" || "$PREFIX" == -* ]] && return
  compadd -- \${(f)"$(${findNodes('$PREFIX')})"}
}
_multinic() {
  local before="\${words[CURRENT-1]}" chosen= each at
  for ((at = 2; at < CURRENT; at++)); do
    each="\${chosen:+$chosen }\${words[at]}"
    case "$each" in ${knownPaths(words).join('|')}) chosen="$each" ;; esac
  done
${cases(words, offer)}
}
if [[ "$funcstack[1]" == _multinic ]]; then _multinic "$@"; else compdef _multinic multinic kubectl-multinic; fi
`
}

function fishScript(words: readonly Completions[]): string {
  const offer = { words: "printf '%s\\n'", files: '__fish_complete_path "$word"', nodes: '__multinic_nodes "$word"' }
  const { values, follow } = answers(words, offer)
  const lines = (of: [string, string][]) => of.map(([when, act]) => `    case "${when}"\n      ${act}`).join('\n')
  return `# Completion of multinic for fish: multinic completion fish | source
function __multinic_nodes
  string match --quiet --regex '^[^-]' -- "$argv[1]"; or return
  ${findNodes('$argv[1]')}
end
function __multinic_offers
  set -l word (commandline --current-token --cut-at-cursor)
  set -l typed (commandline --tokenize --current-process --cut-at-cursor)
  set -l before $typed[-1]
  set -l chosen ""
  for each in $typed[2..]
    set -l longer (string trim -- "$chosen $each")
    switch "$longer"
      case ${knownPaths(words).join(' ')}
        set chosen "$longer"
    end
  end
  switch "$chosen $before"
${lines(values)}
  end
  switch "$chosen"
${lines(follow)}
  end
end
complete --command multinic --no-files --arguments '(__multinic_offers)'
complete --command kubectl-multinic --no-files --arguments '(__multinic_offers)'
`
}
