/**
 * The test files that are new or changed since a commit, also those that are not committed yet.
 */
import { execFileSync } from 'node:child_process'

const maxCommits = 50

/** Without `since`: since the last tag, or in the last 50 commits. A history that is shorter counts as new. */
export function changedTests(dir: string, since?: string): string[] {
  const git = (...args: string[]) =>
    execFileSync('git', args, { cwd: dir, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim()
  const base = since ? git('rev-parse', '--verify', '--end-of-options', `${since}^{commit}`) : defaultBase(git)
  const changed = git('diff', '--name-only', '--diff-filter=d', '--no-renames', '-z', base, '--')
  const untracked = git('ls-files', '--others', '--exclude-standard', '-z')
  const paths = [...changed.split('\0'), ...untracked.split('\0')]
  return [...new Set(paths)].filter(path => path.endsWith('.test.ts')).sort()
}

function defaultBase(git: (...args: string[]) => string): string {
  const tries = [
    () => git('describe', '--tags', '--abbrev=0'),
    () => git('rev-parse', '--verify', '--quiet', `HEAD~${maxCommits}`),
  ]
  for (const attempt of tries)
    try {
      return attempt()
    } catch {
      // no tag, or fewer commits
    }
  return git('hash-object', '-t', 'tree', '/dev/null')
}
