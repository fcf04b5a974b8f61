/**
 * Puts the compiled code of a program beside its text, in the same file: V8 then starts it without compiling anything.
 *
 * V8 takes such code only from its own version and with the same flags, and compiles the text otherwise: on another Node
 * the file still works, only later.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { basename } from 'node:path'

/** Every function is compiled, not only those that run at once; the flags are as they were when the code is written down. */
const compile = `
const { Script } = require('node:vm')
const { setFlagsFromString } = require('node:v8')
const [filename] = process.argv.slice(1)
setFlagsFromString('--no-lazy')
const script = new Script(require('node:fs').readFileSync(0, 'utf8'), { filename })
setFlagsFromString('--lazy')
process.stdout.write(script.createCachedData())
`

/** A process of its own: flags count for all that it compiles. With a fixed seed the same text gives the same bytes. */
export function withCompiledCode(path: string): void {
  const text = `(function(require){${readFileSync(path, 'utf8')}\n})`
  const filename = basename(path)
  const code = execFileSync(process.execPath, ['--random-seed=1', '-e', compile, filename], {
    input: text,
    maxBuffer: 1 << 26,
  })
  writeFileSync(
    path,
    [
      "const{Script}=require('node:vm')",
      `const script=new Script(${JSON.stringify(text)},{filename:${JSON.stringify(filename)},cachedData:Buffer.from('${code.toString('base64')}','base64')})`,
      'exports.compiled=script.cachedDataRejected===false',
      'script.runInThisContext()(require)',
      '',
    ].join('\n'),
  )
}
