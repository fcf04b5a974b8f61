/**
 * What every component can use: texts, the current time, the data and the route.
 */
import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import { type Language, type Translate, translator } from '../messages/messages.ts'
import { type Data, noData } from '../state/data.ts'
import { type Explain, explainInEnglish } from '../state/reasons.ts'
import type { Route } from '../state/route.ts'

export interface Ui {
  t: Translate
  explain: Explain
  language: Language
  /** Updated every few seconds. */
  now: number
  data: Data
  route: Route
  retry: () => void
}

export const UiContext = createContext<Ui>({
  t: translator('en'),
  explain: explainInEnglish,
  language: 'en',
  now: 0,
  data: noData,
  route: { screen: 'overview', query: {} },
  retry: () => {},
})

export const useUi = () => useContext(UiContext)
