/**
 * The published schema of Grafana's dashboards: TypeScript types, which the compiler checks a dashboard against.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from '../../repo/sources.ts'
import { run } from '../process.ts'

/** What the compiler reports about a dashboard, one line each. */
export type DashboardCheck = (dashboard: object) => Promise<string[]>

const options = {
  strict: true,
  noEmit: true,
  module: 'esnext',
  moduleResolution: 'bundler',
  target: 'es2024',
  types: [],
}

export async function openDashboardCheck(): Promise<DashboardCheck> {
  const { stdout } = await run(join(import.meta.dirname, 'fetch.sh'), [])
  const paths = { '@grafana/schema': [join(stdout.trim(), 'schema/dist/types/index.d.ts')] }
  return async dashboard => {
    const dir = await mkdtemp(join(tmpdir(), 'multinic-dashboard-'))
    try {
      // A literal: the compiler refuses unknown fields of literals only.
      const source = `import type { Dashboard } from '@grafana/schema'\nexport const dashboard: Dashboard = ${JSON.stringify(dashboard)}\n`
      await writeFile(join(dir, 'dashboard.ts'), source)
      await writeFile(
        join(dir, 'tsconfig.json'),
        JSON.stringify({ compilerOptions: { ...options, paths }, files: ['dashboard.ts'] }),
      )
      const tsc = join(root, 'node_modules/.bin/tsc')
      const { stdout: report } = await run(tsc, ['--project', dir, '--pretty', 'false'], { check: false })
      return report.split('\n').filter(line => line.includes('error'))
    } finally {
      await rm(dir, { recursive: true })
    }
  }
}
