/**
 * A user command with help and errors in the language of the user.
 */
import { Command, Option } from 'commander'
import type { Language } from '../contract/reasons/catalogue.ts'
import { languages, messagesIn } from './messages/messages.ts'
import { widthOf } from './render/wrap.ts'

/** `path` is the command with its parents, such as `migrate plan`. */
export function userCommand(language: Language, name: string, description: string, path = name): Command {
  const { help } = messagesIn(language)
  return withLanguage(new Command(name), language)
    .description(description)
    .addOption(new Option('--lang <language>', help.langOption).choices(languages))
    .showHelpAfterError(help.more(path))
    .exitOverride()
}

/** Translates what commander itself writes into the help of a command. */
function withLanguage(command: Command, language: Language): Command {
  const { helpOption, headings } = messagesIn(language).help
  const titles: Record<string, string> = {
    'Usage:': headings.usage,
    'Arguments:': headings.arguments,
    'Options:': headings.options,
    'Commands:': headings.commands,
  }
  return command.helpOption('-h, --help', helpOption).configureHelp({
    styleTitle: title => titles[title] ?? title,
    displayWidth: widthOf,
    minWidthToWrap: 20,
  })
}
