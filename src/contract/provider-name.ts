/** The name of a provider: that of the record that changed last. A record that nobody writes any more keeps an old name. */
export function providerNameIn(
  records: readonly { providerName?: string | undefined; updatedAt: string }[],
): string | undefined {
  return records.reduce<(typeof records)[number] | undefined>(
    (newest, one) => (newest && newest.updatedAt >= one.updatedAt ? newest : one),
    undefined,
  )?.providerName
}
