import { useTranslation } from 'react-i18next';
import type { Field, Settings } from '../api/fields';
import type { Change } from '../change/change';
import { useBody } from '../form/body';
import { FormDrawer } from '../form/drawer';
import { withTexts } from '../form/with-texts';

type Props = { title: string; path: string; more?: Record<string, Partial<Field>>; seen?: Settings; change: (body: Settings) => Change; done?: (body: Settings) => void; close: () => void };

/** NameForm creates objects that need little more than a name: groups and roles. */
export function NameForm({ title, path, more = {}, seen = {}, change, done, close }: Props) {
  const { t } = useTranslation();
  const schema = withTexts(useBody('post', path), { name: {}, ...more }, (key) => t(`user_field.${key}`, { context: path.split('/').pop() }));
  return <FormDrawer title={title} close={close} id={`new ${path}`} schema={schema} when="create" seen={seen} change={change} done={done} />;
}
