import { useTranslation } from 'react-i18next';
import type { Field, Settings } from '../api/fields';
import { settings, type Change } from '../change/change';
import { useBody } from '../form/body';
import { FormDrawer } from '../form/drawer';
import { withTexts } from '../form/with-texts';
import { diffLines, steps } from '../people/steps';
import { KindsInput } from './kinds-input';
import type { Way } from './way';

const methods = '/system/notifications/methods';
const which: Record<string, Partial<Field>> = { severity: { default: 'info' }, kinds: {} };
const list = { 'x-format': 'name of a list of authorities' };
const hook: Record<string, Partial<Field>> = { url: {}, secret: {}, ca: list, enabled: { default: 'true' }, ...which };
const fields: Record<Way['what'], Record<string, Partial<Field>>> = {
  email: { server: {}, from: {}, to: {}, user: {}, password: {}, tls: {}, ca: list, ...which },
  syslog: { enabled: {}, ...which },
  scripts: { enabled: {}, ...which },
  webhook: hook,
};

/** WayForm changes a notification channel, or creates a webhook. */
export function WayForm({ way, title, close }: { way?: Way; title: string; close: () => void }) {
  const { t } = useTranslation();
  const what = way?.what ?? 'webhook';
  const path = what === 'webhook' ? `${methods}/webhooks${way ? '/{webhook}' : ''}` : `${methods}/${what}`;
  const text = (key: string) => t(`way_field.${key}`, { context: way ? what : `${what}_new` });
  const schema = withTexts(useBody(way ? 'put' : 'post', path), way ? fields[what] : { name: {}, ...hook }, text);
  return (
    <FormDrawer
      title={title}
      close={close}
      id={`way ${what} ${way?.name ?? ''}`}
      schema={schema}
      when={way ? 'update' : 'create'}
      seen={way?.seen ?? {}}
      inputs={{ kinds: KindsInput }}
      change={(body) => (way ? setWay(way, body, title) : createHook(body, t('notice.create', { name: String(body.name ?? '') })))}
    />
  );
}

function setWay(way: Way, body: Settings, title: string): Change {
  const parts = ['system', 'notifications', 'methods', ...(way.what === 'webhook' ? ['webhooks', way.name] : [way.what])];
  const { password, secret, ...rest } = body;
  const on = way.what === 'webhook' ? `webhook set ${way.name}` : way.what;
  const commands = [
    ...(Object.keys(rest).length > 0 ? [`sluice notification ${on} ${settings(rest)}`] : []),
    ...(password === undefined ? [] : [`sluice notification password${password ? '' : ' --forget'}`]),
    ...(secret === undefined ? [] : [`sluice notification webhook secret ${way.name}`]),
  ];
  return steps(title, [{ command: commands.join('\n'), method: 'PUT', parts, sent: body }], diffLines(way.seen, body));
}

function createHook(body: Settings, title: string): Change {
  const { name, secret: _, ...rest } = body;
  return steps(title, [{ command: `sluice notification webhook create ${String(name ?? '')} ${settings(rest)}`.trim(), method: 'POST', parts: ['system', 'notifications', 'methods', 'webhooks'], sent: body }], diffLines({}, body));
}
