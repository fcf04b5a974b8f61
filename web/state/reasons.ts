/**
 * The meaning and remedy of a reason in the chosen language. The API has English remedies, so that only other languages load the
 * catalogue.
 */
import { useEffect, useMemo, useState } from 'preact/hooks'
import type { Language } from '../messages/messages.ts'

/** `meaning` is empty in English, while the catalogue loads, and for an unknown reason. */
export type Explain = (item: { reason?: string | undefined; remedy?: string | undefined }) => {
  meaning: string
  remedy: string
}

export const explainInEnglish: Explain = ({ remedy = '' }) => ({ meaning: '', remedy })

export function useExplain(language: Language): Explain {
  const [catalogue, setCatalogue] = useState<typeof import('../../src/contract/reasons/catalogue.ts')>()
  useEffect(() => {
    if (language === 'en') return
    import('../../src/contract/reasons/catalogue.ts').then(setCatalogue).catch(() => {})
  }, [language])
  return useMemo(() => {
    if (language === 'en' || !catalogue) return explainInEnglish
    return ({ reason = '', remedy = '' }) => {
      const text = catalogue.reasonText(reason, language)
      return text ? { meaning: text.meaning, remedy: remedy && text.remedy } : { meaning: '', remedy }
    }
  }, [catalogue, language])
}
