/**
 * Puts the compiled code of the agent beside its text, in the same file: V8 then starts it without compiling anything.
 *
 * V8 takes such code only from its own version and with the same flags, and compiles the text otherwise: on another Node
 * the file still works, only later.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'

const warmUp = join(import.meta.dirname, 'warm-up.ts')

/** With these the same text gives the same code, byte by byte. */
const steady = ['--hash-seed=7', '--no-flush-bytecode', '--no-opt', '--no-maglev', '--no-sparkplug']

/**
 * V8 takes only code of the flags that it runs with, by a hash of them in the header. Those above change nothing of the
 * code but its order, so it gets the hash of a process without flags.
 */
const plain = "process.stdout.write(new(require('node:vm').Script)('1').createCachedData())"
const flagsAt = 12

/**
 * The warmUp is a process of its own, without flags and settings of this one. Text and code stand in comments of a
 * function: as its text they are read where they are, while V8 would keep a second copy of a literal.
 */
export function withCompiledCode(path: string): void {
  const text = `(function(require){${readFileSync(path, 'utf8')}\n})`
  writeFileSync(path, text)
  const code = run(...steady, warmUp, path)
  run('-e', plain).copy(code, flagsAt, flagsAt, flagsAt + 4)
  const lines = [
    'const[,text,code]=(()=>{',
    `//${ascii(JSON.stringify(text))}`,
    `//${code.toString('base64')}`,
    '//',
    "}).toString().split('\\n//')",
    "const{Script}=require('node:vm')",
    `const given={filename:${JSON.stringify(basename(path))},cachedData:Buffer.from(code,'base64')}`,
    'const script=new Script(JSON.parse(text),given)',
    'exports.compiled=script.cachedDataRejected===false',
    'script.runInThisContext()(require)',
  ]
  writeFileSync(path, lines.map(line => `${line}\n`).join(''))
}

function run(...args: string[]): Buffer {
  return execFileSync(process.execPath, args, { env: {}, maxBuffer: 1 << 26 })
}

/** A file of single bytes is read and kept faster. */
function ascii(literal: string): string {
  return literal.replace(/[^\x20-\x7e]/g, letter => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
