/**
 * Entry point of the dashboard: signs in by a link with a token, starts loading the data and renders the app.
 */
import { render } from 'preact'
import { App } from './app.tsx'
import { signIn } from './state/api.ts'
import { openData } from './state/data.ts'
import { applyPreferences, preferences } from './state/preferences.ts'
import { decode } from './state/route.ts'

applyPreferences(preferences())
const source = openData()
if (!signInByLink(source.start)) source.start()
// The browser loads nothing when a link opens in a page of the same address.
addEventListener('hashchange', () => signInByLink(source.retry))
const root = document.getElementById('app')
if (root) render(<App source={source} />, root)

/**
 * A link with a token signs in. The fragment is not sent to the server, and the token leaves the address at once. The page is
 * loaded again, because a script could read the address that it was loaded from.
 */
function signInByLink(orElse: () => void): boolean {
  const [, token] = /^#token=(.*)$/.exec(location.hash) ?? []
  if (token === undefined) return false
  history.replaceState(null, '', location.pathname)
  signIn(decode(token)).then(() => location.reload(), orElse)
  return true
}
