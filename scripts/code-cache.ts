/**
 * Puts the compiled code of the agent beside its text, in the same file: V8 then starts it without compiling anything.
 *
 * V8 takes such code only from its own version and with the same flags, and compiles the text otherwise: on another Node
 * the file still works, only later.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'

const rehearsal = join(import.meta.dirname, 'rehearse.ts')

/** The rehearsal is a process of its own, without flags and settings of this one. */
export function withCompiledCode(path: string): void {
  const text = `(function(require){${readFileSync(path, 'utf8')}\n})`
  writeFileSync(path, text)
  const code = execFileSync(process.execPath, [rehearsal, path], { env: {}, maxBuffer: 1 << 26 })
  const given = `filename:${JSON.stringify(basename(path))},cachedData:Buffer.from('${code.toString('base64')}','base64')`
  const lines = [
    "const{Script}=require('node:vm')",
    `const script=new Script(${JSON.stringify(text)},{${given}})`,
    'exports.compiled=script.cachedDataRejected===false',
    'script.runInThisContext()(require)',
  ]
  writeFileSync(path, lines.map(line => `${line}\n`).join(''))
}
