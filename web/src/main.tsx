import './styles';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app';
import { initLanguage } from './i18n/i18n';
import { Bare, Boundary } from './ui/boundary';
import { tellConfirmed } from './session/confirmed-tab';
import { failed } from './ui/notify';

// Shows errors that no boundary handles, instead of only logging them to the console.
addEventListener('unhandledrejection', (e) => failed(e.reason));

const draw = () =>
  createRoot(document.getElementById('root')!).render(
    <StrictMode>
      <Boundary fallback={(error) => <Bare error={error} />}>
        <App />
      </Boundary>
    </StrictMode>,
  );

if (tellConfirmed(location)) {
  close(); // a tab that the user opened otherwise stays, and shows the first page
  history.replaceState(null, '', '/gui/');
}

initLanguage().then(draw, draw);
