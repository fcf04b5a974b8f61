/**
 * Entry point of the dashboard: signs in by a link with a token, starts loading the data and renders the app.
 */
import { render } from 'preact'
import { App } from './app.tsx'
import { signIn } from './state/api.ts'
import { openData } from './state/data.ts'
import { applyPreferences, preferences } from './state/preferences.ts'

applyPreferences(preferences())
const source = openData()
// A link with a token signs in. The fragment is not sent to the server, and the token leaves the address at once.
const [, token] = /^#token=(.+)$/.exec(location.hash) ?? []
if (token) {
  history.replaceState(null, '', location.pathname)
  void signIn(decodeURIComponent(token)).finally(source.start)
} else source.start()
const root = document.getElementById('app')
if (root) render(<App source={source} />, root)
