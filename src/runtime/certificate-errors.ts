/**
 * Errors of a TLS connection whose server has a certificate of an unknown CA.
 */

const codes: ReadonlySet<unknown> = new Set([
  'CERT_SIGNATURE_FAILURE',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])

export function isUntrusted(error: unknown): boolean {
  return error instanceof Error && 'code' in error && codes.has(error.code)
}
