/**
 * Audit entries as JSON, as JSON lines or as CSV.
 */
import type { FastifyReply } from 'fastify'
import { type AuditEntry, auditColumns, auditRow } from '../contract/audit.ts'
import { csvText } from '../contract/csv.ts'

export function sendAudit(
  reply: FastifyReply,
  format: string | undefined,
  entries: readonly AuditEntry[],
): FastifyReply {
  if (format === 'csv')
    return reply
      .header('content-disposition', 'attachment; filename="audit.csv"')
      .type('text/csv; charset=utf-8')
      .send(csvText([auditColumns, ...entries.map(auditRow)]))
  if (format === 'jsonl')
    return reply.type('application/jsonl').send(entries.map(entry => `${JSON.stringify(entry)}\n`).join(''))
  return reply.type('application/json').send(`${JSON.stringify(entries)}\n`)
}
