/**
 * Texts as the dashboard shows them.
 */

/** Names come from clouds: marks of the writing direction and other invisible characters would change what a person reads. */
export const shownText = (text: string) => text.replace(/[\p{Cf}\p{Zl}\p{Zp}]/gu, '\ufffd')

export const parseShown = <T>(text: string): T => JSON.parse(shownText(text)) as T
