/**
 * Adds the compiled code of the agent to its bundle: V8 then starts the agent without compiling it.
 *
 * V8 accepts the code only with the same version and flags. Otherwise it compiles the source, so the file works on any Node,
 * but starts more slowly.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'

const warmUp = join(import.meta.dirname, 'warm-up.ts')

/** Flags that make the compiled code reproducible. */
const reproducible = ['--hash-seed=7', '--no-flush-bytecode', '--no-opt', '--no-maglev', '--no-sparkplug']

/**
 * V8 stores a hash of its flags in the header and rejects code with another hash. The flags above change only the order of
 * the code, so we replace the hash with that of a process without flags.
 */
const printHeader = "process.stdout.write(new(require('node:vm').Script)('1').createCachedData())"
const flagHashOffset = 12

/**
 * The warm-up runs in its own process, without the flags and environment of this one. Source and code are comments of a
 * function: `toString` reads them in place, while V8 would keep a second copy of a string literal.
 */
export function withCompiledCode(path: string): void {
  const text = `(function(require){${readFileSync(path, 'utf8')}\n})`
  writeFileSync(path, text)
  const code = run(...reproducible, warmUp, path)
  run('-e', printHeader).copy(code, flagHashOffset, flagHashOffset, flagHashOffset + 4)
  const lines = [
    'const[,text,code]=(()=>{',
    `//${ascii(JSON.stringify(text))}`,
    `//${code.toString('base64')}`,
    '//',
    "}).toString().split('\\n//')",
    "const{Script}=require('node:vm')",
    `const options={filename:${JSON.stringify(basename(path))},cachedData:Buffer.from(code,'base64')}`,
    'const script=new Script(JSON.parse(text),options)',
    'exports.compiled=script.cachedDataRejected===false',
    'script.runInThisContext()(require)',
  ]
  writeFileSync(path, lines.map(line => `${line}\n`).join(''))
}

function run(...args: string[]): Buffer {
  return execFileSync(process.execPath, args, { env: {}, maxBuffer: 1 << 26 })
}

/** V8 keeps an ASCII file at one byte per character. */
function ascii(literal: string): string {
  return literal.replace(/[^\x20-\x7e]/g, letter => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
