import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';

type Texts = Record<string, string>;

const languages: Record<string, () => Promise<{ default: Texts }>> = {
  es: () => import('./fields.es.json'),
  de: () => import('./fields.de.json'),
  fr: () => import('./fields.fr.json'),
};

function useTexts() {
  const { i18n } = useTranslation();
  const load = languages[i18n.language];
  return useQuery({ queryKey: ['field texts', i18n.language], queryFn: async () => (await load()).default, enabled: load !== undefined, staleTime: Infinity, retry: 1 });
}

/** Translates the appliance's texts about fields; untranslated ones remain in English. */
export function useFieldText(): (english: string) => string {
  const texts = useTexts().data;
  return (english) => (texts && Object.hasOwn(texts, english) ? texts[english] : english);
}

/** Whether these translations are loading. Forms wait for them, so that they do not appear in English first. */
export const useFieldTextsComing = () => useTexts().isLoading;
