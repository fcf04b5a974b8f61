/** Blocks pass only with the output and the exit codes that the page shows. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { blocksIn } from './blocks.ts'
import { openShell, type Shell } from './run-block.ts'

let shell: Shell
before(async () => {
  shell = await openShell({ env: {}, functions: 'fail() { return "$1"; }', replacements: () => ({ NAME: 'sandbox' }) })
})
after(() => shell.close())

async function runText(text: string): Promise<string> {
  const [block] = blocksIn('page.md', `\`\`\`${text}\n\`\`\`\n`)
  assert.ok(block)
  return shell.run(block)
}

const passing: Record<string, string> = {
  'commands that exit with 0': 'sh shell\ntrue\necho done',
  'the shown output': 'console shell\n$ echo ready after 5s\nready after 17s',
  'output on standard error': 'console shell\n$ echo failed >&2\nfailed',
  'output of the second command': 'console shell\n$ echo a\n$ echo b\nb\n$ echo c',
  'a command on two lines': 'console shell\n$ echo a \\\n  b\na b',
  'a variable of an earlier command': 'console shell\n$ x=5\n$ echo $x\n5',
  'a value in place of a name': 'console shell\n$ echo NAME\nsandbox',
  'the exit code of the comment': 'sh shell\nfail 2    # exit code 2: it fails on purpose',
  'the exit code of a Korean comment': 'console shell\n$ fail 2  # 일부러 실패합니다. 종료 코드 2',
  'the exit code of a pipe': 'sh shell\nfail 3 | cat # exit code 3',
}
for (const [name, text] of Object.entries(passing)) test(`${name}: passes`, async () => void (await runText(text)))

const failing: Record<string, [text: string, message: RegExp]> = {
  'a command that fails': ['sh shell\nfail 1\ntrue', /page\.md:1: exit code 1/],
  'a command of a pipe that fails': ['sh shell\nfail 4 | cat', /exit code 4/],
  'another output': [
    'console shell\n$ echo ready\nfailed',
    /echo ready: the page shows\nfailed\nbut the output is\nready/,
  ],
  'no output': ['console shell\n$ true\nready', /the page shows\nready/],
  'the output of another command': ['console shell\n$ echo a\nb\n$ echo b\na', /echo a: the page shows\nb/],
  'another exit code than that of the comment': ['sh shell\nfail 1 # exit code 2', /exit code 1 instead of 2/],
  'success in place of an exit code': ['sh shell\ntrue # exit code 1', /exit code 0 instead of 1/],
  'a failure after an expected one': ['sh shell\nfail 2 # exit code 2\nfail 3', /page\.md:1: exit code 3/],
  'a watch that ends by itself': ['sh shell\nbriefly true', /exit code 0 instead of 124/],
}
for (const [name, [text, message]] of Object.entries(failing))
  test(`${name}: fails`, () => assert.rejects(runText(text), message))
