import { useTranslation } from 'react-i18next';
import { Tabbed } from '../ui/tabbed';

const tabs = ['users', 'groups', 'roles', 'keys', 'sessions', 'signing'];

/** PeopleLayout is the frame of the pages about users and their rights. */
export function PeopleLayout() {
  const { t } = useTranslation();
  return <Tabbed title={t('nav.people')} base="/people" tabs={tabs} word={(tab) => t(`people.${tab}`)} />;
}
